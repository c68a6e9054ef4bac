"""The lineage as of a moment of the history, names that it has or had, and what recent merges changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from lineage_merge.graph_format.elements import COLUMN, JOB, Vertex, dataset_of, vertex_of_row
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.history import layout, merge_index
from lineage_merge.history.entry_files import read_table
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.moments import Moment
from lineage_merge.history.pictures import ScopedMerge, merges_until, picture_of
from lineage_merge.infra import storage
from lineage_merge.infra.engine.local import collection_off
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import NotFound
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.causes import RecentChange
from lineage_merge.questions.lineage_changes import Change, compare_pictures
from lineage_merge.questions.names import resolve_any

_COLUMNS = ("id", "label", "name", "namespace", "qualified_name", "location", "job_type")


class AsOf(NamedTuple):
    """The lineage as of a moment, and the merges that it is made of."""

    moment: Moment
    merges: tuple[ScopedMerge, ...]
    graph: InMemory


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
    on_progress(f"reading the history {storage.shown(location)}")
    merges = merges_until(location, moment, environment)
    present = [merge for merge in merges if merge.record.entry]
    return AsOf(moment, tuple(present), graph_of(location, merges))


@collection_off()  # what is read is needed until the end; collection would take half of the time
def graph_of(location: str, merges: Sequence[ScopedMerge]) -> InMemory:
    """Return the lineage of these merges, of one per DAG."""
    picture = picture_of(location, merges)
    return InMemory(picture.vertices.values(), picture.edges)


def resolve_past(
    location: str, text: str, merges: Sequence[ScopedMerge], environment: str | None, dag: str | None
) -> Vertex:
    """Return the dataset, column or job of a name: of the newest lineage, else of the newest that had it.

    `merges`: oldest first. Raises `NotFound` and `Ambiguous`.
    """
    newest = {merge.scope: merge for merge in merges}
    try:
        return resolve_any(_names(location, list(newest.values())), text, environment, dag)
    except NotFound as error:
        seen = {_entry(each) for each in newest.values()}
        for merge in reversed(merges):
            entry = _entry(merge)
            if entry in seen or merge.record.entry is None:
                continue
            seen.add(entry)
            try:
                return resolve_any(_names(location, [merge], text), text, environment, dag)
            except NotFound:
                continue
        raise error from None


def _entry(merge: ScopedMerge) -> tuple[DagScope, MergeName | None]:
    return merge.scope, merge.record.entry


def _names(location: str, merges: Sequence[ScopedMerge], text: str = "") -> InMemory:
    """Return the vertices that can be named, without edges; of an old entry only those like the text."""
    import pyarrow.compute as pc

    condition = pc.field("label").isin([*DATASET_LABELS, COLUMN, JOB])
    if text:
        # The last part of the dataset's name is in its id, whatever form the text has.
        dataset = text.rpartition("#")[0] or text
        last = max(dataset.rstrip("/").replace("|", "/").replace(".", "/").split("/")[-1:], default="")
        names = [pc.match_substring(pc.field(each), last, ignore_case=True) for each in ("id", "location")]
        condition = condition & (names[0] | names[1])
    rows: dict[str, dict[str, Any]] = {}
    dags: dict[str, set[str]] = {}
    for scope, record in merges:
        if record.entry is None:
            continue
        folder = layout.entry_folder(location, "nodes", scope, record.entry)
        for row in read_table(folder, _COLUMNS, condition).to_pylist():
            rows[row["id"]] = {**row, "environment": scope.environment}
            dags.setdefault(row["id"], set()).add(scope.dag_name)
    return InMemory((vertex_of_row(row, dags[key]) for key, row in rows.items()), ())


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
    wanted = {key: each for key, each in differences.items() if _dataset_of(each) in datasets}
    first: dict[_Key, ScopedMerge] = {}
    for scope in scopes if wanted else ():
        for merge, changed in _changes(location, scope, _records(location, scope, since, until)):
            for key in changed & wanted.keys():
                first[key] = min(first.get(key, merge), merge, key=lambda each: each.record.name)
    by_dataset: dict[str, dict[ScopedMerge, list[str]]] = {}
    for key, merge in sorted(first.items(), key=lambda each: (each[1].record.name, each[0])):
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
    records = merge_index.read_records(location, [(scope, each) for each in wanted])
    return [record for record in records if record]


def _changes(
    location: str, scope: DagScope, records: Sequence[MergeRecord]
) -> Iterator[tuple[ScopedMerge, set[_Key]]]:
    """Yield merges of a DAG, and what differs from the merge before. Each entry is read once."""
    previous: InMemory | None = None
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
