"""Versions of folders of SQL files as graphs in memory."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lineage_merge.column_lineage.scripts.project import ProjectLineage, read_project
from lineage_merge.column_lineage.scripts.shapes import Shapes
from lineage_merge.column_lineage.scripts.syntax import Script
from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.model.elements import Element, Problem
from lineage_merge.model.errors import SourceMissing
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.review.git import GitChanges, contents, files_at
from lineage_merge.sources.sql import files
from lineage_merge.sources.sql.files import SqlText
from lineage_merge.sources.sql.reader import parse_files, reader_of, schema_of
from lineage_merge.sources.sql.settings import SqlFiles
from lineage_merge.sources.sql.translator import job_key, translate

# A file: index of its folder, and its name in the folder.
FileKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class SqlVersion:
    """All folders at one time: the lineage of their files, and the resulting graph.

    `edges`: rows as in edge files; `problems`: what could not be read; `aliases`: canonical ids by alias: a
    table stored at a path is identified by its path.
    """

    scripts: Mapping[FileKey, Script]
    folders: tuple[ProjectLineage, ...]
    graph: InMemory
    edges: tuple[Mapping[str, Any], ...]
    problems: tuple[Problem, ...]
    aliases: Mapping[str, str]

    def canonical(self, key: str) -> str:
        """Return the canonical id of a dataset."""
        return self.aliases.get(key, key)


@dataclass(frozen=True, slots=True)
class SqlFolders:
    """The reviewed folders, and the resolver of their table names."""

    settings: tuple[SqlFiles, ...]
    names: DatasetResolver
    dag_name: str
    # The repository's root, if versions are compared.
    root: Path | None = None

    def path_of(self, key: FileKey) -> str:
        """Return the path of a file for reports: relative to `root`, or below its folder as given."""
        at, name = key
        path = self.settings[at].path.rstrip("/")
        # A folder may be a single file.
        if not (files.is_sql(path) and path.rpartition("/")[2] == name):
            path = f"{path}/{name}"
        if self.root is None:
            return path
        whole, top = Path(path).expanduser().absolute(), self.root.resolve()
        folder = whole.parent.resolve()
        return (folder / whole.name).relative_to(top).as_posix() if folder.is_relative_to(top) else path

    def with_insert_names(self, *, assumed: bool) -> "SqlFolders":
        """Return the folders with or without assumed names of columns that INSERT fills."""
        settings = tuple(replace(setting, assume_insert_names=assumed) for setting in self.settings)
        return replace(self, settings=settings)

    def jobs(self, keys: Iterable[FileKey]) -> set[str]:
        """Return the names of the jobs of files."""
        return {job_key(self.settings[at].project, name).name for at, name in keys}


class SqlTexts:
    """The parsed files of the folders; files in several versions are parsed once."""

    def __init__(self, folders: SqlFolders) -> None:
        self._folders = folders
        self.now: dict[FileKey, Script] = {}
        self._schema = [schema_of(setting) for setting in folders.settings]
        # Shared by all versions: unchanged files are not read again.
        self._readers = [reader_of(setting, folders.names) for setting in folders.settings]
        for at, setting in enumerate(folders.settings):
            for script in parse_files(files.read(_find(setting.path).items()), setting):
                self.now[at, script.name] = script

    def version(
        self, scripts: Mapping[FileKey, Script], known: Shapes | None = None, only: Set[FileKey] | None = None
    ) -> SqlVersion:
        """Return the lineage of files. `known`: columns by dataset; `only`: files whose lineage is shown."""
        folders = self._folders
        projects: list[ProjectLineage] = []
        elements: list[Element] = []
        for at, folder in enumerate(folders.settings):
            own = [script for (of, _), script in scripts.items() if of == at]
            project = read_project(own, self._readers[at], schema=self._schema[at], known=known)
            projects.append(project)
            shown = project.only({name for of, name in only if of == at}) if only is not None else project
            for element in translate(shown, folder.project, folder.dialect, ""):
                if isinstance(element, Problem):
                    # Only the file's name: `path_of` adds the folder.
                    key = at, element.document.removeprefix("/")
                    element = element._replace(document=folders.path_of(key))
                elements.append(element)
        names = folders.names
        merged = join.merge_locally(names.records(elements), names.environment, folders.dag_name)
        graph = InMemory(map(vertex_of_row, merged.nodes), map(edge_of_row, merged.edges))
        problems = dict.fromkeys(element for element in elements if isinstance(element, Problem))
        aliases = {alias: ids[0] for alias, ids in merged.aliases.items() if len(ids) == 1}
        return SqlVersion(scripts, tuple(projects), graph, tuple(merged.edges), tuple(problems), aliases)

    def read_before(self, since: GitChanges) -> "EarlierFiles":
        """Return the files before the changes."""
        changed = {file.before for file in since.changed} - {""}
        after = {(since.root / file.after).resolve(): file.after for file in since.changed if file.after}
        earlier_files = EarlierFiles({}, {}, {})
        texts = contents(since, sorted(changed))
        for at, folder in enumerate(self._folders.settings):
            root = Path(folder.path).expanduser()
            for path in files_at(since, [root]):
                name = _name(since.root / path, root)
                if name is None:
                    continue
                if path in changed:
                    text = SqlText(name, files.decode(texts.get(path, b"")))
                    earlier_files.files[at, name] = parse_files([text], folder)[0]
                    earlier_files.changed[at, name] = path
                elif (at, name) in self.now:
                    earlier_files.files[at, name] = self.now[at, name]
        for at, name in self.now:
            root = Path(self._folders.settings[at].path).expanduser()
            here = (root if root.is_file() else root / name).resolve()
            if here in after:
                earlier_files.changing[at, name] = after[here]
        return earlier_files


@dataclass(frozen=True, slots=True)
class EarlierFiles:
    """Files before the changes. Paths of changed files: `changed`, and `changing` in the current version."""

    files: dict[FileKey, Script]
    changed: dict[FileKey, str]
    changing: dict[FileKey, str]


def _find(path: str) -> dict[str, str]:
    """Return the files of a folder; none for an empty folder, which git does not track."""
    try:
        return files.find(path)
    except SourceMissing:
        if Path(path).expanduser().is_dir():
            return {}
        raise


def _name(path: Path, root: Path) -> str | None:
    """Return the name below a folder of a file from git; None if it is not read."""
    whole, top = path.resolve(), root.resolve()
    if whole == top:
        return top.name
    if not whole.is_relative_to(top):
        return None
    name = whole.relative_to(top).as_posix()
    hidden = any(part.startswith(".") for part in name.split("/"))
    return name if files.is_sql(name) and not hidden else None
