"""Questions to vertices and edges by position, however these are stored: what each backend in memory shares.

A position is the number of a row. Edges without both ends are omitted.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from itertools import compress
from typing import Protocol

from lineage_merge.graph_format.elements import (
    ALL_VERTEX_LABELS,
    COLUMN,
    EDGE_LABELS,
    VERTEX_LABELS,
    Edge,
    Vertex,
)
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.infra.batches import batched
from lineage_merge.questions.graph import Direction, case_variants

# Properties that identify a vertex by name, and properties that are searched.
NAMES = ("name", "qualified_name", "location")
SEARCHED = ("name", "qualified_name", "namespace")
# Elements that are created at once where all are returned.
_BATCH = 10_000
# Edges that lead from columns to their fields, in walks of both directions.
FIELDS = "has_column"


@dataclass(frozen=True, slots=True)
class Match:
    """A condition: one of these properties (or `id`) is, or as a set has, one of `values` (None: any value).

    `is_part`: it contains one of them, as text.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...] | None
    is_part: bool = False


HAS_FULL_NAME = Match(("qualified_name",), None)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Edges sorted by the vertex where they start (`down`) or end (`up`): position, other end, edge.

    `includes`: whether an edge is one of them; None: all are.
    """

    here: Sequence[int]
    there: Sequence[int]
    edges: Sequence[int]
    includes: Callable[[int], bool] | None = None

    def edges_at(self, vertex: int) -> Sequence[int]:
        """Return the edges of a vertex."""
        edges = self.edges[self._span(vertex)]
        return edges if self.includes is None else [*filter(self.includes, edges)]

    def others_at(self, vertex: int) -> Sequence[int]:
        """Return the other ends of the edges of a vertex."""
        span = self._span(vertex)
        if self.includes is None:
            return self.there[span]
        return [*compress(self.there[span], map(self.includes, self.edges[span]))]

    def _span(self, vertex: int) -> slice:
        start = bisect_left(self.here, vertex)
        return slice(start, bisect_right(self.here, vertex, start))


class Vertices(Protocol):
    """Vertices by position. `environment`, `dag` None: any."""

    def positions(self, ids: Iterable[str]) -> list[int]:
        """Return the positions of ids, without duplicates, in their order; missing ones are omitted."""

    def ids(self, positions: Sequence[int]) -> list[str]:
        """Return the ids at positions."""

    def take(self, positions: Sequence[int]) -> list[Vertex]:
        """Return the vertices at positions."""

    def select(
        self, labels: Sequence[str], environment: str | None, dag: str | None, match: Match | None = None
    ) -> Sequence[int]:
        """Return the positions of vertices that meet all conditions, ascending."""

    def environments(self) -> list[str]:
        """Return all environments, sorted."""


class Edges(Protocol):
    """Edges by position; those without both ends are never returned. `environment`, `dag` None: any."""

    def adjacency(self, label: str, direction: Direction, dag: str | None) -> Adjacency:
        """Return the edges of a label by start (`down`) or end (`up`)."""

    def select(self, labels: Sequence[str], environment: str | None, dag: str | None) -> Sequence[int]:
        """Return the positions of edges that meet all conditions, ascending."""

    def ends(self, positions: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the positions of the vertices where edges start, and where they end."""

    def take(self, positions: Sequence[int]) -> list[Edge]:
        """Return the edges at positions."""

    def values(self, key: str, positions: Sequence[int]) -> list[str]:
        """Return a property of edges; "" without a value."""


