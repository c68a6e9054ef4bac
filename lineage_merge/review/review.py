"""Review of SQL files or of their changes: lineage, differences, and what breaks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lineage_merge.model.elements import Problem
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.review import git, readers
from lineage_merge.review.changes import Break, Difference, compare
from lineage_merge.review.readers import AffectedElement
from lineage_merge.review.sql_clauses import altered_clauses
from lineage_merge.review.versions import FileKey, Folders, Texts, Version, version
from lineage_merge.sources.sql.shapes import NOTHING, Shapes


@dataclass(frozen=True, slots=True)
class Review:
    """Lineage of SQL files; with a revision, only of files that changed since.

    `files`: paths, as in problems and breaks. `difference` None: no comparison. `affected`: elements of the
    graph that are dropped or change.
    """

    shown: Version
    files: tuple[str, ...]
    changed: tuple[git.ChangedFile, ...] = ()
    difference: Difference | None = None
    affected: tuple[AffectedElement, ...] = ()
    breaks: tuple[Break, ...] = ()

    @property
    def assumed_inserts(self) -> list[str]:
        """Ids of the targets of INSERT statements whose columns are assumed, one for each statement."""
        return [
            write.target
            for folder in self.shown.folders
            for file in folder.files
            for write in file.writes
            if write.assumed
        ]

    @property
    def unparsed_statements(self) -> list[Problem]:
        """Statements that cannot be parsed."""
        return [each for each in self.shown.problems if each.kind == "rejected"]


def review_files(folders: Folders, graph: LineageGraph | None = None) -> Review:
    """Return the lineage of all files. Columns that no file defines are read from the graph.

    INSERT into a table whose columns are unknown is assumed to fill those that the query's are named after.
    """
    folders = folders.with_insert_names(assumed=True)
    texts = Texts(folders)
    shown = version(folders, texts.now, texts)
    known = _read_columns(graph, shown, folders)
    if known:
        shown = version(folders, texts.now, texts, known)
    return Review(shown, _paths(texts.now, folders))


def review_changes(folders: Folders, revision: str, graph: LineageGraph | None = None) -> Review:
    """Return the lineage of files that changed since a revision, and differences. Raises `SourceError`."""
    since = git.read_changes(revision, [Path(each.path).expanduser() for each in folders.settings])
    # A comparison reports what certainly changes.
    folders = replace(folders, root=since.root).with_insert_names(assumed=False)
    texts = Texts(folders)
    earlier = texts.before(since)
    old, new = set(earlier.changed), set(earlier.changing)
    now = version(folders, texts.now, texts)
    known = _read_columns(graph, now, folders)
    if known:
        now = version(folders, texts.now, texts, known)
    before = version(folders, earlier.files, texts, known)
    ours = folders.jobs((*old, *new))
    at = {path: key for key, path in earlier.changed.items()}
    was = {each.after: each.before for each in since.changed}
    renamed = {key: at[was[path]] for key, path in earlier.changing.items() if was.get(path) in at}
    jobs = folders.jobs(old), folders.jobs(new)
    difference = compare(before, now, *jobs, new, renamed, folders.path_of)
    pairs = {key: renamed.get(key, key) for key in new if renamed.get(key, key) in old}
    altered = altered_clauses(folders, before, now, earlier.files, texts.now, pairs)
    difference = replace(difference, altered_clauses=tuple(altered))
    affected: Sequence[AffectedElement] = ()
    if graph is not None:
        ours |= folders.jobs((*earlier.files, *texts.now))
        affected = readers.affected(graph, difference, ours, folders.names.environment)
    shown = version(folders, texts.now, texts, known, new)
    breaks = (*difference.breaks, *readers.breaks(affected))
    return Review(
        shown, _paths(new, folders), since.changed, difference, tuple(affected), tuple(dict.fromkeys(breaks))
    )


def _read_columns(graph: LineageGraph | None, found: Version, folders: Folders) -> Shapes:
    if graph is None:
        return {}
    unknown = {
        key
        for folder in found.folders
        for key, reference in folder.datasets.references.items()
        if reference.namespace and not folder.shapes.get(key, NOTHING).complete
    }
    return readers.shapes(graph, sorted(unknown), folders.names.environment)


def _paths(keys: Iterable[FileKey], folders: Folders) -> tuple[str, ...]:
    return tuple(sorted(map(folders.path_of, keys)))
