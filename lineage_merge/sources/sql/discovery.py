"""How `init` configures SQL files. It names those that it finds: whether they are released is not known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources.discovery import (
    Discovered,
    InitOption,
    SourceDiscovery,
    SourceInput,
    file_name,
    folder_of,
    is_below,
    outermost,
)
from lineage_merge.sources.sql.files import is_sql

_MAX_NOTES = 5


class SqlDiscovery(SourceDiscovery):
    """SQL files have a dialect, and the namespace of its platform."""

    options = (
        InitOption("--sql", "path", "folder of SQL files", "SQL files", is_repeatable=True),
        InitOption("--sql-dialect", "dialect", "their dialect", metavar="NAME", default="spark"),
    )
    is_list = True

    def read_options(self, given: Mapping[str, Any]) -> SourceInput | None:
        """Return the named folders, with their dialect."""
        source_input = super().read_options(given)
        return source_input and source_input._replace(settings={"dialect": given["dialect"]})

    def search(self, files: Sequence[StoredFile], rest: Sequence[StoredFile]) -> Discovered:
        """Return notes about folders of SQL files; those of a dbt project are its models."""
        projects = [
            folder_of(file.location) for file in files if file_name(file.location) == "dbt_project.yml"
        ]
        folders = [
            folder
            for file in rest
            if is_sql(file.location)
            and "target" not in (folder := folder_of(file.location)).split("/")
            and not any(is_below(folder, project) for project in projects)
        ]
        numbers = Counter(
            next(root for root in outermost(folders) if is_below(folder, root)) for folder in folders
        )
        notes = [
            f"{folder}: {number} SQL file{'' if number == 1 else 's'}, not used:"
            f" --sql {folder} --sql-dialect NAME reads them"
            for folder, number in sorted(numbers.items())
        ]
        more = [f"{len(notes) - _MAX_NOTES} more folders of SQL files, not used"] * (len(notes) > _MAX_NOTES)
        return Discovered(None, (*notes[:_MAX_NOTES], *more))

    def settings(
        self, source_input: SourceInput, folder: Path | None, namespaces: Mapping[str, str] = {}
    ) -> Any:
        """Return an entry per folder, with the namespace of a project on its platform, or the given one."""
        dialect = source_input.settings["dialect"]
        default = "" if dialect in ("hive", "spark") else namespaces.get("", "")
        namespace = namespaces.get(dialect, default)
        entries = super().settings(source_input, folder)
        return [{**entry, "namespace": namespace} if namespace else entry for entry in entries]
