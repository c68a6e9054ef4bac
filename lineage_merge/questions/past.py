"""The lineage as of a moment of the history, names that it has or had, and what recent merges changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from lineage_merge.graph_format.columns import Columns, StackedColumns, distinct_texts
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.history import layout, merge_index
from lineage_merge.history.entry_files import read_columns
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.moments import Moment
from lineage_merge.history.pictures import ScopedMerge, combine_nodes, merges_until, picture_of
from lineage_merge.history.sorted_entries import open_sorted_entries
from lineage_merge.infra import storage
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.errors import NotFound
from lineage_merge.questions.backends.columnar import ColumnarGraph
from lineage_merge.questions.backends.sorted_entries import SortedEntriesGraph
from lineage_merge.questions.names import resolve_any
from lineage_merge.questions.traversal.causes import RecentChange
from lineage_merge.questions.traversal.lineage_changes import Change, compare_pictures


class AsOf(NamedTuple):
    """The lineage as of a moment, and the merges that it is made of."""

    moment: Moment
    merges: tuple[ScopedMerge, ...]
    graph: ColumnarGraph


def as_of(
    location: str,
    moment: Moment,
    environment: str | None = None,
    on_progress: ProgressCallback = no_progress,
) -> AsOf:
    """Return the lineage as of a moment, of an environment or of all.

    Raises `NotFound` if the history has no merge until then, `SourceError`, and `IntermediateError` for
    damaged files.
    """
    on_progress(f"reading the history {storage.redact_location(location)}")
    merges = merges_until(location, moment, environment)
    present = [merge for merge in merges if merge.record.entry]
    return AsOf(moment, tuple(present), _open_graph(location, merges))


def _open_graph(location: str, merges: Sequence[ScopedMerge]) -> ColumnarGraph:
    """Return the lineage of these merges, which is read by id where the files allow it."""
    entries = open_sorted_entries(location, merges)
    if entries is None:
        return graph_of(location, merges)
    return SortedEntriesGraph(entries)


def graph_of(location: str, merges: Sequence[ScopedMerge]) -> ColumnarGraph:
    """Return the lineage of these merges, of one per DAG."""
    return ColumnarGraph(*picture_of(location, merges))


def resolve_past(
    location: str, text: str, merges: Sequence[ScopedMerge], environment: str | None, dag: str | None
) -> Vertex:
    """Return the dataset, column or job of a name: of the newest lineage, else of the newest that had it.

    `merges`: oldest first. Raises `NotFound` and `Ambiguous`.
    """
    newest = {merge.scope: merge for merge in merges}
    try:
        return _resolve(_nodes(location, list(newest.values())), text, environment, dag)
    except NotFound as error:
        seen = {_entry(merge) for merge in newest.values()}
        for merge in reversed(merges):
            entry = _entry(merge)
            if entry in seen or merge.record.entry is None:
                continue
            seen.add(entry)
            nodes = _nodes(location, [merge])
            if not _may_have(nodes, text):
                continue
            try:
                return _resolve(nodes, text, environment, dag)
            except NotFound:
                continue
        raise error from None


def _entry(merge: ScopedMerge) -> tuple[DagScope, MergeName | None]:
    return merge.scope, merge.record.entry


def _nodes(location: str, merges: Sequence[ScopedMerge]) -> Columns:
    """Return the nodes of entries, with the ids that these have."""
    return combine_nodes(
        [
            (scope, read_columns(layout.entry_folder(location, "nodes", scope, record.entry)))
            for scope, record in merges
            if record.entry
        ]
    )


def _resolve(nodes: Columns, text: str, environment: str | None, dag: str | None) -> Vertex:
    return resolve_any(ColumnarGraph(nodes, StackedColumns([])), text, environment, dag)


def _may_have(nodes: Columns, text: str) -> bool:
    """Return whether a node may have a name: the last part of a dataset's is in its id, whatever its form."""
    import pyarrow.compute as pc

    dataset = text.rpartition("#")[0] or text
    last = max(dataset.rstrip("/").replace("|", "/").replace(".", "/").split("/")[-1:], default="")
    columns = [column for name in ("id", "location") if (column := nodes.column(name)) is not None]
    masks = (pc.match_substring(distinct_texts(column), last, ignore_case=True) for column in columns)
    return any(pc.any(mask).as_py() for mask in masks)


