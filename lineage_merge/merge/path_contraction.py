"""Contraction of paths through temporary datasets to edges between permanent ones. Pure."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

from lineage_merge.column_lineage.transformations import Transformation, compose, listed
from lineage_merge.model.records import ASSUMED

# Chains of operations through temporary datasets multiply: only the shortest are retained.
MAX_CHAINS = 20

Node = TypeVar("Node", bound=Hashable)
# Property of a `feeds` edge whose columns are unknown.
_UNAVAILABLE = {"column_lineage": "unavailable"}
# Property of a `feeds` edge over which no rows of the source flow.
_METADATA = {"reads": "metadata"}
# A dataset and its column in lower case.
ColumnKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Link:
    """A `feeds`, `feeds_column` or `influences` record that starts or ends at a temporary dataset.

    `out_of`, `into`: the name in `via` of the temporary dataset at its source and at its target.
    """

    kind: str
    job: tuple[str, str]
    source: str
    target: str
    source_column: str | None = None
    target_column: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    out_of: str | None = None
    into: str | None = None

    @property
    def reads_rows(self) -> bool:
        """Return whether rows of the source flow, not only its metadata."""
        return not _METADATA.items() <= self.properties.items()

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a set property, such as "operations"."""
        return tuple(self.sets.get(name) or ())

    @property
    def is_assumed(self) -> bool:
        """Whether it is assumed which column it starts or ends at."""
        return bool(self.sets.get(ASSUMED))

    @property
    def transformations(self) -> tuple[str, ...]:
        """Return how it transforms the column."""
        return self.values(_set_name(self.is_assumed))


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
    is_assumed: bool = False


def contract_paths(rows: Iterable[Link]) -> Iterator[Link]:
    """Yield the edges between permanent datasets that the rows form together.

    `rows`: all links that start or end at the temporary datasets of one connected component. Job and
    properties are those of the last step, which writes the permanent target.
    """
    into: dict[str, list[Link]] = defaultdict(list)
    last: dict[str, list[Link]] = defaultdict(list)
    for row in rows:
        # A dataset that feeds itself adds no path; a column that feeds another column of it may.
        if row.into is not None and (row.source != row.target or row.kind != "feeds"):
            into[row.kind].append(row)
        elif row.into is None and row.out_of is not None:
            last[row.kind].append(row)
    flows, columns = _flows(into["feeds"]), _columns(into["feeds_column"])
    yield from _contracted_flows(last["feeds"], flows)
    yield from _contracted_columns(last["feeds_column"], columns)
    yield from _contracted_influences(last["influences"], columns)
    yield from _inherited_influences(last["feeds"], into, columns)


def _fixed_point(
    steps: Iterable[Link],
    ends: Callable[[Link], tuple[Node, Node]],
    extend: Callable[[Link, dict[Node, dict[Any, Any]]], Iterator[tuple[Any, Any]]],
    merge: Callable[[Any, Any], Any],
) -> dict[Node, dict[Any, Any]]:
    """Return the paths to each temporary node by start; cycles are followed to a fixed point."""
    steps_to: dict[Node, list[Link]] = defaultdict(list)
    followed_by: dict[Node, set[Node]] = defaultdict(set)
    for step in steps:
        start, end = ends(step)
        steps_to[end].append(step)
        followed_by[start].add(end)
    paths: dict[Node, dict[Any, Any]] = {}
    waiting = dict.fromkeys(sorted(steps_to))  # type: ignore[type-var]
    while waiting:
        node = next(iter(waiting))
        del waiting[node]
        found: dict[Any, Any] = {}
        for step in steps_to[node]:
            for start, path in extend(step, paths):
                found[start] = merge(found[start], path) if start in found else path
        if found != paths.get(node):
            paths[node] = found
            waiting.update(dict.fromkeys(each for each in followed_by[node] if each in steps_to))
    return paths


def _flows(steps: Iterable[Link]) -> dict[str, dict[str, _Path]]:
    def extend(step: Link, paths: Mapping[str, Mapping[str, _Path]]) -> Iterator[tuple[str, _Path]]:
        here = step.into or ""
        own = frozenset({here, *step.values("via")})
        unavailable = _UNAVAILABLE.items() <= step.properties.items()
        ends = [(operations, step.target) for operations in step.values("operations") or ("",)]
        if step.out_of is None:
            yield step.source, _Path(own, frozenset((end,) for end in ends), unavailable, step.reads_rows)
            return
        for start, path in paths.get(step.source, {}).items():
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
                    path.has_rows and step.reads_rows,
                ),
            )

    def merge(one: _Path, other: _Path) -> _Path:
        unavailable = one.columns_unavailable or other.columns_unavailable
        has_rows = one.has_rows or other.has_rows
        return _Path(one.via | other.via, _shortest(one.chains | other.chains), unavailable, has_rows)

    return _fixed_point(steps, lambda step: (step.source, step.target), extend, merge)


def _shortest(chains: Iterable[_Chain]) -> frozenset[_Chain]:
    return frozenset(sorted(set(chains), key=lambda chain: (len(chain), chain))[:MAX_CHAINS])


