"""Ways through temporary datasets, put together to edges between the lasting ones. Pure."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

from lineage_merge.column_lineage.transformations import Transformation, along, listed

# Chains of operations through temporary datasets multiply: the shortest of them are kept.
MOST_CHAINS = 20

Node = TypeVar("Node", bound=Hashable)
# What a `feeds` says of which the columns are unknown.
_LOST = {"columns": "lost"}
# A dataset and its column, without case.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Moved:
    """A record of kind `feeds`, `feeds_column` or `influences` that begins or ends at a temporary dataset.

    `out_of`, `into`: how `via` names the temporary dataset at its source, at its target.
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

    def many(self, name: str) -> tuple[str, ...]:
        """A set of the record's, "operations" or another; none is an empty one."""
        return tuple(self.sets.get(name) or ())


# A way of datasets, as the texts of its operations with the temporary dataset that each leads into.
_Chain = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """From a lasting dataset into a temporary one: which others lie between, and by what operations."""

    via: frozenset[str]
    chains: frozenset[_Chain]
    loses_columns: bool = False


@dataclass(frozen=True, slots=True)
class _ColumnWay:
    """From a column (in its greatest spelling) of a lasting dataset to one of a temporary one."""

    column: str
    transformations: frozenset[str]
    expressions: frozenset[str]


def through(rows: Iterable[Moved]) -> Iterator[Moved]:
    """The edges between lasting datasets that the given rows make together.

    `rows`: all that begin or end at temporary datasets that hang together. The job and the properties
    are those of the last step, which writes the lasting target.
    """
    into: dict[str, list[Moved]] = defaultdict(list)
    last: dict[str, list[Moved]] = defaultdict(list)
    for row in rows:
        # That a temporary dataset feeds itself leads nowhere new; that one of its columns does, may.
        if row.into is not None and (row.source != row.target or row.kind != "feeds"):
            into[row.kind].append(row)
        elif row.into is None and row.out_of is not None:
            last[row.kind].append(row)
    flows, columns = _flows(into["feeds"]), _columns(into["feeds_column"])
    yield from _whole_flows(last["feeds"], flows)
    yield from _whole_columns(last["feeds_column"], columns)
    yield from _whole_influences(last["influences"], columns)
    yield from _inherited(last["feeds"], into, columns)


def _settled(
    steps: Iterable[Moved],
    ends: Callable[[Moved], tuple[Node, Node]],
    longer: Callable[[Moved, dict[Node, dict[Any, Any]]], Iterator[tuple[Any, Any]]],
    joined: Callable[[Any, Any], Any],
) -> dict[Node, dict[Any, Any]]:
    """What leads to each temporary place, by where it begins; circles go round until nothing is new."""
    steps_to: dict[Node, list[Moved]] = defaultdict(list)
    followed_by: dict[Node, set[Node]] = defaultdict(set)
    for step in steps:
        start, end = ends(step)
        steps_to[end].append(step)
        followed_by[start].add(end)
    ways: dict[Node, dict[Any, Any]] = {}
    waiting = dict.fromkeys(sorted(steps_to))  # type: ignore[type-var]
    while waiting:
        place = next(iter(waiting))
        del waiting[place]
        found: dict[Any, Any] = {}
        for step in steps_to[place]:
            for start, way in longer(step, ways):
                found[start] = joined(found[start], way) if start in found else way
        if found != ways.get(place):
            ways[place] = found
            waiting.update(dict.fromkeys(each for each in followed_by[place] if each in steps_to))
    return ways


def _flows(steps: Iterable[Moved]) -> dict[str, dict[str, _Way]]:
    def longer(step: Moved, ways: Mapping[str, Mapping[str, _Way]]) -> Iterator[tuple[str, _Way]]:
        here = step.into or ""
        own = frozenset({here, *step.many("via")})
        loses = _LOST.items() <= step.properties.items()
        ends = [(operations, step.target) for operations in step.many("operations") or ("",)]
        if step.out_of is None:
            yield step.source, _Way(own, frozenset((end,) for end in ends), loses)
            return
        for start, way in ways.get(step.source, {}).items():
            # No chain goes round in circles.
            chains = (
                (*chain, end)
                for chain, end in product(way.chains, ends)
                if all(end[1] != before for _, before in chain)
            )
            yield start, _Way(way.via | own, _shortest(chains), way.loses_columns or loses)

    def joined(one: _Way, other: _Way) -> _Way:
        loses = one.loses_columns or other.loses_columns
        return _Way(one.via | other.via, _shortest(one.chains | other.chains), loses)

    return _settled(steps, lambda step: (step.source, step.target), longer, joined)


def _shortest(chains: Iterable[_Chain]) -> frozenset[_Chain]:
    return frozenset(sorted(set(chains), key=lambda chain: (len(chain), chain))[:MOST_CHAINS])