_Key = tuple[str, str, str, str]


def recent_changes(
    location: str, environment: str, datasets: Collection[str], since: int, until: int
) -> Mapping[str, list[RecentChange]]:
    """Return what merges from `since` to `until` (ms since 1970) changed, by dataset, newest first.

    The lineage of both moments is compared, and each difference is that of the first merge which had it: a
    merge of another DAG may store the same change of a shared vertex later. The first merge of a DAG changes
    nothing.
    Raises `SourceError` and `IntermediateError`.
    """
    scopes = merge_index.scopes(location, environment)
    times = [name.time for names in merge_index.merge_names(location, scopes) for name in names]
    if not times or min(times) > until:
        return {}
    moments = (max(since, min(times)), until)
    before, after = (as_of(location, Moment("", moment), environment).graph for moment in moments)
    differences = {_key(picture): picture for picture in compare_pictures(before, after, environment)}
    wanted = {key: id_ for key, id_ in differences.items() if _dataset_of(id_) in datasets}
    first: dict[_Key, ScopedMerge] = {}
    for scope in scopes if wanted else ():
        for merge, changed in _changes(location, scope, _records(location, scope, since, until)):
            for key in changed & wanted.keys():
                first[key] = min(first.get(key, merge), merge, key=lambda other: other.record.name)
    by_dataset: dict[str, dict[ScopedMerge, list[str]]] = {}
    for key, merge in sorted(first.items(), key=lambda item: (item[1].record.name, item[0])):
        by_dataset.setdefault(_dataset_of(wanted[key]), {}).setdefault(merge, []).append(_text(wanted[key]))
    return {
        dataset: [
            RecentChange(merge.record.id, merge.scope.dag_name, merge.record.name.time, tuple(texts))
            for merge, texts in reversed(merges.items())
        ]
        for dataset, merges in by_dataset.items()
    }


def _key(change: Change) -> _Key:
    return change.kind, change.action, change.source, change.id


def _dataset_of(change: Change) -> str:
    return dataset_of(change.id) if change.kind in ("column", "expression") else change.id


def _records(location: str, scope: DagScope, since: int, until: int) -> list[MergeRecord]:
    """Return the merges from the last one before `since`, oldest first."""
    (names,) = merge_index.merge_names(location, [scope])
    earlier = [name for name in names if name.time < since][-1:]
    wanted = [*earlier, *(name for name in names if since <= name.time <= until)]
    records = merge_index.read_records(location, [(scope, name) for name in wanted])
    return [record for record in records if record]


def _changes(
    location: str, scope: DagScope, records: Sequence[MergeRecord]
) -> Iterator[tuple[ScopedMerge, set[_Key]]]:
    """Yield merges of a DAG, and what differs from the merge before. Each entry is read once."""
    previous: ColumnarGraph | None = None
    for old, new in pairwise(records):
        if old.entry == new.entry:
            continue
        before = previous or graph_of(location, [ScopedMerge(scope, old)])
        previous = after = graph_of(location, [ScopedMerge(scope, new)])
        yield (
            ScopedMerge(scope, new),
            {_key(picture) for picture in compare_pictures(before, after, scope.environment)},
        )


def _text(change: Change) -> str:
    """``changed column orders#amount (data_type: int -> bigint)``."""
    differences = ""
    if change.action == "changed":
        shown = (
            f"{name}: {before or 'none'} -> {after or 'none'}" for name, before, after in change.differences
        )
        differences = f" ({', '.join(shown)})"
    return f"{change.action} {change.kind} {change.title}{differences}"
