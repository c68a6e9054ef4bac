"""Reads the stored elements of a DAG from the embedded server: one dump of columns instead of requests."""

from collections.abc import Iterable, Iterator
from typing import Any

from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.graph_format.elements import with_other_properties
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.embedded.element_batches import GraphTables, arrow
from lineage_merge.infra.embedded.element_transfer import ElementClient, TransferFailed
from lineage_merge.load.element_rows import stored_edge_values, stored_vertex_values
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.stored_elements import INTERIM, StoredEdge, StoredVertex
from lineage_merge.model.errors import GraphUnreachable


def read_tables(endpoint: Endpoint) -> GraphTables:
    """Return all elements of the embedded graph. Raises GraphUnreachable."""
    try:
        with ElementClient(endpoint.url) as client:
            tables = client.dump()
    except TransferFailed as error:
        raise GraphUnreachable(f"{endpoint.address}: {error.message}") from None
    if tables is None:
        raise GraphUnreachable(f"{endpoint.address}: no elements")
    if endpoint.traffic:
        endpoint.traffic.requests.add(1)
        endpoint.traffic.read.add(len(tables.vertices) + len(tables.edges))
    return tables


def texts(values: Iterable[str]) -> Any:
    """Return texts as an Arrow array."""
    pa = arrow()
    return pa.array(list(values), pa.string())


def tagged(vertices: Any, environment: str, dag_name: str) -> Any:
    """Return the mask of the vertices of an environment with a DAG's tag."""
    pa = arrow()
    tags = pa.compute.list_flatten(vertices["dag_name"])
    owners = pa.compute.list_parent_indices(vertices["dag_name"])
    positions = pa.array(range(len(vertices)), pa.int64())
    has_tag = pa.compute.is_in(positions, owners.filter(pa.compute.equal(tags, dag_name)))
    return pa.compute.and_(has_tag, _is(vertices["environment"], environment))


def stored_vertices(
    tables: GraphTables, ids: frozenset[str], environment: str, dag_name: str
) -> list[StoredVertex]:
    """Return the vertices of `ids` and of the DAG."""
    pa = arrow()
    vertices = tables.vertices
    wanted = pa.compute.is_in(vertices["id"], texts(ids))
    wanted_vertices = vertices.filter(pa.compute.or_(wanted, tagged(vertices, environment, dag_name)))
    rows = [with_other_properties(row) for row in rows_of_table(wanted_vertices)]
    built: frozenset[str] = frozenset()
    if any(tag != dag_name for row in rows for tag in row.get("dag_name", ())):
        built = _built_by_others(tables.edges, dag_name)
    return [_stored_vertex(row, dag_name, built) for row in rows]


def _stored_vertex(row: Row, dag_name: str, built: frozenset[str]) -> StoredVertex:
    tags = {*map(str, row.get("dag_name", ()))}
    values = {
        name: value if isinstance(value, list) else [value]
        for name, value in row.items()
        if name not in ("id", "label")
    }
    others = tuple(sorted(tags - {dag_name}))
    return StoredVertex(
        row["id"],
        row["label"],
        stored_vertex_values(values),
        dag_name in tags,
        others,
        bool(others) and row["id"] in built,
    )


def _built_by_others(edges: Any, dag_name: str) -> frozenset[str]:
    """Return the ids of the datasets and columns that a job of another DAG writes."""
    pa = arrow()
    of_others = pa.compute.fill_null(pa.compute.not_equal(edges["dag_name"], dag_name), False)
    built = edges.filter(pa.compute.and_(_is(edges["label"], "writes"), of_others))["to"]
    of_built = pa.compute.is_in(edges["from"], built)
    columns = edges.filter(pa.compute.and_(_is(edges["label"], "has_column"), of_built))["to"]
    return frozenset(built.to_pylist()) | frozenset(columns.to_pylist())


def edges_of(tables: GraphTables, starts: Any, dag_name: str) -> Any:
    """Return the edges of a DAG that start at vertices of these ids, as a table."""
    pa = arrow()
    edges = tables.edges
    return edges.filter(
        pa.compute.and_(_is(edges["dag_name"], dag_name), pa.compute.is_in(edges["from"], starts))
    )


def stored_edges(edges: Any) -> Iterator[StoredEdge]:
    """Yield the edges of a table once; of one that is stored with both ids, the interim one."""
    pa = arrow()
    is_interim = pa.compute.fill_null(pa.compute.ends_with(edges["id"], INTERIM), False)
    interim = {row["id"].removesuffix(INTERIM) for row in rows_of_table(edges.filter(is_interim))}
    for row in map(with_other_properties, rows_of_table(edges)):
        if row["id"] in interim:
            continue
        values = {name: value for name, value in row.items() if name not in ("id", "label", "from", "to")}
        final = row["id"].removesuffix(INTERIM)
        properties = stored_edge_values(values)
        yield StoredEdge(final, row["label"], row["from"], row["to"], properties, row["id"] != final)


def _is(column: Any, text: str) -> Any:
    pa = arrow()
    return pa.compute.fill_null(pa.compute.equal(column, text), False)
