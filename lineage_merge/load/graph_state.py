"""Reads what the graph holds of one environment and DAG, a partition of ids at a time.

Which vertices: those of a merge, by id (one that another DAG wrote has no tag of ours yet), and
those that carry the DAG's tag. Which edges: those of the DAG. An edge of a DAG always starts at
a vertex that carries its tag, so the edges are found at their starts, in parallel.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P, T

from lineage_merge.graph_format.labels import labels_of, one_label
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import INTERIM, project_edges, vertices_by_id
from lineage_merge.load.gremlin.executor import GremlinExecutor, by_request, open_executor
from lineage_merge.load.property_values import edge_held, vertex_held

Found = TypeVar("Found")

# Ids in one answer.
_PAGE = 10_000


class StoredVertex(NamedTuple):
    """A vertex of the graph.

    `label`: of one with several ``A::B``, see `graph_format.labels`. `held`: its values
    (`load.property_values`). `tagged` by the DAG, and by `others`; `built_elsewhere`: a job of another DAG
    writes it, or the dataset whose column it is.
    """

    id: str
    label: str
    held: Row
    tagged: bool
    others: tuple[str, ...]
    built_elsewhere: bool

    @property
    def shared(self) -> bool:
        """Whether another DAG has a tag on it."""
        return bool(self.others)


class StoredEdge(NamedTuple):
    """An edge of the DAG; `interim`: its id has still to be corrected."""

    id: str
    label: str
    from_id: str
    to_id: str
    held: Row
    interim: bool


class AliasOf(NamedTuple):
    """An alias of a vertex: ``namespace|name (rule)``."""

    id: str
    label: str
    alias: str


@dataclass(frozen=True, slots=True)
class GraphState:
    """What the graph holds."""

    vertices: Rows[StoredVertex]
    edges: Rows[StoredEdge]


def read(ids: Rows[str], endpoint: Endpoint, environment: str, dag_name: str) -> GraphState:
    """Return the vertices of `ids` and of the DAG, and the DAG's edges.

    Raises GraphUnreachable and GraphRejected, from the engine's workers.
    """
    vertices = wanted(ids, endpoint, environment, dag_name)
    found = vertices.map_partitions(partial(_fetch, endpoint, dag_name)).cache()
    return GraphState(found.flat_map(_if_vertex), found.flat_map(_if_edge))


def read_some(vertices: Rows[str], edges: Rows[str], endpoint: Endpoint, dag_name: str) -> GraphState:
    """Return these vertices and these edges by their ids. Errors as in `read`."""
    parts = vertices.engine.parallelism
    found = (
        vertices.distinct().repartition(parts).map_partitions(partial(_fetch_vertices, endpoint, dag_name))
    )
    by_id = edges.distinct().repartition(parts).map_partitions(partial(_fetch_edges, endpoint))
    return GraphState(found.cache(), by_id.cache())


def wanted(ids: Rows[str], endpoint: Endpoint, environment: str, dag_name: str) -> Rows[str]:
    """Return each of the ids, and of the ids of all vertices of the DAG, once, in a partition per worker."""
    tagged = ids.engine.rows([endpoint]).flat_map(
        partial(_tagged, environment=environment, dag_name=dag_name)
    )
    return ids.union(tagged).distinct().repartition(ids.engine.parallelism)


def other_names(engine: Engine, endpoint: Endpoint, environment: str) -> Rows[AliasOf]:
    """Return every alias of an environment's vertices."""
    return engine.rows([endpoint]).flat_map(partial(_aliases, environment=environment))


def vertex_counts(g: GraphTraversalSource, environment: str, dag_name: str) -> GraphTraversal:
    """How many vertices of each label carry a DAG's tag."""
    return g.V().has("dag_name", dag_name).has("environment", environment).group_count().by(T.label)


def tagged_ids(g: GraphTraversalSource, environment: str, dag_name: str, label: str) -> GraphTraversal:
    """The ids of all vertices of a label that carry a DAG's tag."""
    vertices = g.V()
    for each in labels_of(label):
        vertices = vertices.has_label(each)
    return vertices.has("dag_name", dag_name).has("environment", environment).id_()


