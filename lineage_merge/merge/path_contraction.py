"""Contraction of paths through temporary datasets to edges between permanent ones. Pure."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Generic, NamedTuple, TypeVar

from lineage_merge.column_lineage.transformations import Transformation, compose
from lineage_merge.infra.batches import gather
from lineage_merge.merge.property_rows import TRANSFORMATIONS
from lineage_merge.model.elements import Feeds, FeedsColumn, Influences, JobKey
from lineage_merge.model.graph_walks import reachable
from lineage_merge.model.records import LinkRecord

# Chains of operations through temporary datasets multiply: only the shortest are retained.
MAX_CHAINS = 20

AnyLink = TypeVar("AnyLink", bound=LinkRecord, covariant=True)
Node = TypeVar("Node", bound=Hashable)
# Property of a `feeds` edge whose columns are unknown.
_UNAVAILABLE = {"column_lineage": "unavailable"}
# Property of a `feeds` edge over which no rows of the source flow.
_METADATA = {"reads": "metadata"}
# A dataset and its column in lower case.
ColumnKey = tuple[str, str]


class HopLink(NamedTuple, Generic[AnyLink]):
    """A record that starts or ends at a temporary dataset.

    `out_of`, `into`: the name in `via` of the temporary dataset at its source and at its target.
    """

    record: AnyLink
    out_of: str | None = None
    into: str | None = None


# A path as pairs: the text of its operations, and the temporary dataset that they write.
_Chain = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Path:
    """A path from a permanent dataset to a temporary one: datasets in between, and operations."""

    via: frozenset[str]
    chains: frozenset[_Chain]
    columns_unavailable: bool = False
    has_rows: bool = True


@dataclass(frozen=True, slots=True)
class _ColumnPath:
    """A path from a column of a permanent dataset (greatest spelling) to one of a temporary dataset."""

    column: str
    transformations: frozenset[str]
    expressions: frozenset[str]
    assumed: bool = False


def contract_paths(links: Iterable[HopLink[LinkRecord]]) -> Iterator[LinkRecord]:
    """Yield the edges between permanent datasets that the links form together.

    `links`: all that start or end at the temporary datasets of one connected component. Job and
    properties are those of the last step, which writes the permanent target.
    """
    into, last = [], []
    for link in links:
        if link.into is not None:
            into.append(link)
        elif link.out_of is not None:
            last.append(link)
    # A dataset that feeds itself adds no path; a column that feeds another column of it may.
    steps = [step for step in _select(Feeds, into) if step.record.source != step.record.target]
    flows, columns = _flows(steps), _columns(_select(FeedsColumn, into))
    yield from _contract_flows(_select(Feeds, last), flows)
    yield from _contract_columns(_select(FeedsColumn, last), columns)
    yield from _contract_influences(_select(Influences, last), columns)
    yield from _inherit_influences(_select(Feeds, last), steps, _select(Influences, into), columns)


def _select(kind: type[AnyLink], links: Iterable[HopLink[LinkRecord]]) -> list[HopLink[AnyLink]]:
    return [HopLink(link.record, link.out_of, link.into) for link in links if isinstance(link.record, kind)]


def _find_fixed_point(
    steps: Iterable[HopLink[AnyLink]],
    ends: Callable[[AnyLink], tuple[Node, Node]],
    extend: Callable[[HopLink[AnyLink], dict[Node, dict[Any, Any]]], Iterator[tuple[Any, Any]]],
    merge: Callable[[Any, Any], Any],
) -> dict[Node, dict[Any, Any]]:
    """Return the paths to each temporary node by start; cycles are followed to a fixed point."""
    steps_to: dict[Node, list[HopLink[AnyLink]]] = defaultdict(list)
    followed_by: dict[Node, set[Node]] = defaultdict(set)
    for step in steps:
        start, end = ends(step.record)
        steps_to[end].append(step)
        followed_by[start].add(end)
    paths: dict[Node, dict[Any, Any]] = {}
    waiting = dict.fromkeys(sorted(steps_to))  # type: ignore[type-var]
    while waiting:
        node = next(iter(waiting))
        del waiting[node]
        by_start: dict[Any, Any] = {}
        for step in steps_to[node]:
            for start, path in extend(step, paths):
                by_start[start] = merge(by_start[start], path) if start in by_start else path
        if by_start != paths.get(node):
            paths[node] = by_start
            waiting.update(dict.fromkeys(after for after in followed_by[node] if after in steps_to))
    return paths


def _flows(steps: Iterable[HopLink[Feeds[str]]]) -> dict[str, dict[str, _Path]]:
    def extend(
        step: HopLink[Feeds[str]], paths: Mapping[str, Mapping[str, _Path]]
    ) -> Iterator[tuple[str, _Path]]:
        record = step.record
        own = frozenset({step.into or "", *record.sets.get("via", ())})
        unavailable = _UNAVAILABLE.items() <= record.properties.items()
        ends = [(operations, record.target) for operations in record.sets.get("operations") or ("",)]
        if step.out_of is None:
            chains_of_one = frozenset((end,) for end in ends)
            yield record.source, _Path(own, chains_of_one, unavailable, _reads_rows(record))
            return
        for start, path in paths.get(record.source, {}).items():
            # A chain passes each dataset once.
            chains = (
                (*chain, end)
                for chain, end in product(path.chains, ends)
                if all(end[1] != before for _, before in chain)
            )
            yield (
                start,
                _Path(
                    path.via | own,
                    _shortest(chains),
                    path.columns_unavailable or unavailable,
                    path.has_rows and _reads_rows(record),
                ),
            )

    def merge(one: _Path, other: _Path) -> _Path:
        unavailable = one.columns_unavailable or other.columns_unavailable
        has_rows = one.has_rows or other.has_rows
        return _Path(one.via | other.via, _shortest(one.chains | other.chains), unavailable, has_rows)

    return _find_fixed_point(steps, lambda record: (record.source, record.target), extend, merge)


def _reads_rows(record: Feeds[str]) -> bool:
    """Return whether rows of the source flow, not only its metadata."""
    return not _METADATA.items() <= record.properties.items()


def _shortest(chains: Iterable[_Chain]) -> frozenset[_Chain]:
    return frozenset(sorted(set(chains), key=lambda chain: (len(chain), chain))[:MAX_CHAINS])


def _columns(
    steps: Iterable[HopLink[FeedsColumn[str]]],
) -> dict[ColumnKey, dict[ColumnKey, _ColumnPath]]:
    def extend(
        step: HopLink[FeedsColumn[str]], paths: Mapping[ColumnKey, Mapping[ColumnKey, _ColumnPath]]
    ) -> Iterator[tuple[ColumnKey, _ColumnPath]]:
        record = step.record
        own = frozenset(record.transformations)
        expressions = frozenset({record.expression} - {""})
        if step.out_of is None:
            yield _start(record), _ColumnPath(record.source_column, own, expressions, record.assumed)
            return
        for start, path in paths.get(_start(record), {}).items():
            composed = _compose(own, path.transformations)
            assumed = record.assumed or path.assumed
            yield start, _ColumnPath(path.column, composed, expressions or path.expressions, assumed)

    def merge(one: _ColumnPath, other: _ColumnPath) -> _ColumnPath:
        return _ColumnPath(
            max(one.column, other.column),
            one.transformations | other.transformations,
            one.expressions | other.expressions,
            one.assumed and other.assumed,
        )

    return _find_fixed_point(steps, lambda record: (_start(record), _end(record)), extend, merge)


def _start(record: FeedsColumn[str] | Influences[str]) -> ColumnKey:
    return record.source, record.source_column.lower()


def _end(record: FeedsColumn[str]) -> ColumnKey:
    return record.target, record.target_column.lower()


def _compose(nearer: Iterable[str], further: Iterable[str]) -> frozenset[str]:
    return frozenset(_compose_step(near, far) for near, far in product(nearer, further))


def _compose_step(near: str, far: str) -> str:
    """Return the step of a chain; one that decides on the rows of a visual stays what it is."""
    of_rows = next((name for name in (near, far) if name not in Transformation.__members__), "")
    return of_rows or compose(Transformation[near], Transformation[far]).name


def _sort_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=TRANSFORMATIONS.index))


def _contract_flows(
    last: Iterable[HopLink[Feeds[str]]], flows: Mapping[str, Mapping[str, _Path]]
) -> Iterator[Feeds[str]]:
    for record in (step.record for step in last):
        for start, path in flows.get(record.source, {}).items():
            operations = {
                " > ".join(text for text in (*(text for text, _ in chain), end) if text)
                for chain, end in product(path.chains, record.sets.get("operations") or ("",))
            }
            sets = {
                "via": sorted(path.via.union(record.sets.get("via", ()))),
                "operations": sorted(operations - {""}, key=lambda text: (len(text), text))[:MAX_CHAINS],
            }
            properties = {
                **record.properties,
                **(_UNAVAILABLE if path.columns_unavailable else {}),
                **({} if path.has_rows else _METADATA),
            }
            yield Feeds(record.job, start, record.target, properties, sets)


def _contract_columns(
    last: Iterable[HopLink[FeedsColumn[str]]], columns: Mapping[ColumnKey, Mapping[ColumnKey, _ColumnPath]]
) -> Iterator[FeedsColumn[str]]:
    for record in (step.record for step in last):
        for (start, _), path in columns.get(_start(record), {}).items():
            contracted = record._replace(
                source=start,
                source_column=path.column,
                transformations=_sort_names(_compose(record.transformations, path.transformations)),
                assumed=record.assumed or path.assumed,
            )
            # The expression nearest to the target that is more than a rename.
            for expression in () if record.expression else sorted(path.expressions):
                yield contracted._replace(expression=expression)
            if record.expression or not path.expressions:
                yield contracted


def _contract_influences(
    last: Iterable[HopLink[Influences[str]]], columns: Mapping[ColumnKey, Mapping[ColumnKey, _ColumnPath]]
) -> Iterator[Influences[str]]:
    for record in (step.record for step in last):
        for (start, _), path in columns.get(_start(record), {}).items():
            yield record._replace(source=start, source_column=path.column, assumed=path.assumed)


def _inherit_influences(
    last: Iterable[HopLink[Feeds[str]]],
    flows: Iterable[HopLink[Feeds[str]]],
    influences: Iterable[HopLink[Influences[str]]],
    columns: Mapping[ColumnKey, Mapping[ColumnKey, _ColumnPath]],
) -> Iterator[Influences[str]]:
    """Yield the influences on the rows of a temporary dataset for every dataset downstream of it."""
    sources: dict[str, set[str]] = defaultdict(set)
    for flow in flows:
        if flow.out_of is not None and _reads_rows(flow.record):
            sources[flow.record.target].add(flow.record.source)
    influences_on = gather((influence.record.target, influence) for influence in influences)

    ends: dict[str, set[tuple[JobKey, str]]] = defaultdict(set)
    for flow in last:
        if _reads_rows(flow.record):
            ends[flow.record.source].add((flow.record.job, flow.record.target))
    for hop, targets in ends.items():
        kinds_of: dict[tuple[str, str, bool], set[str]] = defaultdict(set)
        for before in reachable([hop], sources):
            for influence in influences_on[before]:
                record = influence.record
                paths = columns.get(_start(record), {}).items()
                origins = [(start, path.column, path.assumed) for (start, _), path in paths]
                if influence.out_of is None:
                    origins = [(record.source, record.source_column, False)]
                for origin in origins:
                    kinds_of[origin].update(record.transformations)
        for (job, target), (origin, kinds) in product(sorted(targets), kinds_of.items()):
            start, column, assumed = origin
            yield Influences(job, start, column, target, tuple(sorted(kinds)), assumed)


def components(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the connected components of pairs: each member with the smallest member of its component."""
    parent: dict[str, str] = {}

    def root(one: str) -> str:
        while (above := parent.setdefault(one, one)) != one:
            parent[one] = one = parent[above]
        return one

    for one, other in pairs:
        smallest, greater = sorted((root(one), root(other)))
        parent[greater] = smallest
    return {member: root(member) for member in parent}
