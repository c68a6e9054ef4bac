"""A vertex with everything that hangs on it, as the graph holds it: what is needed to make it anew."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource

from lineage_merge.graph_format.schema import SETS
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.element_reads import INTERIM, project_edges, vertices_by_id
from lineage_merge.load.gremlin.executor import GremlinExecutor
from lineage_merge.load.gremlin.upserts import EdgeUpsert, VertexUpsert


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of whichever DAG."""

    id: str
    label: str
    from_id: str
    to_id: str
    properties: Mapping[str, Any]

    @classmethod
    def of(cls, held: Mapping[str, Any]) -> Self:
        """An edge as `held.project_edges` gives it, under the id that it has in the end."""
        own = held["id"].removesuffix(INTERIM)
        return cls(own, held["label"], held["from"], held["to"], held["properties"])

    def upsert(self) -> EdgeUpsert:
        """The edge as it is, for where it is missing."""
        values = tuple(upserts.typed(self.properties).items())
        return EdgeUpsert(self.id, self.label, self.from_id, self.to_id, values, only_if_missing=True)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A vertex, its values (each a list, whatever its cardinality) and its edges, in and out.

    `edge_count` is how many ends of edges lie at it: an edge from it to itself counts twice.
    """

    id: str
    label: str
    values: Mapping[str, list[Any]]
    edges: tuple[Edge, ...]
    edge_count: int

    @property
    def dags(self) -> list[str]:
        """The tags."""
        return sorted(self.values.get("dag_name", ()))

    def upsert(self, identifier: str, label: str, leave: frozenset[str] = frozenset()) -> VertexUpsert:
        """A vertex of that id and label with these values, but for those to `leave` out."""
        singles: dict[str, Any] = {}
        members: list[tuple[str, Any]] = []
        for key, values in self.values.items():
            if key in SETS:
                members += [(key, value) for value in values]
            elif key not in leave:
                singles[key] = values[0]
        return VertexUpsert(identifier, label, tuple(upserts.typed(singles).items()), tuple(members))


def edges_at(g: GraphTraversalSource, vertex: str) -> GraphTraversal:
    """The edges of a vertex, in and out."""
    return project_edges(g.V(vertex).both_e())


def take(ask: GremlinExecutor, vertex: str) -> Snapshot | None:
    """The vertex as it is now; None where it is not there."""
    found = ask(lambda g: vertices_by_id(g, [vertex]))
    if not found:
        return None
    ends = ask(lambda g: edges_at(g, vertex))
    edges = {each["id"]: Edge.of(each) for each in ends}
    return Snapshot(vertex, found[0]["label"], found[0]["properties"], tuple(edges.values()), len(ends))