def built_by_others(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """The ids of those datasets and columns that a job of another DAG writes."""
    by_others = __.in_e("writes").has("dag_name", P.neq(dag_name))
    of_column = __.in_("has_column").in_e("writes").has("dag_name", P.neq(dag_name))
    return g.V(*ids).where(__.or_(by_others, of_column)).id_()


def edges_from(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """The edges of a DAG that start at these vertices."""
    return project_edges(g.V(*ids).out_e().has("dag_name", dag_name))


def edges_by_id(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """These edges, also under the ids that they have while a vertex is replaced."""
    return project_edges(g.E(*ids, *(each + INTERIM for each in ids)))


def alias_counts(g: GraphTraversalSource, environment: str) -> GraphTraversal:
    """How many vertices of each label of an environment have aliases."""
    return g.V().has("environment", environment).has("aliases").group_count().by(T.label)


def aliases_of(g: GraphTraversalSource, environment: str, label: str) -> GraphTraversal:
    """The vertices of a label of an environment that have aliases, with them."""
    vertices = g.V()
    for each in labels_of(label):
        vertices = vertices.has_label(each)
    of_environment = vertices.has("environment", environment).has("aliases")
    projected = of_environment.project("id", "label", "aliases").by(T.id).by(T.label)
    return projected.by(__.values("aliases").fold())


def _if_vertex(found: StoredVertex | StoredEdge) -> Iterable[StoredVertex]:
    return (found,) if isinstance(found, StoredVertex) else ()


def _if_edge(found: StoredVertex | StoredEdge) -> Iterable[StoredEdge]:
    return (found,) if isinstance(found, StoredEdge) else ()


def _tagged(endpoint: Endpoint, environment: str, dag_name: str) -> Iterator[str]:
    with open_executor(endpoint) as ask:
        counts = ask(partial(vertex_counts, environment=environment, dag_name=dag_name))[0]
        yield from _pages(ask, partial(tagged_ids, environment=environment, dag_name=dag_name), counts, _same)


def _pages(
    ask: GremlinExecutor,
    query: Callable[..., GraphTraversal],
    counts: Mapping[str, int],
    key: Callable[[Found], str],
) -> Iterator[Found]:
    """Yield what a query of one label (``query(g, label=...)``) finds, in bounded answers, each key once.

    `counts` says how much there is of each label.
    """
    for label, count in sorted(counts.items()):
        found: dict[str, Found] = {}
        for start in range(0, count, _PAGE):
            found.update((key(each), each) for each in ask(partial(_page, query, label, start)))
        if len(found) < count:
            # A graph gives pages in no order that it promises.
            found.update((key(each), each) for each in ask(partial(query, label=label)))
        yield from found.values()


def _same(identifier: str) -> str:
    return identifier


def _page(
    query: Callable[..., GraphTraversal], label: str, start: int, g: GraphTraversalSource
) -> GraphTraversal:
    return query(g, label=label).range_(start, start + _PAGE)


def _aliases(endpoint: Endpoint, environment: str) -> Iterator[AliasOf]:
    with open_executor(endpoint) as ask:
        counts = ask(partial(alias_counts, environment=environment))[0]
        query = partial(aliases_of, environment=environment)
        for found in _pages(ask, query, counts, itemgetter("id")):
            for alias in found["aliases"]:
                yield AliasOf(found["id"], one_label(found["label"]), alias)


def _fetch(
    endpoint: Endpoint, dag_name: str, wanted_ids: Iterable[str]
) -> Iterator[StoredVertex | StoredEdge]:
    with open_executor(endpoint) as ask:
        for ids in by_request(wanted_ids):
            yield from _vertices(ask, ids, dag_name)
            yield from _edges(ask(partial(edges_from, ids=ids, dag_name=dag_name)))


def _fetch_vertices(endpoint: Endpoint, dag_name: str, wanted_ids: Iterable[str]) -> Iterator[StoredVertex]:
    with open_executor(endpoint) as ask:
        for ids in by_request(wanted_ids):
            yield from _vertices(ask, ids, dag_name)


def _fetch_edges(endpoint: Endpoint, wanted_ids: Iterable[str]) -> Iterator[StoredEdge]:
    with open_executor(endpoint) as ask:
        for ids in by_request(wanted_ids):
            yield from _edges(ask(partial(edges_by_id, ids=ids)))


def _vertices(ask: GremlinExecutor, ids: list[str], dag_name: str) -> Iterator[StoredVertex]:
    found = ask(lambda g: vertices_by_id(g, ids))
    dags = {each["id"]: set(each["properties"].get("dag_name", ())) for each in found}
    shared = [identifier for identifier, names in dags.items() if names - {dag_name}]
    built = set(ask(lambda g: built_by_others(g, shared, dag_name))) if shared else set()
    for each in found:
        identifier = each["id"]
        held = vertex_held(each["properties"])
        others = tuple(sorted(dags[identifier] - {dag_name}))
        is_built = identifier in built
        yield StoredVertex(identifier, each["label"], held, dag_name in dags[identifier], others, is_built)


def _edges(found: list[dict[str, Any]]) -> Iterable[StoredEdge]:
    """Return each edge once: of one that the graph has under both of its ids, the interim one."""
    edges: dict[str, StoredEdge] = {}
    for each in found:
        edge = _stored_edge(each)
        if edge.interim or edge.id not in edges:
            edges[edge.id] = edge
    return edges.values()


def _stored_edge(edge: dict[str, Any]) -> StoredEdge:
    identifier = edge["id"].removesuffix(INTERIM)
    held = edge_held(edge["properties"])
    return StoredEdge(identifier, edge["label"], edge["from"], edge["to"], held, edge["id"] != identifier)


def dataset_of(identifier: str, is_column: bool) -> str:
    """Return the dataset that an id belongs to: itself, or of a column the dataset that has it."""
    dataset, separator, _ = identifier.rpartition("|")
    return dataset if is_column and separator else identifier


def end_is_column(label: str, end: str) -> bool:
    """Whether an edge of this label has a column at its `end` (``from`` or ``to``)."""
    if end == "from":
        return label in ("feeds_column", "influences")
    return label in ("feeds_column", "has_column")


def dataset_of_end(edge: Row, end: str) -> str:
    """Return the dataset at an end of an edge row, or whose column is there."""
    return dataset_of(edge.get(end) or "", end_is_column(edge.get("label") or "", end))
