"""A change of SQL files, looked at as a whole: what they do, what is different, and what breaks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lineage_merge.model.elements import Problem
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.review import git, readers
from lineage_merge.query.review.changes import Break, Difference, compare
from lineage_merge.query.review.readers import Touched
from lineage_merge.query.review.versions import FileKey, Folders, Texts, Version, version
from lineage_merge.sources.sql.shapes import NOTHING, Shapes


@dataclass(frozen=True, slots=True)
class Review:
    """What files of SQL do; with a revision, only those that changed since.

    `files` by path, as problems and breaks name them. `difference` None: nothing was compared.
    `touched`: what of the graph goes or changes.
    """

    shown: Version
    files: tuple[str, ...]
    changed: tuple[git.Changed, ...] = ()
    difference: Difference | None = None
    touched: tuple[Touched, ...] = ()
    breaks: tuple[Break, ...] = ()

    @property
    def unparsed(self) -> list[Problem]:
        """Statements that nobody can parse."""
        return [each for each in self.shown.problems if each.kind == "rejected"]


def look(folders: Folders, graph: LineageGraph | None = None) -> Review:
    """What all the files do. Columns that no file tells are asked of the graph."""
    texts = Texts(folders)
    shown = version(folders, texts.now, texts)
    known = _of_graph(graph, shown, folders)
    if known:
        shown = version(folders, texts.now, texts, known)
    return Review(shown, _paths(texts.now, folders))


def compare_with(folders: Folders, revision: str, graph: LineageGraph | None = None) -> Review:
    """What the files do that changed since a revision, and what they did. Raises `SourceError`."""
    since = git.changes(revision, [Path(each.path).expanduser() for each in folders.settings])
    folders = replace(folders, root=since.root)
    texts = Texts(folders)
    earlier = texts.before(since)
    old, new = set(earlier.changed), set(earlier.changing)
    now = version(folders, texts.now, texts)
    known = _of_graph(graph, now, folders)
    if known:
        now = version(folders, texts.now, texts, known)
    before = version(folders, earlier.files, texts, known)
    ours = folders.jobs((*old, *new))
    at = {path: key for key, path in earlier.changed.items()}
    was = {each.after: each.before for each in since.changed}
    renamed = {key: at[was[path]] for key, path in earlier.changing.items() if was.get(path) in at}
    jobs = folders.jobs(old), folders.jobs(new)
    difference = compare(before, now, *jobs, new, renamed, folders.path_of)
    touched: Sequence[Touched] = ()
    if graph is not None:
        ours |= folders.jobs((*earlier.files, *texts.now))
        touched = readers.touched(graph, difference, ours, folders.names.environment)
    shown = version(folders, texts.now, texts, known, new)
    breaks = (*difference.breaks, *readers.breaks(touched))
    return Review(
        shown, _paths(new, folders), since.changed, difference, tuple(touched), tuple(dict.fromkeys(breaks))
    )


def _of_graph(graph: LineageGraph | None, found: Version, folders: Folders) -> Shapes:
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
