"""How `init` configures SQL files, which it does not search for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lineage_merge.sources.discovery import SourceDiscovery, SourceInput


class SqlDiscovery(SourceDiscovery):
    """SQL files have a dialect, and the namespace of its platform."""

    def named(self, given: Mapping[str, Any]) -> SourceInput | None:
        """Return the named folders, with their dialect."""
        source_input = super().named(given)
        return source_input and source_input._replace(settings={"dialect": given["dialect"]})

    def settings(
        self, source_input: SourceInput, folder: Path | None, namespaces: Mapping[str, str] = {}
    ) -> Any:
        """Return an entry per folder, with the namespace of a project on its platform, or the given one."""
        dialect = source_input.settings["dialect"]
        default = "" if dialect in ("hive", "spark") else namespaces.get("", "")
        namespace = namespaces.get(dialect, default)
        entries = super().settings(source_input, folder)
        return [{**entry, "namespace": namespace} if namespace else entry for entry in entries]
