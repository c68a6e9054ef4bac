"""Reads the stored elements of one environment and DAG, in partitions of ids: to compare, or as rows.

Vertices are read by the ids of the merge (a vertex of another DAG does not have this DAG's tag yet) and by
the DAG's tag. Edges of a DAG always start at a vertex with its tag, so they are read from their start
vertices, in parallel.

A snapshot has all of a vertex, so that it can be recreated.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P, T

from lineage_merge.graph_format.schema import FIRST_SEEN, RUN_LABELS, SETS, Row, labels_of, one_label
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.traversal_source import project_edges, vertices_at
from lineage_merge.load.element_rows import vertex_values
from lineage_merge.load.graph_state import (
    INTERIM,
    LOADER_LABELS,
    AliasOf,
    GraphState,
    Picture,
    StoredEdge,
    StoredVertex,
)
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import GremlinExecutor, open_executor
from lineage_merge.load.gremlin.upserts import EdgeUpsert, VertexUpsert
from lineage_merge.load.result import ChangedIds

Found = TypeVar("Found")

# Maximum number of ids in a response.
_PAGE_SIZE = 10_000
_NOT_COMPARED = frozenset({"environment", "dag_name", FIRST_SEEN})


def read_graph_state(ids: Rows[str], endpoint: Endpoint, environment: str, dag_name: str) -> GraphState:
    """Read the vertices of `ids` and of the DAG, and the DAG's edges.

    Raises GraphUnreachable and GraphRejected, from the engine's workers.
    """
    read: Callable[[Iterable[str]], Iterator[Any]] = partial(_read, endpoint, partial(_elements, dag_name))
    elements = vertex_ids(ids, endpoint, environment, dag_name).map_partitions(read).cache()
    return GraphState(
        elements.filter(lambda element: isinstance(element, StoredVertex)),
        elements.filter(lambda element: isinstance(element, StoredEdge)),
    )


def read_elements(vertices: Rows[str], edges: Rows[str], endpoint: Endpoint, dag_name: str) -> GraphState:
    """Read vertices and edges by id. Errors as in `read_graph_state`."""
    parts = vertices.engine.parallelism
    vertex_reader = partial(_read, endpoint, partial(_vertices, dag_name))
    edge_reader = partial(_read, endpoint, _edges_by_id)
    return GraphState(
        vertices.distinct().repartition(parts).map_partitions(vertex_reader).cache(),
        edges.distinct().repartition(parts).map_partitions(edge_reader).cache(),
    )


def read_picture(engine: Engine, endpoint: Endpoint, environment: str, dag_name: str) -> Picture:
    """Read all elements of a DAG. Errors as in `read_graph_state`.

    The rows have all stored properties, and those of vertices the DAG's tag only.
    """
    ids = vertex_ids(engine.empty(), endpoint, environment, dag_name)
    rows = ids.map_partitions(partial(_read, endpoint, partial(_rows, dag_name))).cache()
    return Picture(rows.filter(lambda row: "from" not in row), rows.filter(lambda row: "from" in row))


def read_changed(engine: Engine, endpoint: Endpoint, dag_name: str, changed: ChangedIds) -> Picture:
    """Read those of these elements that a DAG has, as `read_picture`."""
    parts = engine.parallelism
    vertices, edges = (engine.rows(sorted(ids), parts) for ids in changed)
    return Picture(
        vertices.map_partitions(partial(_read, endpoint, partial(_node_rows, dag_name))),
        edges.map_partitions(partial(_read, endpoint, partial(_edge_rows_by_id, dag_name))),
    )


def read_runs(engine: Engine, endpoint: Endpoint, environment: str, dag_name: str) -> Rows[Row]:
    """Read the vertices of a DAG with properties of their newest run. Errors as in `read_graph_state`."""
    ids = engine.rows(sorted(RUN_LABELS), 1).flat_map(
        partial(_read_tagged_of_label, endpoint, environment, dag_name)
    )
    read = partial(_read, endpoint, partial(_node_rows, dag_name))
    return ids.repartition(engine.parallelism).map_partitions(read)


def vertex_ids(ids: Rows[str], endpoint: Endpoint, environment: str, dag_name: str) -> Rows[str]:
    """Return the distinct `ids` and ids of all vertices of the DAG, in one partition per worker."""
    tagged = ids.engine.rows([endpoint]).flat_map(
        partial(_read_tagged, environment=environment, dag_name=dag_name)
    )
    return ids.union(tagged).distinct().repartition(ids.engine.parallelism)


def read_aliases(engine: Engine, endpoint: Endpoint, environment: str) -> Rows[AliasOf]:
    """Read all aliases of an environment's vertices."""
    return engine.rows([endpoint]).flat_map(partial(_aliases, environment=environment))


