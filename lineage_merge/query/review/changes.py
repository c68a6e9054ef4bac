"""What differs between two versions of folders of SQL. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.query.elements import title_of_id
from lineage_merge.query.review.versions import FileKey, Version
from lineage_merge.sources.sql.project import ProjectLineage
from lineage_merge.sources.sql.shapes import NOTHING

_LINEAGE = ("feeds", "feeds_column", "influences")
# What the reader of queries notes of a statement that can only fail.
_FAILS = ("names columns that its tables do not have", "gives ")
# What it notes where it does not know enough; where it did before, the column that it meant is gone.
_LOST = ("names columns whose table is unknown", "selects * of", "fills columns by position")


class Flow(NamedTuple):
    """An edge, whoever moves it: its label and the ids at its ends."""

    label: str
    source: str
    target: str


class Altered(NamedTuple):
    """An edge that is there as before, and says something else: `before` and `after` are told to people."""

    flow: Flow
    before: str
    after: str


class Retyped(NamedTuple):
    """A column (of a dataset's key) whose type is another."""

    dataset: str
    column: str
    before: str
    after: str


class Break(NamedTuple):
    """What will fail, or lacks what it reads: a file and line, or a job of the graph; and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed files do otherwise. Datasets and columns are ids of the graph.

    `gone`: datasets that nothing makes any more. `lost`: columns, by dataset, that a dataset has no
    longer. `unsure`: datasets whose columns were known and are not.
    """

    added: tuple[Flow, ...] = ()
    removed: tuple[Flow, ...] = ()
    altered: tuple[Altered, ...] = ()
    gone: tuple[str, ...] = ()
    lost: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    retyped: tuple[Retyped, ...] = ()
    unsure: tuple[str, ...] = ()
    breaks: tuple[Break, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether lineage and columns are what they were."""
        return not (self.added or self.removed or self.altered or self.gone or self.lost or self.retyped)


def compare(
    before: Version,
    after: Version,
    jobs_before: Set[str],
    jobs_after: Set[str],
    files_after: Set[FileKey],
    renamed: Mapping[FileKey, FileKey],
    path_of: Callable[[FileKey], str],
) -> Difference:
    """Compare the jobs of the changed files before and after.

    `files_after`: which files changed; `renamed`: what a file was called, by what it is called;
    `path_of`: how a file is named in what breaks.
    """
    old, new = _flows(before.edges), _flows(after.edges)
    ours = _flows(each for each in before.edges if each.get("job_name") in jobs_before)
    theirs = _flows(each for each in after.edges if each.get("job_name") in jobs_after)
    altered = (
        Altered(flow, _said(ours[flow]), _said(theirs[flow])) for flow in sorted(ours.keys() & theirs.keys())
    )
    gone = tuple(sorted(_built(before) - _built(after)))
    lost, retyped, unsure = _columns(before, after)
    noted = _notes(before, after, files_after, renamed, path_of)
    breaks = (*noted, *_readers_of(gone, before, after, path_of))
    return Difference(
        added=tuple(sorted(theirs.keys() - old.keys())),
        removed=tuple(sorted(ours.keys() - new.keys())),
        altered=tuple(each for each in altered if each.before != each.after),
        gone=gone,
        lost=lost,
        retyped=retyped,
        unsure=unsure,
        breaks=breaks,
    )


def _flows(edges: Iterable[Mapping[str, Any]]) -> dict[Flow, list[Mapping[str, Any]]]:
    found: dict[Flow, list[Mapping[str, Any]]] = {}
    for each in edges:
        if each["label"] in _LINEAGE:
            found.setdefault(Flow(each["label"], each["from"], each["to"]), []).append(each)
    return found


def _said(edges: Iterable[Mapping[str, Any]]) -> str:
    """``SUM of ...``: how a column is made, and how a table is written."""
    said = {
        " ".join(str(each[key]) for key in ("write_mode", "transformation", "expression") if each.get(key))
        for each in edges
    }
    return " | ".join(sorted(said))


def _meant(version: Version, key: str) -> str:
    return version.aliases.get(key, key)


def _built(version: Version) -> set[str]:
    """The datasets that files make or write, by the id that counts."""
    files = [file for folder in version.folders for file in folder.files]
    created = {_meant(version, each.key) for file in files for each in file.created}
    written = {_meant(version, each.target) for file in files for each in file.writes}
    dropped = {_meant(version, key) for file in files for key in file.dropped}
    return created | (written - dropped)


def _known(version: Version) -> dict[str, dict[str, tuple[str, str]]]:
    """The columns (folded: as spelled, with the type) of the datasets of which all are known."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for folder in version.folders:
        for key, columns in _columns_of(folder).items():
            found.setdefault(_meant(version, key), columns)
    return found


def _columns_of(folder: ProjectLineage) -> dict[str, dict[str, tuple[str, str]]]:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for file in folder.files:
        for each in file.created:
            shape = folder.shapes.get(each.key, NOTHING)
            if shape.complete:
                columns = {fold(column.name): (column.name, column.data_type) for column in shape.columns}
                found[each.key] = columns
        for write in file.writes:
            if write.label == "file":
                named = {fold(name): (name, "") for name, _ in write.columns}
                found.setdefault(write.target, {}).update(named)
    return found


def _columns(
    before: Version, after: Version
) -> tuple[dict[str, tuple[str, ...]], tuple[Retyped, ...], tuple[str, ...]]:
    old, new = _known(before), _known(after)
    lost: dict[str, tuple[str, ...]] = {}
    retyped: list[Retyped] = []
    for dataset in sorted(old.keys() & new.keys()):
        without = [name for key, (name, _) in old[dataset].items() if key not in new[dataset]]
        if without:
            lost[dataset] = tuple(sorted(without))
        for key, (name, kind) in sorted(old[dataset].items()):
            now = new[dataset].get(key, ("", ""))[1]
            if kind and now and kind != now:
                retyped.append(Retyped(dataset, name, kind, now))
    unsure = sorted((old.keys() - new.keys()) & _built(after))
    return lost, tuple(retyped), tuple(unsure)


def _notes(
    before: Version,
    after: Version,
    files_after: Set[FileKey],
    renamed: Mapping[FileKey, FileKey],
    path_of: Callable[[FileKey], str],
) -> Iterator[Break]:
    """What files name that was there before the change and is not."""
    known = {
        (at, file.name): {note.message for note in file.notes}
        for at, folder in enumerate(before.folders)
        for file in folder.files
    }
    for at, folder in enumerate(after.folders):
        for file in folder.files:
            key = (at, file.name)
            fails = _FAILS if key in files_after else (*_FAILS, *_LOST)
            for note in file.notes:
                is_new = note.message not in known.get(renamed.get(key, key), set())
                if is_new and note.message.startswith(fails):
                    yield Break(f"{path_of(key)}, line {note.line}", note.message)


def _readers_of(
    gone: Iterable[str], before: Version, after: Version, path_of: Callable[[FileKey], str]
) -> Iterator[Break]:
    wanted, there = set(gone), _built(after)
    for at, folder in enumerate(after.folders):
        for file in folder.files:
            for write in file.writes:
                for key in sorted(write.reads):
                    meant = _meant(before, key)
                    if meant in wanted and _meant(after, key) not in there:
                        why = f"reads {title_of_id(meant)}, which nothing makes now"
                        yield Break(f"{path_of((at, file.name))}, line {write.line}", why)