class IndexedGraph:
    """A `LineageGraph` of vertices and edges by position."""

    def __init__(self, vertices: Vertices, edges: Edges) -> None:
        self._vertices = vertices
        self._edges = edges

    def environments(self) -> list[str]:
        """See `LineageGraph`."""
        return self._vertices.environments()

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        """See `LineageGraph`."""
        return self._vertices.take(self._vertices.positions(ids))

    def find_named(
        self, text: str, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        match = Match(("id", *NAMES), (_storable(text),))
        return self._vertices.take(self._vertices.select(labels, environment, dag, match))

    def search(
        self,
        text: str,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        limit: int | None = None,
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        match = Match(SEARCHED, case_variants(_storable(text)), is_part=True) if text else None
        selected = self._vertices.select(labels, environment, dag, match)
        by_id = zip(self._vertices.ids(selected), selected, strict=True)
        ordered = sorted(by_id) if limit is None else nsmallest(limit, by_id)
        return self._vertices.take([position for _, position in ordered])

    def with_value(
        self,
        key: str,
        values: Sequence[str],
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """See `LineageGraph`."""
        selected = self._vertices.select(labels, environment, dag, Match((key,), tuple(values)))
        return set(self._vertices.ids(selected))

    def edges_from(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        return self._edges.take(self._next(self._vertices.positions(ids), labels, "down", dag))

    def edges_to(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        return self._edges.take(self._next(self._vertices.positions(ids), labels, "up", dag))

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """See `LineageGraph`."""
        reached = self._reach(self._vertices.positions(ids), labels, direction, depth, dag)
        return set(self._vertices.ids(reached))

    def edges_below(
        self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None, ends: Sequence[str] = ()
    ) -> list[Edge]:
        """See `LineageGraph`."""
        starts = self._vertices.positions(ids)
        below = dict.fromkeys([*starts, *self._reach(starts, labels, "down", None, dag)])
        return self._edges.take(self._next(below, (*labels, *ends), "down", dag))

    def find_tagged(
        self,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        match = Match(("tags",), None if tags is None else tuple(tags))
        return self._vertices.take(self._vertices.select(labels, environment, dag, match))

    def feeds_without_columns(self, ids: Iterable[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        feeds = self._next(self._vertices.positions(ids), ("feeds",), "down", dag)
        targets = self._edges.ends(feeds)[1]
        jobs = self._jobs_with_columns(dict.fromkeys(targets), dag)
        known = zip(
            feeds,
            targets,
            self._edges.values("column_lineage", feeds),
            self._edges.values("job_name", feeds),
            strict=True,
        )
        return self._edges.take(
            [edge for edge, to, state, job in known if state == "unavailable" or job not in jobs[to]]
        )

    def ids(self, labels: Sequence[str], environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        return set(self._vertices.ids(self._vertices.select(labels, environment, dag)))

    def pairs(
        self, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> set[tuple[str, str]]:
        """See `LineageGraph`."""
        starts, ends = self._edges.ends(self._edges.select(labels, environment, dag))
        return set(zip(self._vertices.ids(starts), self._vertices.ids(ends), strict=True))

    def find_without_consumer(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        written = self._edges.adjacency("writes", "up", dag)
        feeds = self._edges.adjacency("feeds", "down", None)
        return set(
            self._vertices.ids(
                [
                    dataset
                    for dataset in self._vertices.select(DATASET_LABELS, environment, None)
                    if written.edges_at(dataset)
                    and all(target == dataset for target in feeds.others_at(dataset))
                ]
            )
        )

    def find_without_producer(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        read = self._edges.adjacency("feeds", "down", dag)
        produced = [self._edges.adjacency(label, "up", None) for label in ("feeds", "writes")]
        return set(
            self._vertices.ids(
                [
                    dataset
                    for dataset in self._vertices.select(DATASET_LABELS, environment, None)
                    if read.edges_at(dataset)
                    and not any(adjacency.edges_at(dataset) for adjacency in produced)
                ]
            )
        )

    def everything(
        self, environment: str | None = None, dag: str | None = None, labels: Sequence[str] | None = None
    ) -> Iterator[Vertex | Edge]:
        """See `LineageGraph`."""
        wanted = (*VERTEX_LABELS, *EDGE_LABELS) if labels is None else labels
        vertices = [label for label in wanted if label in ALL_VERTEX_LABELS]
        for batch in batched(self._vertices.select(vertices, environment, dag) if vertices else (), _BATCH):
            yield from self._vertices.take(batch)
        edges = [label for label in wanted if label not in ALL_VERTEX_LABELS]
        for batch in batched(self._edges.select(edges, environment, dag) if edges else (), _BATCH):
            yield from self._edges.take(batch)

    def _add_fields(self, columns: Sequence[int]) -> Sequence[int]:
        fields = self._reach(columns, [FIELDS], "down", None, None)
        return [*columns, *fields] if fields else columns

    @cached_property
    def _has_fields(self) -> bool:
        """Whether a column has fields, which alone have a full name. Edges to columns are many."""
        return bool(len(self._vertices.select([COLUMN], None, None, HAS_FULL_NAME)))

    def _reach(
        self,
        starts: Iterable[int],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None,
        dag: str | None,
    ) -> list[int]:
        if depth == 0:
            return []
        adjacencies = [
            self._edges.adjacency(label, "down" if label == FIELDS else direction, dag)
            for label in labels
            if label != FIELDS or self._has_fields
        ]
        reached: set[int] = set()
        frontier = set(starts)
        hops = 0
        while frontier and (depth is None or hops < depth):
            following: set[int] = set()
            for adjacency in adjacencies:
                for vertex in frontier:
                    following.update(adjacency.others_at(vertex))
            frontier = following - reached
            reached |= frontier
            hops += 1
        return sorted(reached)

    def _next(
        self, vertices: Iterable[int], labels: Sequence[str], direction: Direction, dag: str | None
    ) -> list[int]:
        """Return the positions of the edges at vertices."""
        adjacencies = [self._edges.adjacency(label, direction, dag) for label in dict.fromkeys(labels)]
        return [
            edge for vertex in vertices for adjacency in adjacencies for edge in adjacency.edges_at(vertex)
        ]

    def _jobs_with_columns(self, datasets: Iterable[int], dag: str | None) -> dict[int, set[str]]:
        """Return the jobs with known column lineage into each dataset."""
        columns = self._edges.adjacency("has_column", "down", None)
        into_columns = self._edges.adjacency("feeds_column", "up", dag)
        into_rows = self._edges.adjacency("influences", "up", dag)
        edges: dict[int, list[int]] = {
            dataset: [
                *into_rows.edges_at(dataset),
                *(
                    edge
                    for column in self._add_fields(columns.others_at(dataset))
                    for edge in into_columns.edges_at(column)
                ),
            ]
            for dataset in datasets
        }
        names = iter(self._edges.values("job_name", [edge for into in edges.values() for edge in into]))
        return {dataset: {next(names) for _ in into} for dataset, into in edges.items()}


def _storable(text: str) -> str:
    """Return a text as files have it: with a question mark for an unpaired surrogate."""
    return text.encode(errors="replace").decode()


def sort_edges(ends: Iterable[tuple[int, int, int]]) -> Adjacency:
    """Return an adjacency of (vertex, other vertex, edge)."""
    ordered = sorted(ends, key=lambda end: end[0])
    here, there, edges = zip(*ordered, strict=True) if ordered else ((), (), ())
    return Adjacency(here, there, edges)
