"""What recent merges changed at some datasets: their inputs, their columns, and how they are computed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from lineage_merge.graph_format.elements import dataset_of
from lineage_merge.history import merge_index
from lineage_merge.history.layout import DagScope
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.moments import Moment
from lineage_merge.history.pictures import ScopedMerge
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.causes import RecentChange
from lineage_merge.questions.lineage_changes import Change, compare_pictures
from lineage_merge.questions.past import as_of, graph_of

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
