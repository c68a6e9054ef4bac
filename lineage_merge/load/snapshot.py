"""Reads stored elements with all properties, and takes snapshots from which a vertex can be recreated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import T

from lineage_merge.graph_format.schema import SETS
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.executor import GremlinExecutor
from lineage_merge.load.gremlin.upserts import EdgeUpsert, VertexUpsert

# Suffix of an edge's interim id while `load.label_replacement` recreates its vertex.
INTERIM = "~"


def vertices_by_id(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return vertices with all properties."""
    return g.V(*ids).project("id", "label", "properties").by(T.id).by(T.label).by(__.value_map())


def project_edges(edges: GraphTraversal) -> GraphTraversal:
    """Return edges with their ends and all properties."""
    return (
        edges.project("id", "label", "from", "to", "properties")
        .by(T.id)
        .by(T.label)
        .by(__.out_v().id_())
        .by(__.in_v().id_())
        .by(__.value_map())
    )


def missing_edge(element: Mapping[str, Any]) -> EdgeUpsert:
    """Return an upsert that creates a result of `project_edges`, with its final id, if it is missing."""
    final_id = element["id"].removesuffix(INTERIM)
    values = tuple(upserts.typed(element["properties"]).items())
    return EdgeUpsert(
        final_id, element["label"], element["from"], element["to"], values, only_if_missing=True
    )


@dataclass(frozen=True, slots=True)
class VertexSnapshot:
    """A vertex, its values (each a list, whatever its cardinality) and its edges of all DAGs, in and out.

    `edge_count`: number of edge ends at it (a loop counts twice).
    """

    id: str
    label: str
    values: Mapping[str, list[Any]]
    edges: tuple[EdgeUpsert, ...]
    edge_count: int

    @property
    def dags(self) -> list[str]:
        """Return the DAG names in its tags."""
        return sorted(self.values.get("dag_name", ()))

    def upsert(self, identifier: str, label: str, exclude: frozenset[str] = frozenset()) -> VertexUpsert:
        """Return an upsert with that id and label and these values, single values of `exclude` omitted."""
        singles: dict[str, Any] = {}
        members: list[tuple[str, Any]] = []
        for key, values in self.values.items():
            if key in SETS:
                members += [(key, value) for value in values]
            elif key not in exclude:
                singles[key] = values[0]
        return VertexUpsert(identifier, label, tuple(upserts.typed(singles).items()), tuple(members))


def edges_at(g: GraphTraversalSource, vertex: str) -> GraphTraversal:
    """Return the edges of a vertex, in and out."""
    return project_edges(g.V(vertex).both_e())


def take_snapshot(execute: GremlinExecutor, vertex: str) -> VertexSnapshot | None:
    """Read a vertex with its edges; None if it is missing."""
    found = execute(lambda g: vertices_by_id(g, [vertex]))
    if not found:
        return None
    edge_ends = execute(lambda g: edges_at(g, vertex))
    edges = {end["id"]: missing_edge(end) for end in edge_ends}
    return VertexSnapshot(
        vertex, found[0]["label"], found[0]["properties"], tuple(edges.values()), len(edge_ends)
    )