def vertex_counts(g: GraphTraversalSource, environment: str, dag_name: str) -> GraphTraversal:
    """Count the vertices with a DAG's tag, per label."""
    return g.V().has("dag_name", dag_name).has("environment", environment).group_count().by(T.label)


def select_tagged_ids(g: GraphTraversalSource, environment: str, dag_name: str, label: str) -> GraphTraversal:
    """Return the ids of all vertices of a label with a DAG's tag."""
    return with_label(g.V(), label).has("dag_name", dag_name).has("environment", environment).id_()


def with_label(vertices: GraphTraversal, label: str) -> GraphTraversal:
    """Continue with the vertices that have all parts of a label."""
    for label_part in labels_of(label):
        vertices = vertices.has_label(label_part)
    return vertices


def find_built_by_others(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Return the ids of the datasets and columns that a job of another DAG writes."""
    by_others = __.in_e("writes").has("dag_name", P.neq(dag_name))
    of_column = __.in_("has_column").in_e("writes").has("dag_name", P.neq(dag_name))
    return g.V(*ids).where(__.or_(by_others, of_column)).id_()


def edges_from(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Return the edges of a DAG that start at these vertices."""
    return project_edges(g.V(*ids).out_e().has("dag_name", dag_name))


def edges_by_id(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return these edges, also if they have interim ids."""
    return project_edges(g.E(*ids, *(identifier + INTERIM for identifier in ids)))


def alias_counts(g: GraphTraversalSource, environment: str) -> GraphTraversal:
    """Count the vertices with aliases of an environment, per label."""
    return g.V().has("environment", environment).has("aliases").group_count().by(T.label)


def aliases_of(g: GraphTraversalSource, environment: str, label: str) -> GraphTraversal:
    """Return the vertices with aliases of a label and environment, with their aliases."""
    of_environment = with_label(g.V(), label).has("environment", environment).has("aliases")
    projected = of_environment.project("id", "label", "aliases").by(T.id).by(T.label)
    return projected.by(__.values("aliases").fold())


def _read_tagged(endpoint: Endpoint, environment: str, dag_name: str) -> Iterator[str]:
    with open_executor(endpoint) as execute:
        counts = execute(partial(vertex_counts, environment=environment, dag_name=dag_name))[0]
        query = partial(select_tagged_ids, environment=environment, dag_name=dag_name)
        yield from _pages(execute, query, counts, lambda identifier: identifier)


def _pages(
    execute: GremlinExecutor,
    query: Callable[..., GraphTraversal],
    counts: Mapping[str, int],
    key: Callable[[Found], str],
) -> Iterator[Found]:
    """Yield the results of a query per label (``query(g, label=...)``), in pages, each key once.

    `counts`: number of results per label.
    """
    for label, count in sorted(counts.items()):
        results: dict[str, Found] = {}
        for start in range(0, count, _PAGE_SIZE):
            results.update((key(result), result) for result in execute(partial(_page, query, label, start)))
        if len(results) < count:
            # The order of pages is not guaranteed.
            results.update((key(result), result) for result in execute(partial(query, label=label)))
        yield from results.values()


def _page(
    query: Callable[..., GraphTraversal], label: str, start: int, g: GraphTraversalSource
) -> GraphTraversal:
    return query(g, label=label).range_(start, start + _PAGE_SIZE)


def _aliases(endpoint: Endpoint, environment: str) -> Iterator[AliasOf]:
    with open_executor(endpoint) as execute:
        counts = execute(partial(alias_counts, environment=environment))[0]
        query = partial(aliases_of, environment=environment)
        for page in _pages(execute, query, counts, itemgetter("id")):
            for alias in page["aliases"]:
                yield AliasOf(page["id"], one_label(page["label"]), alias)


def _read(
    endpoint: Endpoint,
    reader: Callable[[GremlinExecutor, Iterable[str]], Iterable[Found]],
    ids: Iterable[str],
) -> Iterator[Found]:
    with open_executor(endpoint) as execute:
        yield from reader(execute, ids)


def _elements(
    dag_name: str, execute: GremlinExecutor, ids: Iterable[str]
) -> Iterator[StoredVertex | StoredEdge]:
    """Yield the vertices of `ids`, then the DAG's edges that start at them."""
    tagged = []
    for vertex in _vertices(dag_name, execute, ids):
        if vertex.tagged:
            tagged.append(vertex.id)
        yield vertex
    for edges in execute.reads(partial(edges_from, dag_name=dag_name), tagged):
        yield from _edges(edges)


def _vertices(dag_name: str, execute: GremlinExecutor, ids: Iterable[str]) -> Iterator[StoredVertex]:
    for vertices in execute.reads(vertices_at, ids):
        others = {
            vertex["id"]: {*vertex["properties"].get("dag_name", ())} - {dag_name} for vertex in vertices
        }
        shared = [identifier for identifier, names in others.items() if names]
        built = (
            set(execute(partial(find_built_by_others, ids=shared, dag_name=dag_name))) if shared else set()
        )
        for vertex in vertices:
            identifier, values = vertex["id"], vertex["properties"]
            yield StoredVertex(
                identifier,
                vertex["label"],
                {name: value for name, value in vertex_values(values).items() if name != FIRST_SEEN},
                dag_name in values.get("dag_name", ()),
                tuple(sorted(others[identifier])),
                identifier in built,
            )


def _edges_by_id(execute: GremlinExecutor, ids: Iterable[str]) -> Iterator[StoredEdge]:
    for edges in execute.reads(edges_by_id, ids):
        yield from _edges(edges)


def _edges(elements: list[dict[str, Any]]) -> Iterable[StoredEdge]:
    """Return each edge once; if it is stored with both ids, the interim one."""
    edges: dict[str, StoredEdge] = {}
    for element in elements:
        edge = _read_edge(element)
        if edge.interim or edge.id not in edges:
            edges[edge.id] = edge
    return edges.values()


def _read_tagged_of_label(endpoint: Endpoint, environment: str, dag_name: str, label: str) -> list[str]:
    with open_executor(endpoint) as execute:
        query = partial(select_tagged_ids, environment=environment, dag_name=dag_name, label=label)
        return [*dict.fromkeys(execute(query))]


def _rows(dag_name: str, execute: GremlinExecutor, ids: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of vertices and of the DAG's edges that start at them."""
    vertices = list(ids)
    yield from _node_rows(dag_name, execute, vertices)
    for edges in execute.reads(partial(edges_from, dag_name=dag_name), vertices):
        yield from _edge_rows(edges)


def _edge_rows(edges: Iterable[dict[str, Any]]) -> Iterator[Row]:
    for identifier, edge in {edge["id"].removesuffix(INTERIM): edge for edge in edges}.items():
        keys = {"id": identifier, "label": edge["label"], "from": edge["from"], "to": edge["to"]}
        yield edge["properties"] | keys


def _edge_rows_by_id(dag_name: str, execute: GremlinExecutor, ids: Iterable[str]) -> Iterator[Row]:
    for edges in execute.reads(edges_by_id, ids):
        yield from _edge_rows(edge for edge in edges if edge["properties"].get("dag_name") == dag_name)


def _node_rows(dag_name: str, execute: GremlinExecutor, ids: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of those vertices that have the DAG's tag."""
    for vertex in chain.from_iterable(execute.reads(vertices_at, ids)):
        is_tagged = dag_name in vertex["properties"].get("dag_name", ())
        if is_tagged and vertex["label"] not in LOADER_LABELS:
            keys = {"id": vertex["id"], "label": one_label(vertex["label"]), "dag_name": dag_name}
            yield keys | vertex_values(vertex["properties"])


def _read_edge(edge: dict[str, Any]) -> StoredEdge:
    identifier = edge["id"].removesuffix(INTERIM)
    properties = {name: value for name, value in edge["properties"].items() if name not in _NOT_COMPARED}
    return StoredEdge(
        identifier, edge["label"], edge["from"], edge["to"], properties, edge["id"] != identifier
    )


def missing_edge(element: Mapping[str, Any]) -> EdgeUpsert:
    """Return an upsert that creates a result of `project_edges`, with its final id, if it is missing."""
    final_id = element["id"].removesuffix(INTERIM)
    values = tuple(upserts.convert_types(element["properties"]).items())
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
        return VertexUpsert(identifier, label, tuple(upserts.convert_types(singles).items()), tuple(members))


def edges_at(g: GraphTraversalSource, vertex: str) -> GraphTraversal:
    """Return the edges of a vertex, in and out."""
    return project_edges(g.V(vertex).both_e())


def take_snapshot(execute: GremlinExecutor, vertex: str) -> VertexSnapshot | None:
    """Read a vertex with its edges; None if it is missing."""
    vertices = execute(lambda g: vertices_at(g, [vertex]))
    if not vertices:
        return None
    edge_ends = execute(lambda g: edges_at(g, vertex))
    edges = {end["id"]: missing_edge(end) for end in edge_ends}
    return VertexSnapshot(
        vertex, vertices[0]["label"], vertices[0]["properties"], tuple(edges.values()), len(edge_ends)
    )