def _columns(steps: Iterable[Link]) -> dict[ColumnKey, dict[ColumnKey, _ColumnPath]]:
    def extend(
        step: Link, paths: Mapping[ColumnKey, Mapping[ColumnKey, _ColumnPath]]
    ) -> Iterator[tuple[ColumnKey, _ColumnPath]]:
        own = frozenset(step.transformations)
        expressions = frozenset(step.values("expression"))
        if step.out_of is None:
            yield _start(step), _ColumnPath(step.source_column or "", own, expressions, step.is_assumed)
            return
        for start, path in paths.get(_start(step), {}).items():
            composed = _composed(own, path.transformations)
            is_assumed = step.is_assumed or path.is_assumed
            yield start, _ColumnPath(path.column, composed, expressions or path.expressions, is_assumed)

    def merge(one: _ColumnPath, other: _ColumnPath) -> _ColumnPath:
        return _ColumnPath(
            max(one.column, other.column),
            one.transformations | other.transformations,
            one.expressions | other.expressions,
            one.is_assumed and other.is_assumed,
        )

    return _fixed_point(steps, lambda step: (_start(step), _end(step)), extend, merge)


def _set_name(is_assumed: bool) -> str:
    return ASSUMED if is_assumed else "transformation"


def _start(step: Link) -> ColumnKey:
    return step.source, (step.source_column or "").lower()


def _end(step: Link) -> ColumnKey:
    return step.target, (step.target_column or "").lower()


def _composed(nearer: Iterable[str], further: Iterable[str]) -> frozenset[str]:
    pairs = product(nearer, further)
    return frozenset(compose(Transformation[near], Transformation[far]).name for near, far in pairs)


def _contracted_flows(last: Iterable[Link], flows: Mapping[str, Mapping[str, _Path]]) -> Iterator[Link]:
    for step in last:
        for start, path in flows.get(step.source, {}).items():
            operations = {
                " > ".join(text for text in (*(text for text, _ in chain), end) if text)
                for chain, end in product(path.chains, step.values("operations") or ("",))
            }
            sets = {
                "via": sorted(path.via.union(step.values("via"))),
                "operations": sorted(operations - {""}, key=lambda text: (len(text), text))[:MAX_CHAINS],
            }
            properties = {
                **step.properties,
                **(_UNAVAILABLE if path.columns_unavailable else {}),
                **({} if path.has_rows else _METADATA),
            }
            yield Link("feeds", step.job, start, step.target, properties=properties, sets=sets)


def _contracted_columns(
    last: Iterable[Link], columns: Mapping[ColumnKey, Mapping[ColumnKey, _ColumnPath]]
) -> Iterator[Link]:
    for step in last:
        for (start, _), path in columns.get(_start(step), {}).items():
            composed = _composed(step.transformations, path.transformations)
            sets = {
                _set_name(step.is_assumed or path.is_assumed): [
                    each.name for each in listed(Transformation[name] for name in composed)
                ],
                # The expression nearest to the target that is more than a rename.
                "expression": step.values("expression") or sorted(path.expressions),
            }
            yield Link(
                "feeds_column", step.job, start, step.target, path.column, step.target_column, sets=sets
            )


def _contracted_influences(
    last: Iterable[Link], columns: Mapping[ColumnKey, Mapping[ColumnKey, _ColumnPath]]
) -> Iterator[Link]:
    for step in last:
        for (start, _), path in columns.get(_start(step), {}).items():
            sets = {_set_name(path.is_assumed): step.transformations}
            yield Link("influences", step.job, start, step.target, path.column, sets=sets)


def _inherited_influences(
    last: Iterable[Link],
    into: Mapping[str, Sequence[Link]],
    columns: Mapping[ColumnKey, Mapping[ColumnKey, _ColumnPath]],
) -> Iterator[Link]:
    """Yield the influences on the rows of a temporary dataset for every dataset downstream of it."""
    sources: dict[str, set[str]] = defaultdict(set)
    for step in into["feeds"]:
        if step.out_of is not None and step.reads_rows:
            sources[step.target].add(step.source)
    influences: dict[str, list[Link]] = defaultdict(list)
    for step in into["influences"]:
        influences[step.target].append(step)

    ends: dict[str, set[tuple[tuple[str, str], str]]] = defaultdict(set)
    for step in last:
        if step.reads_rows:
            ends[step.source].add((step.job, step.target))
    for hop, targets in ends.items():
        found: dict[tuple[str, str, bool], set[str]] = defaultdict(set)
        for before in _with_ancestors(hop, sources):
            for step in influences[before]:
                paths = columns.get(_start(step), {}).items()
                origins = [(start, path.column, path.is_assumed) for (start, _), path in paths]
                if step.out_of is None:
                    origins = [(step.source, step.source_column or "", False)]
                for origin in origins:
                    found[origin].update(step.transformations)
        for (job, target), ((start, column, is_assumed), kinds) in product(sorted(targets), found.items()):
            sets = {_set_name(is_assumed): sorted(kinds)}
            yield Link("influences", job, start, target, column, sets=sets)


def _with_ancestors(hop: str, sources: Mapping[str, set[str]]) -> set[str]:
    """Return the temporary dataset and the temporary datasets upstream of it."""
    seen, waiting = {hop}, [hop]
    while waiting:
        new = sources.get(waiting.pop(), set()) - seen
        seen |= new
        waiting.extend(new)
    return seen


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
    return {each: root(each) for each in parent}