def _columns(steps: Iterable[Moved]) -> dict[Place, dict[Place, _ColumnWay]]:
    def longer(
        step: Moved, ways: Mapping[Place, Mapping[Place, _ColumnWay]]
    ) -> Iterator[tuple[Place, _ColumnWay]]:
        own = frozenset(step.many("transformation"))
        expressions = frozenset(step.many("expression"))
        if step.out_of is None:
            yield _start(step), _ColumnWay(step.source_column or "", own, expressions)
            return
        for start, way in ways.get(_start(step), {}).items():
            composed = _composed(own, way.transformations)
            yield start, _ColumnWay(way.column, composed, expressions or way.expressions)

    def joined(one: _ColumnWay, other: _ColumnWay) -> _ColumnWay:
        return _ColumnWay(
            max(one.column, other.column),
            one.transformations | other.transformations,
            one.expressions | other.expressions,
        )

    return _settled(steps, lambda step: (_start(step), _end(step)), longer, joined)


def _start(step: Moved) -> Place:
    return step.source, (step.source_column or "").lower()


def _end(step: Moved) -> Place:
    return step.target, (step.target_column or "").lower()


def _composed(nearer: Iterable[str], further: Iterable[str]) -> frozenset[str]:
    pairs = product(nearer, further)
    return frozenset(along(Transformation[near], Transformation[far]).name for near, far in pairs)


def _whole_flows(last: Iterable[Moved], flows: Mapping[str, Mapping[str, _Way]]) -> Iterator[Moved]:
    for step in last:
        for start, way in flows.get(step.source, {}).items():
            operations = {
                " > ".join(text for text in (*(text for text, _ in chain), end) if text)
                for chain, end in product(way.chains, step.many("operations") or ("",))
            }
            sets = {
                "via": sorted(way.via.union(step.many("via"))),
                "operations": sorted(operations - {""}, key=lambda text: (len(text), text))[:MOST_CHAINS],
            }
            properties = {**step.properties, **(_LOST if way.loses_columns else {})}
            yield Moved("feeds", step.job, start, step.target, properties=properties, sets=sets)


def _whole_columns(
    last: Iterable[Moved], columns: Mapping[Place, Mapping[Place, _ColumnWay]]
) -> Iterator[Moved]:
    for step in last:
        for (start, _), way in columns.get(_start(step), {}).items():
            composed = _composed(step.many("transformation"), way.transformations)
            sets = {
                "transformation": [each.name for each in listed(Transformation[name] for name in composed)],
                # The step nearest to the target that is more than a rename.
                "expression": step.many("expression") or sorted(way.expressions),
            }
            yield Moved(
                "feeds_column", step.job, start, step.target, way.column, step.target_column, sets=sets
            )


def _whole_influences(
    last: Iterable[Moved], columns: Mapping[Place, Mapping[Place, _ColumnWay]]
) -> Iterator[Moved]:
    for step in last:
        for (start, _), way in columns.get(_start(step), {}).items():
            sets = {"transformation": step.many("transformation")}
            yield Moved("influences", step.job, start, step.target, way.column, sets=sets)


def _inherited(
    last: Iterable[Moved],
    into: Mapping[str, Sequence[Moved]],
    columns: Mapping[Place, Mapping[Place, _ColumnWay]],
) -> Iterator[Moved]:
    """What decides the rows of a temporary dataset decides those of everything behind it."""
    sources: dict[str, set[str]] = defaultdict(set)
    for step in into["feeds"]:
        if step.out_of is not None:
            sources[step.target].add(step.source)
    deciding: dict[str, list[Moved]] = defaultdict(list)
    for step in into["influences"]:
        deciding[step.target].append(step)

    ends: dict[str, set[tuple[tuple[str, str], str]]] = defaultdict(set)
    for step in last:
        ends[step.source].add((step.job, step.target))
    for hop, targets in ends.items():
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for before in _behind(hop, sources):
            for step in deciding[before]:
                ways = columns.get(_start(step), {}).items()
                places = [(start, way.column) for (start, _), way in ways]
                for place in places if step.out_of is not None else [(step.source, step.source_column or "")]:
                    found[place].update(step.many("transformation"))
        for (job, target), ((start, column), kinds) in product(sorted(targets), found.items()):
            yield Moved("influences", job, start, target, column, sets={"transformation": sorted(kinds)})


def _behind(hop: str, sources: Mapping[str, set[str]]) -> set[str]:
    """The temporary dataset and those that it is made of."""
    seen, waiting = {hop}, [hop]
    while waiting:
        new = sources.get(waiting.pop(), set()) - seen
        seen |= new
        waiting.extend(new)
    return seen


def components(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The things that pairs tie together, each with the least of those it hangs together with."""
    parent: dict[str, str] = {}

    def root(one: str) -> str:
        while (above := parent.setdefault(one, one)) != one:
            parent[one] = one = parent[above]
        return one

    for one, other in pairs:
        least, greater = sorted((root(one), root(other)))
        parent[greater] = least
    return {each: root(each) for each in parent}
