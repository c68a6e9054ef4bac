"""Differences between two versions of folders of SQL files. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.review.sql_clauses import AlteredClause
from lineage_merge.review.versions import FileKey, Version
from lineage_merge.sources.sql.project import ProjectLineage
from lineage_merge.sources.sql.shapes import NOTHING

_LINEAGE = ("feeds", "feeds_column", "influences")
# Prefixes of notes on statements that will fail.
_ERROR_NOTES = (notes.MISSING_COLUMNS, notes.WRONG_COLUMN_COUNT)
# Prefixes of notes on unknown columns; if they were known before, a referenced column was dropped.
_UNKNOWN_COLUMN_NOTES = (notes.UNKNOWN_TABLE, notes.UNKNOWN_STAR, notes.UNKNOWN_POSITIONS)


class Flow(NamedTuple):
    """An edge, independent of its job: label and ids of its ends."""

    label: str
    source: str
    target: str


class AlteredFlow(NamedTuple):
    """An edge with changed properties: `before` and `after` are display texts."""

    flow: Flow
    before: str
    after: str


class RetypedColumn(NamedTuple):
    """A column (of a dataset's key) with a changed type."""

    dataset: str
    column: str
    before: str
    after: str


class Break(NamedTuple):
    """A statement that will fail, or a reader of a dropped element: file and line or job, and the reason."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Differences between versions. Datasets and columns are ids of the graph.

    `dropped_datasets`: no longer created. `dropped_columns`: by dataset. `unknown_columns`: datasets whose
    columns were known before.
    """

    added_flows: tuple[Flow, ...] = ()
    removed_flows: tuple[Flow, ...] = ()
    altered_flows: tuple[AlteredFlow, ...] = ()
    dropped_datasets: tuple[str, ...] = ()
    dropped_columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    retyped_columns: tuple[RetypedColumn, ...] = ()
    unknown_columns: tuple[str, ...] = ()
    breaks: tuple[Break, ...] = ()
    altered_clauses: tuple[AlteredClause, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether lineage, columns and conditions are unchanged."""
        return not (
            self.added_flows
            or self.removed_flows
            or self.altered_flows
            or self.dropped_datasets
            or self.dropped_columns
            or self.retyped_columns
            or self.altered_clauses
        )


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

    `files_after`: the changed files; `renamed`: old by new file; `path_of`: path of a file for reports.
    """
    old, new = _flows(before.edges), _flows(after.edges)
    owned_before = _flows(each for each in before.edges if each.get("job_name") in jobs_before)
    owned_after = _flows(each for each in after.edges if each.get("job_name") in jobs_after)
    altered_flows = (
        AlteredFlow(flow, _description(owned_before[flow]), _description(owned_after[flow]))
        for flow in sorted(owned_before.keys() & owned_after.keys())
    )
    dropped_datasets = tuple(sorted(_datasets_of(before) - _datasets_of(after)))
    dropped_columns, retyped_columns, unknown_columns = _columns(before, after)
    noted = _notes(before, after, files_after, renamed, path_of)
    breaks = (*noted, *_readers_of(dropped_datasets, before, after, path_of))
    return Difference(
        added_flows=tuple(sorted(owned_after.keys() - old.keys())),
        removed_flows=tuple(sorted(owned_before.keys() - new.keys())),
        altered_flows=tuple(each for each in altered_flows if each.before != each.after),
        dropped_datasets=dropped_datasets,
        dropped_columns=dropped_columns,
        retyped_columns=retyped_columns,
        unknown_columns=unknown_columns,
        breaks=breaks,
    )


def _flows(edges: Iterable[Mapping[str, Any]]) -> dict[Flow, list[Mapping[str, Any]]]:
    found: dict[Flow, list[Mapping[str, Any]]] = {}
    for each in edges:
        if each["label"] in _LINEAGE:
            found.setdefault(Flow(each["label"], each["from"], each["to"]), []).append(each)
    return found


def _description(edges: Iterable[Mapping[str, Any]]) -> str:
    """Return write mode, transformation and expression of edges as text."""
    descriptions = {
        " ".join(str(each[key]) for key in ("write_mode", "transformation", "expression") if each.get(key))
        for each in edges
    }
    return " | ".join(sorted(descriptions))


def _canonical(version: Version, key: str) -> str:
    return version.aliases.get(key, key)


def _datasets_of(version: Version) -> set[str]:
    """Return the canonical ids of the datasets that files create or write."""
    files = [file for folder in version.folders for file in folder.files]
    created = {_canonical(version, each.key) for file in files for each in file.created}
    written = {_canonical(version, each.target) for file in files for each in file.writes}
    dropped = {_canonical(version, key) for file in files for key in file.dropped}
    return created | (written - dropped)


def _known(version: Version) -> dict[str, dict[str, tuple[str, str]]]:
    """Return columns (name and type, by lowercase name) of datasets whose columns are all known."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for folder in version.folders:
        for key, columns in _columns_of(folder).items():
            found.setdefault(_canonical(version, key), columns)
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
) -> tuple[dict[str, tuple[str, ...]], tuple[RetypedColumn, ...], tuple[str, ...]]:
    old, new = _known(before), _known(after)
    dropped_columns: dict[str, tuple[str, ...]] = {}
    retyped_columns: list[RetypedColumn] = []
    for dataset in sorted(old.keys() & new.keys()):
        without = [name for key, (name, _) in old[dataset].items() if key not in new[dataset]]
        if without:
            dropped_columns[dataset] = tuple(sorted(without))
        for key, (name, kind) in sorted(old[dataset].items()):
            now = new[dataset].get(key, ("", ""))[1]
            if kind and now and kind != now:
                retyped_columns.append(RetypedColumn(dataset, name, kind, now))
    unknown_columns = sorted((old.keys() - new.keys()) & _datasets_of(after))
    return dropped_columns, tuple(retyped_columns), tuple(unknown_columns)


def _notes(
    before: Version,
    after: Version,
    files_after: Set[FileKey],
    renamed: Mapping[FileKey, FileKey],
    path_of: Callable[[FileKey], str],
) -> Iterator[Break]:
    """Yield references that were valid before the change."""
    known = {
        (at, file.name): {note.message for note in file.notes}
        for at, folder in enumerate(before.folders)
        for file in folder.files
    }
    for at, folder in enumerate(after.folders):
        for file in folder.files:
            key = (at, file.name)
            fails = _ERROR_NOTES if key in files_after else (*_ERROR_NOTES, *_UNKNOWN_COLUMN_NOTES)
            for note in file.notes:
                is_new = note.message not in known.get(renamed.get(key, key), set())
                if is_new and note.message.startswith(fails):
                    yield Break(f"{path_of(key)}, line {note.line}", note.message)


def _readers_of(
    dropped_datasets: Iterable[str], before: Version, after: Version, path_of: Callable[[FileKey], str]
) -> Iterator[Break]:
    wanted, there = set(dropped_datasets), _datasets_of(after)
    for at, folder in enumerate(after.folders):
        for file in folder.files:
            for write in file.writes:
                for key in sorted(write.reads):
                    canonical = _canonical(before, key)
                    if canonical in wanted and _canonical(after, key) not in there:
                        why = f"reads {title_of_id(canonical)}, which is no longer created"
                        yield Break(f"{path_of((at, file.name))}, line {write.line}", why)
