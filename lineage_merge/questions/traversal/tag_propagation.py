"""Tags that columns and datasets carry, their own and those inherited along column lineage.

A tag of a column is carried by the column and its fields; one of a dataset by the dataset and all its
columns. Downstream, it passes from column to column; a structure that is passed on whole passes each field. A
dataset whose rows a tagged column determines carries the tag by its rows, which is not followed further. A
dataset that is fed without column lineage, such as an exposure, carries the tags of its sources as a whole.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from lineage_merge.config.propagation import Propagation, propagation_of
from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.model.elements import dataset_of
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.column_walk import with_derived
from lineage_merge.questions.traversal.tag_reach import TagReach, read_reach
from lineage_merge.questions.traversal.tag_stops import (
    StopKind,
    StopReason,
    TagStops,
    decides_on_rows,
    may_stop_at_function,
    sources_by_column,
)


@dataclass(frozen=True, slots=True)
class Step:
    """The last edge of a path, and the steps before it. Paths share their beginnings.

    `start`: the carrier that the edge leaves, for `feeds` a dataset or one of its columns.
    """

    edge: Edge
    start: str
    before: "Step | None" = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Carrier:
    """A column or dataset that carries a tag.

    `origin`: the nearest column or dataset that has the tag. `by_rows`: a dataset, or a visual, whose rows a
    tagged column determines; other datasets carry the tag as a whole, and so do their columns.
    """

    id: str
    tag: str
    origin: str
    by_rows: bool = False
    last: Step | None = field(default=None, repr=False, compare=False)

    @property
    def path(self) -> tuple[Edge, ...]:
        """The edges of a shortest path from `origin`; empty if the element or its dataset has the tag."""
        return _path(self.last)

    @property
    def own(self) -> bool:
        """Whether the element or its dataset has the tag; otherwise it is inherited."""
        return self.last is None

    @property
    def carried(self) -> str:
        """How it carries the tag: ``own``, ``by rows`` or ``inherited``."""
        return "own" if self.own else "by rows" if self.by_rows else "inherited"

    @property
    def previous(self) -> str:
        """The carrier before it: the start of the last edge, or a column's dataset; "" at the origin."""
        if self.last is None:
            return "" if self.origin == self.id else self.origin
        return self.last.start if self.last.edge.to_id == self.id else self.last.edge.to_id


@dataclass(frozen=True, slots=True)
class Stop:
    """A column or dataset that does not carry a tag because of `propagation`.

    `reason`: transformations, a function, a glob on datasets, or the reason of `clear`.
    """

    id: str
    tag: str
    origin: str
    kind: StopKind
    reason: str
    last: Step | None = field(default=None, repr=False, compare=False)

    @property
    def path(self) -> tuple[Edge, ...]:
        """The edges to the element, the last one included; empty if its own tag is cleared."""
        return _path(self.last)


@dataclass(frozen=True, slots=True)
class PropagatedTags:
    """Carriers and stops, each by tag and id.

    `vertices`: their elements and origins, and the datasets of both and of all paths.
    """

    carriers: tuple[Carrier, ...] = ()
    stops: tuple[Stop, ...] = ()
    vertices: Mapping[str, Vertex] = field(default_factory=dict)


def propagate(
    graph: LineageGraph,
    tags: Collection[str] | None,
    propagation: Mapping[str, Propagation],
    environment: str | None = None,
    dag: str | None = None,
) -> PropagatedTags:
    """Return what carries these tags (None: all tags of the graph), and where they stop.

    `propagation`: settings by tag, `*` for tags without settings.
    """
    propagated = propagate_ids(graph, tags, propagation, environment, dag)
    needed = {carrier.id for carrier in propagated.carriers} | {stop.id for stop in propagated.stops}
    read = with_derived(graph, needed - propagated.vertices.keys())
    return replace(propagated, vertices={**propagated.vertices, **{vertex.id: vertex for vertex in read}})


def propagate_ids(
    graph: LineageGraph,
    tags: Collection[str] | None,
    propagation: Mapping[str, Propagation],
    environment: str | None = None,
    dag: str | None = None,
    datasets: Mapping[str, Vertex] | None = None,
) -> PropagatedTags:
    """Return the same as `propagate`, but of columns only the vertices of those that have the tags.

    `datasets`: vertices that need not be read again.
    """
    reach = read_reach(graph, tags, environment, dag, datasets or {})
    origins: dict[str, list[str]] = defaultdict(list)
    for vertex in reach.tagged:
        for tag in vertex.properties["tags"]:
            if tags is None or tag in tags:
                origins[tag].append(vertex.id)
    settings = {tag: propagation_of(tag, propagation) for tag in sorted(origins)}
    sources = _sources(graph, reach, settings.values(), dag)
    carriers: list[Carrier] = []
    stops: list[Stop] = []
    for tag, of_tag in settings.items():
        walk = _Walk(tag, reach, TagStops(of_tag, reach.datasets, sources))
        walk.run(origins[tag])
        carriers += sorted((*walk.carriers.values(), *walk.rows()), key=lambda carrier: carrier.id)
        stops += sorted(walk.list_stops(), key=lambda stop: stop.id)
    known = {**{vertex.id: vertex for vertex in reach.tagged}, **reach.datasets}
    return PropagatedTags(tuple(carriers), tuple(stops), known)


