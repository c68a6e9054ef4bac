"""The history of one dataset, column or job: when it appeared, changed and went, and by which merge.

Reads only entries in which the fingerprint of the element differs, and of their files the row groups whose
statistics include its id.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from lineage_merge.graph_format.comparison import Action, compare
from lineage_merge.graph_format.elements import JOB, Vertex
from lineage_merge.history import layout, merge_index
from lineage_merge.history.element_facts import FactKey, Facts, facts_of
from lineage_merge.history.fingerprints import read_fingerprints
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.pictures import ScopedMerge
from lineage_merge.infra import storage
from lineage_merge.model.errors import NotFound

_READERS = 8

EventKind = Literal["appeared", "removed", "added", "dropped", "changed"]
_KINDS: Mapping[Action, EventKind] = {"added": "added", "removed": "dropped", "changed": "changed"}


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """What a merge changed of an element.

    `what`: a property, or column, upstream, downstream, source, target; `name`: of that element, "" for a
    property. Without `what`, the element itself appeared or was removed.
    """

    merge: ScopedMerge
    kind: EventKind
    what: str = ""
    name: str = ""
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        if not self.what:
            return f"{self.kind}: {self.after}" if self.after else self.kind
        subject = f"{self.what} {self.name}".strip()
        if self.kind == "changed":
            return f"{subject}: {self.before or 'none'} -> {self.after or 'none'}"
        value = self.after or self.before
        return f"{subject} {self.kind}" + (f" ({value})" if value else "")


class _Read(NamedTuple):
    """The rows of an element in the entry of a merge."""

    scope: DagScope
    entry: MergeName
    runs: MergeName | None
    is_empty: bool


def merges_of(location: str, environment: str | None = None, dag: str | None = None) -> list[ScopedMerge]:
    """Return all merges, oldest first. Raises `NotFound` if the history has none."""
    scopes = merge_index.scopes(location, environment, dag)
    listed = merge_index.merge_names(location, scopes)
    names = [(scope, name) for scope, merges in zip(scopes, listed, strict=True) for name in merges]
    records = merge_index.read_records(location, names)
    merges = [ScopedMerge(scope, record) for (scope, _), record in zip(names, records, strict=True) if record]
    if not merges:
        limits = [limit for limit in (dag, environment) if limit]
        where = f" of {' in '.join(limits)}" if limits else ""
        raise NotFound(f"{storage.redact_location(location)}: no history{where}")
    return sorted(merges, key=lambda merge: merge.record.name)


def timeline(location: str, element: Vertex, merges: Sequence[ScopedMerge]) -> list[TimelineEvent]:
    """Return the events of an element, oldest first. `merges`: all of its environment, oldest first."""
    own = [scoped_merge for scoped_merge in merges if scoped_merge.scope.environment == element.environment]
    if element.label == JOB:
        own = [merge for merge in own if merge.scope.dag_name in element.dags]
    moved = former_ids(location, element, own)
    facts = {identifier: _read_all(location, identifier, element, own) for identifier in (*moved, element.id)}
    first = next((merge for merge in own if facts[element.id].get(_key(merge, element))), None)
    # A former id that existed beside the element was another dataset until it was moved.
    counts_from = {
        identifier: name if first and first.record.name < name else MergeName(0, "")
        for identifier, name in moved.items()
    } | {element.id: MergeName(0, "")}
    events: list[TimelineEvent] = []
    newest: dict[DagScope, ScopedMerge] = {}
    before: Facts | None = None
    for merge in own:
        newest[merge.scope] = merge
        after = _combine(
            (latest.record, fact)
            for identifier, start in counts_from.items()
            if start <= merge.record.name
            for latest in newest.values()
            if (fact := facts[identifier].get(_key(latest, element)))
        )
        events += _events(merge, before, after)
        before = after
    return events


def former_ids(location: str, element: Vertex, merges: Sequence[ScopedMerge]) -> dict[str, MergeName]:
    """Return the ids that a dataset or column had, with the merge that moved each to that of the element."""
    if not merges or element.label == JOB:
        return {}
    first, last = MergeName(0, ""), merges[-1].record.name
    wanted: dict[str, MergeName | None] = {element.id: None}
    for name, ids in reversed(merge_index.read_moves(location, element.environment, first, last)):
        for old, new in ids.items():
            for identifier, later in [*wanted.items()]:
                if identifier == new or identifier.startswith(f"{new}|"):
                    wanted.setdefault(old + identifier[len(new) :], later or name)
    return {identifier: name for identifier, name in wanted.items() if name}


def _key(merge: ScopedMerge, element: Vertex) -> _Read | None:
    record = merge.record
    if record.entry is None:
        return None
    runs = record.runs if element.label == JOB else None
    return _Read(merge.scope, record.entry, runs, record.vertices == 0)


def _read_all(
    location: str, identifier: str, element: Vertex, merges: Iterable[ScopedMerge]
) -> Mapping[_Read | None, Facts | None]:
    keys = list(dict.fromkeys(key for merge in merges if (key := _key(merge, element))))
    names = [identifier, element.name] if element.label == JOB else [identifier]
    fingerprints = read_fingerprints(location, [(key.scope, key.entry) for key in keys], names)
    # An entry stands for all in which the element is the same.
    same: dict[_Read, _Read] = {}
    first: dict[tuple[Any, ...], _Read] = {}
    for key, fingerprint in zip(keys, fingerprints, strict=True):
        state = (key.scope, key.runs, key.is_empty, fingerprint or key.entry)
        same[key] = first.setdefault(state, key)

    def read(key: _Read) -> Facts | None:
        nodes = layout.entry_folder(location, "nodes", key.scope, key.entry)
        edges = layout.entry_folder(location, "edges", key.scope, key.entry)
        runs = layout.entry_folder(location, "runs", key.scope, key.runs) if key.runs else ""
        return facts_of([identifier], element, nodes, edges, runs, must_exist=not key.is_empty)

    with ThreadPoolExecutor(_READERS, thread_name_prefix="history") as pool:
        facts = dict(zip(first.values(), pool.map(read, first.values()), strict=True))
    return {key: facts[identifier] for key, identifier in same.items()}


def _combine(states: Iterable[tuple[MergeRecord, Facts]]) -> Facts | None:
    """Return what all DAGs have of an element; the newest entry takes precedence."""
    ordered = sorted(states, key=lambda state: (state[0].entry or state[0].name, state[0].name))
    if not ordered:
        return None
    combined: Facts = {}
    for _, facts in ordered:
        # Properties are those of the newest entry, relations those of all DAGs.
        earlier = {key: values for key, values in combined.items() if key.name}
        combined = earlier | facts
        for key in earlier.keys() & facts.keys():
            if key.what != "column":
                combined[key] = earlier[key] | facts[key]
    return combined


def _events(merge: ScopedMerge, before: Facts | None, after: Facts | None) -> Iterator[TimelineEvent]:
    if before is None or after is None:
        if after is not None:
            yield TimelineEvent(merge, "appeared", after=_summary(after))
        elif before is not None:
            yield TimelineEvent(merge, "removed")
        return
    for difference in sorted(compare(before, after), key=attrgetter("key")):
        key, old, new = difference
        kind: EventKind = "changed" if not key.name else _KINDS[difference.action]
        yield TimelineEvent(merge, kind, *key, _text(old), _text(new))


def _text(values: frozenset[str] | None) -> str:
    return "; ".join(sorted(values or ()))


def _summary(facts: Facts) -> str:
    """``table, 3 columns, 2 upstream``."""
    label = _text(facts.get(FactKey("label")))
    numbers: dict[str, int] = {}
    for key in facts:
        if key.name:
            numbers[key.what] = numbers.get(key.what, 0) + 1
    columns = numbers.pop("column", 0)
    counted = [f"{columns} column{'s' if columns != 1 else ''}"] if columns else []
    parts = [label, *counted, *(f"{number} {what}" for what, number in sorted(numbers.items()))]
    return ", ".join(part for part in parts if part)
