"""What an embedded graph stores of a DAG: to compare with a merge, and as rows of its history."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.graph_format.schema import RUN_LABELS, Row
from lineage_merge.infra.arrow_tables import get_column, is_one_of
from lineage_merge.infra.embedded.graph_tables import GraphTables, arrow
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load.element_rows import edge_values, node_values
from lineage_merge.load.graph_state import (
    LOADER_LABELS,
    AliasOf,
    GraphState,
    Picture,
    PictureTables,
    StoredEdge,
    StoredVertex,
)
from lineage_merge.load.result import ChangedIds


@dataclass(frozen=True)
class FolderState:
    """A graph as its tables, read for a DAG."""

    tables: GraphTables
    environment: str
    dag_name: str

    def read_state(self, ids: Rows[str]) -> GraphState:
        """Return the vertices of `ids` and of the DAG, and the edges of the DAG that start at them."""
        compute, of_ids = arrow().compute, is_one_of(get_column(self.tables.vertices, "id"), ids.collect())
        wanted = compute.or_(of_ids, self.has_tag)
        vertices = self.read_vertices(compute.indices_nonzero(wanted))
        edges = self.read_edges(compute.indices_nonzero(self._are_edges_from(wanted)))
        return GraphState(ids.engine.rows(vertices).cache(), ids.engine.rows(edges).cache())

    def read_aliases(self, engine: Engine) -> Rows[AliasOf]:
        """Return all aliases of the environment's vertices."""
        compute = arrow().compute
        vertices = self.tables.vertices
        if "aliases" not in vertices.column_names:
            return engine.empty()
        of_environment = is_one_of(get_column(vertices, "environment"), [self.environment])
        wanted = compute.and_(of_environment, get_column(vertices, "aliases").is_valid())
        rows = rows_of_table(vertices.filter(wanted).select(["id", "label", "aliases"]))
        return engine.rows(
            AliasOf(row["id"], row["label"], alias) for row in rows for alias in row["aliases"]
        )

    def picture(self) -> PictureTables:
        """Return all elements of the DAG, as `gremlin.element_reads.read_picture`."""
        of_loader = is_one_of(get_column(self._tagged_vertices, "label"), LOADER_LABELS)
        nodes = self._tagged_vertices.filter(arrow().compute.invert(of_loader))
        return PictureTables(nodes, self.tables.edges.filter(self.is_edge_of_dag))

    def read_changed(self, engine: Engine, changed: ChangedIds) -> Picture:
        """Return those of these elements that the DAG has, as `picture`."""
        nodes, edges = (
            table.filter(is_one_of(get_column(table, "id"), ids))
            for table, ids in zip(self.picture(), changed, strict=True)
        )
        return Picture(engine.rows(self._node_rows(nodes)), engine.rows(rows_of_table(edges)))

    def runs(self, engine: Engine) -> Rows[Row]:
        """Return the vertices of the DAG with properties of their newest run."""
        of_runs = is_one_of(get_column(self._tagged_vertices, "label"), RUN_LABELS)
        return engine.rows(self._node_rows(self._tagged_vertices.filter(of_runs)))

    @cached_property
    def has_tag(self) -> Any:
        """The mask of the vertices of the environment with the DAG's tag."""
        of_dag, of_environment = (
            is_one_of(get_column(self.tables.vertices, name), [value])
            for name, value in (("dag_name", self.dag_name), ("environment", self.environment))
        )
        return arrow().compute.and_(of_dag, of_environment)

    @cached_property
    def is_edge_of_dag(self) -> Any:
        """The mask of the DAG's edges that start at its vertices."""
        return self._are_edges_from(self.has_tag)

    @cached_property
    def _tagged_vertices(self) -> Any:
        return self.tables.vertices.filter(self.has_tag)

    def _are_edges_from(self, is_start: Any) -> Any:
        """Return the mask of the DAG's edges that start at these vertices."""
        compute, edges = arrow().compute, self.tables.edges
        starts = is_start.take(get_column(edges, "from").indices)
        return compute.and_(is_one_of(get_column(edges, "dag_name"), [self.dag_name]), starts)

    def read_vertices(self, positions: Any) -> list[StoredVertex]:
        """Return the vertices at positions."""
        rows = list(rows_of_table(self.tables.vertices.take(positions)))
        built: frozenset[str] = frozenset()
        if any(tag != self.dag_name for row in rows for tag in row.get("dag_name", ())):
            built = self._built_by_others
        return [self._read_vertex(row, built) for row in rows]

    def read_edges(self, positions: Any) -> list[StoredEdge]:
        """Return the edges at positions."""
        return [_read_edge(row) for row in rows_of_table(self.tables.edges.take(positions))]

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

    @cached_property
    def _built_by_others(self) -> frozenset[str]:
        """The ids of the datasets and columns that a job of another DAG writes."""
        compute, edges = arrow().compute, self.tables.edges
        labels, starts, ends = (get_column(edges, name) for name in ("label", "from", "to"))
        of_others = compute.invert(is_one_of(get_column(edges, "dag_name"), [self.dag_name]))
        built = ends.indices.filter(compute.and_(is_one_of(labels, ["writes"]), of_others))
        of_built = compute.is_in(starts.indices, value_set=built)
        columns = ends.indices.filter(compute.and_(is_one_of(labels, ["has_column"]), of_built))
        return frozenset(
            identifier
            for positions in (built, columns)
            for identifier in ends.dictionary.take(positions).to_pylist()
        )

    def _node_rows(self, vertices: Any) -> Iterator[Row]:
        for row in rows_of_table(vertices):
            if row["label"] not in LOADER_LABELS:
                yield {**row, "dag_name": self.dag_name}


def _read_edge(row: Row) -> StoredEdge:
    return StoredEdge(row["id"], row["label"], row["from"], row["to"], edge_values(row), interim=False)
