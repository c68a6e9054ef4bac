"""What an embedded graph stores of a DAG: to compare with a merge, and as rows of its history."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.graph_format.schema import RUN_LABELS, Row
from lineage_merge.infra.embedded.graph_tables import GraphTables, arrow
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load.element_rows import edge_values, node_values
from lineage_merge.load.graph_state import (
    LOADER_LABELS,
    AliasOf,
    GraphState,
    Picture,
    StoredEdge,
    StoredVertex,
)


@dataclass(frozen=True, slots=True)
class FolderState:
    """A graph as its tables, read for a DAG."""

    tables: GraphTables
    environment: str
    dag_name: str

    def read_state(self, ids: Rows[str]) -> GraphState:
        """Return the vertices of `ids` and of the DAG, and the edges of the DAG that start at them."""
        vertices = self._read_vertices(frozenset(ids.collect()))
        starts = arrow().array([vertex.id for vertex in vertices], arrow().string())
        edges = [_read_edge(row) for row in rows_of_table(self._edges_from(starts))]
        return GraphState(ids.engine.rows(vertices).cache(), ids.engine.rows(edges).cache())

    def read_aliases(self, engine: Engine) -> Rows[AliasOf]:
        """Return all aliases of the environment's vertices."""
        compute = arrow().compute
        vertices = self.tables.vertices
        wanted = compute.and_(
            _equals(vertices["environment"], self.environment), vertices["aliases"].is_valid()
        )
        rows = rows_of_table(vertices.filter(wanted).select(["id", "label", "aliases"]))
        return engine.rows(
            AliasOf(row["id"], row["label"], alias) for row in rows for alias in row["aliases"]
        )

    def picture(self, engine: Engine) -> Picture:
        """Return all elements of the DAG, as `gremlin.element_reads.read_picture`."""
        vertices = self._select_tagged()
        edges = self._edges_from(vertices["id"].combine_chunks())
        return Picture(engine.rows(self._node_rows(vertices)), engine.rows(rows_of_table(edges)))

    def runs(self, engine: Engine) -> Rows[Row]:
        """Return the vertices of the DAG with properties of their newest run."""
        vertices = self._select_tagged()
        of_runs = arrow().compute.is_in(vertices["label"], arrow().array(sorted(RUN_LABELS)))
        return engine.rows(self._node_rows(vertices.filter(of_runs)))

    def _select_tagged(self) -> Any:
        return self.tables.vertices.filter(self._has_tag())

    def _has_tag(self) -> Any:
        """Return the mask of the vertices of the environment with the DAG's tag."""
        pa, vertices = arrow(), self.tables.vertices
        tags = pa.compute.list_flatten(vertices["dag_name"])
        owners = pa.compute.list_parent_indices(vertices["dag_name"])
        positions = pa.array(range(len(vertices)), pa.int64())
        has_tag = pa.compute.is_in(positions, owners.filter(pa.compute.equal(tags, self.dag_name)))
        return pa.compute.and_(has_tag, _equals(vertices["environment"], self.environment))

    def _edges_from(self, starts: Any) -> Any:
        compute, edges = arrow().compute, self.tables.edges
        return edges.filter(
            compute.and_(_equals(edges["dag_name"], self.dag_name), compute.is_in(edges["from"], starts))
        )

    def _read_vertices(self, ids: frozenset[str]) -> list[StoredVertex]:
        pa, vertices = arrow(), self.tables.vertices
        wanted = pa.compute.is_in(vertices["id"], pa.array(list(ids), pa.string()))
        rows = list(rows_of_table(vertices.filter(pa.compute.or_(wanted, self._has_tag()))))
        built: frozenset[str] = frozenset()
        if any(tag != self.dag_name for row in rows for tag in row.get("dag_name", ())):
            built = self._find_built_by_others()
        return [self._read_vertex(row, built) for row in rows]

    def _read_vertex(self, row: Row, built: frozenset[str]) -> StoredVertex:
        tags = {*map(str, row.get("dag_name", ()))}
        others = tuple(sorted(tags - {self.dag_name}))
        return StoredVertex(
            row["id"],
            row["label"],
            node_values(row),
            self.dag_name in tags,
            others,
            bool(others) and row["id"] in built,
        )

    def _find_built_by_others(self) -> frozenset[str]:
        """Return the ids of the datasets and columns that a job of another DAG writes."""
        compute, edges = arrow().compute, self.tables.edges
        of_others = compute.fill_null(compute.not_equal(edges["dag_name"], self.dag_name), False)
        built = edges.filter(compute.and_(_equals(edges["label"], "writes"), of_others))["to"]
        of_built = compute.is_in(edges["from"], built.combine_chunks())
        columns = edges.filter(compute.and_(_equals(edges["label"], "has_column"), of_built))["to"]
        return frozenset(built.to_pylist()) | frozenset(columns.to_pylist())

    def _node_rows(self, vertices: Any) -> Iterator[Row]:
        for row in rows_of_table(vertices):
            if row["label"] not in LOADER_LABELS:
                yield {**row, "dag_name": self.dag_name}


def _read_edge(row: Row) -> StoredEdge:
    return StoredEdge(row["id"], row["label"], row["from"], row["to"], edge_values(row), interim=False)


def _equals(column: Any, text: str) -> Any:
    compute = arrow().compute
    return compute.fill_null(compute.equal(column, text), False)