def _sources(
    graph: LineageGraph, reach: TagReach, settings: Iterable[Propagation], dag: str | None
) -> dict[str, set[str]]:
    """Return the names of all columns that feed a column, where `stop_at_functions` needs them."""
    by_functions = [setting for setting in settings if setting.stop_at_functions]
    if not by_functions:
        return {}
    targets = {
        edge.to_id
        for edges in reach.columns.values()
        for edge in edges
        if any(may_stop_at_function(edge, function) for function in by_functions)
    }
    return sources_by_column(graph.edges_to(sorted(targets), ["feeds_column"], dag))


class _Walk:
    """The propagation of one tag, level by level: columns and datasets by distance from their origin."""

    def __init__(self, tag: str, reach: TagReach, stops: TagStops) -> None:
        self.carriers: dict[str, Carrier] = {}
        self._tag = tag
        self._reach = reach
        self._stops = stops
        self._by_rows: dict[str, Carrier] = {}
        self._stopped: dict[str, Stop] = {}
        self._left: set[str] = set()
        # Fields that carry the tag because their structures do: what these pass on includes them.
        self._parts: set[str] = set()

    def run(self, origins: Iterable[str]) -> None:
        """Follow the tag from the elements that have it."""
        level: dict[str, Carrier] = {}
        for origin in sorted(origins, key=lambda id_: (id_ in self._reach.datasets, id_)):
            self._arrive(level, Carrier(origin, self._tag, origin))
        while level:
            self._add_columns(level)
            self._add_fields(level)
            self.carriers |= level
            following: dict[str, Carrier] = {}
            for identifier in sorted(level):
                self._leave(level[identifier], following)
            level = following

    def rows(self) -> list[Carrier]:
        """Return the datasets that carry the tag by their rows only."""
        return [row for row in self._by_rows.values() if row.id not in self.carriers]

    def list_stops(self) -> list[Stop]:
        """Return the stops at elements that do not carry the tag by another path."""
        return [
            stop
            for stop in self._stopped.values()
            if stop.id not in self.carriers and stop.id not in self._by_rows
        ]

    def _leave(self, carrier: Carrier, following: dict[str, Carrier]) -> None:
        is_dataset = carrier.id in self._reach.datasets
        if not is_dataset:
            is_part = carrier.id in self._parts
            leaving = self._reach.columns.get(carrier.id, ()) if is_part else self._reach.leaving(carrier.id)
            for edge in leaving:
                self._pass(carrier, edge, following)
        owner = carrier.id if is_dataset else dataset_of(carrier.id)
        # The first carrier of a dataset, on a shortest path, decides for all.
        if owner not in self._left:
            self._left.add(owner)
            for edge in self._reach.whole.get(owner, ()):
                self._pass(carrier, edge, following)

    def _pass(self, carrier: Carrier, edge: Edge, following: dict[str, Carrier]) -> None:
        last = Step(edge, carrier.id, carrier.last)
        if reason := self._stops.find_at_edge(edge):
            self._stop(edge.to_id, carrier.origin, reason, last)
        elif decides_on_rows(edge):
            self._by_rows.setdefault(edge.to_id, Carrier(edge.to_id, self._tag, carrier.origin, True, last))
        else:
            self._arrive(following, Carrier(edge.to_id, self._tag, carrier.origin, last=last))

    def _arrive(self, level: dict[str, Carrier], carrier: Carrier) -> None:
        if carrier.id in self.carriers or carrier.id in level:
            return
        is_column = carrier.id not in self._reach.datasets
        if is_column and (reason := self._stops.find_at_column(carrier.id)):
            self._stop(carrier.id, carrier.origin, reason, carrier.last)
        else:
            level[carrier.id] = carrier

    def _add_columns(self, level: dict[str, Carrier]) -> None:
        """Add the columns of datasets that carry the tag as a whole."""
        for identifier in sorted(element for element in level if element in self._reach.datasets):
            dataset = level[identifier]
            for column in self._reach.owned.get(identifier, ()):
                self._arrive(level, Carrier(column, self._tag, dataset.origin, last=dataset.last))

    def _add_fields(self, level: dict[str, Carrier]) -> None:
        """Add the fields of columns that carry the tag."""
        waiting = sorted(element for element in level if element in self._reach.fields)
        for identifier in waiting:
            column = level[identifier]
            for part in self._reach.fields.get(identifier, ()):
                if part not in self.carriers and part not in level:
                    self._arrive(level, Carrier(part, self._tag, column.origin, last=column.last))
                    self._parts.add(part)
                    if part in level:
                        waiting.append(part)

    def _stop(self, identifier: str, origin: str, why: StopReason, last: Step | None) -> None:
        self._stopped.setdefault(identifier, Stop(identifier, self._tag, origin, *why, last=last))


def _path(last: Step | None) -> tuple[Edge, ...]:
    edges: list[Edge] = []
    while last is not None:
        edges.append(last.edge)
        last = last.before
    return tuple(reversed(edges))
