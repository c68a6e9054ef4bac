"""A graph of a few vertices and edges that exist as Python objects, such as those of a change.

Needs no pyarrow, whose import takes longer than a question to so few elements.
"""

from collections.abc import Iterable, Mapping, Sequence

from lineage_merge.graph_format.elements import Edge, Vertex, values_of
from lineage_merge.questions.backends.indexed_graph import (
    SEARCHED,
    Adjacency,
    IndexedGraph,
    Match,
    sort_edges,
)
from lineage_merge.questions.graph import Direction, case_variants


def contains_text(vertex: Vertex, text: str) -> bool:
    """Return whether a name of the vertex contains `text`, as `LineageGraph.search` compares them."""
    return not text or _matches(vertex, Match(SEARCHED, case_variants(text), is_part=True))


class InMemory(IndexedGraph):
    """A `LineageGraph` of these vertices and edges; edges without both ends are omitted."""

    def __init__(self, vertices: Iterable[Vertex], edges: Iterable[Edge]) -> None:
        by_id = {vertex.id: vertex for vertex in vertices}
        positions = {identifier: position for position, identifier in enumerate(by_id)}
        complete = [edge for edge in edges if edge.from_id in by_id and edge.to_id in by_id]
        super().__init__(_Vertices([*by_id.values()], positions), _Edges(complete, positions))


class _Vertices:
    def __init__(self, vertices: Sequence[Vertex], positions: Mapping[str, int]) -> None:
        self._vertices = vertices
        self._positions = positions

    def positions(self, ids: Iterable[str]) -> list[int]:
        return [self._positions[id_] for id_ in dict.fromkeys(ids) if id_ in self._positions]

    def ids(self, positions: Sequence[int]) -> list[str]:
        return [self._vertices[position].id for position in positions]

    def take(self, positions: Sequence[int]) -> list[Vertex]:
        return [self._vertices[position] for position in positions]

    def select(
        self, labels: Sequence[str], environment: str | None, dag: str | None, match: Match | None = None
    ) -> list[int]:
        return [
            position
            for position, vertex in enumerate(self._vertices)
            if vertex.label in labels
            and environment in (None, vertex.properties.get("environment"))
            and (dag is None or dag in vertex.dags)
            and (match is None or _matches(vertex, match))
        ]

    def environments(self) -> list[str]:
        return sorted({vertex.environment for vertex in self._vertices})


class _Edges:
    def __init__(self, edges: Sequence[Edge], positions: Mapping[str, int]) -> None:
        self._edges = edges
        self._positions = positions
        self._adjacencies: dict[tuple[str, Direction, str | None], Adjacency] = {}

    def adjacency(self, label: str, direction: Direction, dag: str | None) -> Adjacency:
        key = label, direction, dag
        if key not in self._adjacencies:
            edges = self.select([label], None, dag)
            starts, ends = self.ends(edges)
            here, there = (starts, ends) if direction == "down" else (ends, starts)
            self._adjacencies[key] = sort_edges(zip(here, there, edges, strict=True))
        return self._adjacencies[key]

    def select(self, labels: Sequence[str], environment: str | None, dag: str | None) -> list[int]:
        return [
            position
            for position, edge in enumerate(self._edges)
            if edge.label in labels
            and environment in (None, edge.properties.get("environment"))
            and dag in (None, edge.properties.get("dag_name"))
        ]

    def ends(self, positions: Sequence[int]) -> tuple[list[int], list[int]]:
        edges = self.take(positions)
        return [self._positions[edge.from_id] for edge in edges], [
            self._positions[edge.to_id] for edge in edges
        ]

    def take(self, positions: Sequence[int]) -> list[Edge]:
        return [self._edges[position] for position in positions]

    def values(self, key: str, positions: Sequence[int]) -> list[str]:
        return [str(edge.properties.get(key, "")) for edge in self.take(positions)]


def _matches(vertex: Vertex, match: Match) -> bool:
    for key in match.keys:
        values = (vertex.id,) if key == "id" else values_of(vertex, key)
        if match.values is None:
            if any(values):
                return True
        elif match.is_part:
            if any(part in str(value) for value in values for part in match.values):
                return True
        elif not set(match.values).isdisjoint(values):
            return True
    return False
