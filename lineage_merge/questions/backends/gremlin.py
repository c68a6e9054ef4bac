"""A graph behind a Gremlin endpoint: Gremlin Server or Neptune.

The number of requests of a query depends on the size of its result, not on the depth: the server traverses
(`repeat`) and returns ids, and the elements are fetched in batches. So requests are short and responses
small. All traversals conform to Neptune's grammar: no lambdas, scripts or variables.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P, TextP

from lineage_merge.graph_format.elements import (
    ALL_VERTEX_LABELS,
    EDGE_LABELS,
    VERTEX_LABELS,
    Edge,
    Vertex,
    normalize_properties,
    vertex_properties,
)
from lineage_merge.graph_format.schema import DATASET_LABELS, one_label
from lineage_merge.infra.batches import batched
from lineage_merge.infra.traversal_source import project_edges, project_vertices, vertices_at
from lineage_merge.questions.backends.indexed_graph import NAMES, SEARCHED
from lineage_merge.questions.graph import Direction, case_variants

if TYPE_CHECKING:
    from lineage_merge.load.gremlin.connection import Endpoint

# An id has about a hundred bytes: a request stays far below the server's limit of 10 MiB.
IDS_A_REQUEST = 5_000

_FIELDS = "has_column"

Execute = Callable[[Callable[[GraphTraversalSource], GraphTraversal]], list[Any]]


@contextmanager
def open_gremlin(endpoint: "Endpoint") -> Iterator["GremlinGraph"]:
    """Open the graph at an endpoint; broken connections are reopened. Raises `GraphError`."""
    from lineage_merge.load.gremlin.executor import open_executor

    with open_executor(endpoint) as execute:
        yield GremlinGraph(execute)


class GremlinGraph:
    """A `LineageGraph` on a server. `execute` sends one traversal and returns its results."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def environments(self) -> list[str]:
        """See `LineageGraph`."""
        return sorted(self._execute(environments))

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        """See `LineageGraph`."""
        return [
            _vertex(row)
            for batch in _batches(ids)
            for row in self._execute(lambda g: vertices_at(g, batch))  # noqa: B023
        ]

    def find_named(
        self, text: str, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        return [
            _vertex(row) for row in self._execute(lambda g: find_named(g, text, labels, environment, dag))
        ]

    def search(
        self,
        text: str,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        limit: int | None = None,
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        ids = sorted(self._execute(lambda g: search_names(g, text, labels, environment, dag)))
        return sorted(self.vertices(ids[:limit]), key=lambda vertex: vertex.id)

    def with_value(
        self,
        key: str,
        values: Sequence[str],
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """See `LineageGraph`."""
        return set(self._execute(lambda g: with_value(g, key, values, labels, environment, dag)))

    def edges_from(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        return self._edges(ids, labels, "down", dag)

    def edges_to(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        return self._edges(ids, labels, "up", dag)

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """See `LineageGraph`."""
        if depth == 0:
            return set()
        return {
            identifier
            for batch in _batches(ids)
            for identifier in self._execute(lambda g: reach(g, batch, labels, direction, depth, dag))  # noqa: B023
        }

    def edges_below(
        self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None, ends: Sequence[str] = ()
    ) -> list[Edge]:
        """See `LineageGraph`."""
        by_id = {
            row["id"]: row
            for batch in _batches(ids)
            for row in self._execute(lambda g: edges_below(g, batch, labels, dag, ends))  # noqa: B023
        }
        return [_edge(row) for row in by_id.values()]

    def find_tagged(
        self,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        return [
            _vertex(row) for row in self._execute(lambda g: find_tagged(g, labels, environment, dag, tags))
        ]

    def feeds_without_columns(self, ids: Iterable[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        return [
            _edge(row)
            for batch in _batches(ids)
            for row in self._execute(lambda g: feeds_without_columns(g, batch, dag))  # noqa: B023
        ]

    def ids(self, labels: Sequence[str], environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        return {
            identifier
            for label in labels  # one response per label, because there are many columns
            for identifier in self._execute(lambda g: select_vertices(g, [label], environment, dag).id_())  # noqa: B023
        }

    def pairs(
        self, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> set[tuple[str, str]]:
        """See `LineageGraph`."""
        return {
            (pair["from"], pair["to"])
            for batch in _batches(sorted(self.ids(_starts(labels), environment, dag)))
            for pair in self._execute(lambda g: pairs_from(g, batch, labels, dag))  # noqa: B023
        }

    def find_without_consumer(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        return set(self._execute(lambda g: select_without_consumer(g, environment, dag)))

    def find_without_producer(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        return set(self._execute(lambda g: select_without_producer(g, environment, dag)))

    def everything(
        self, environment: str | None = None, dag: str | None = None, labels: Sequence[str] | None = None
    ) -> Iterator[Vertex | Edge]:
        """See `LineageGraph`."""
        wanted = (*VERTEX_LABELS, *EDGE_LABELS) if labels is None else labels
        for batch in _batches(
            sorted(self.ids([label for label in wanted if label in ALL_VERTEX_LABELS], environment, dag))
        ):
            yield from self.vertices(batch)
        edges = [label for label in wanted if label not in ALL_VERTEX_LABELS]
        for batch in _batches(sorted(self.ids(_starts(edges), environment, dag))):
            yield from self.edges_from(batch, edges, dag)

    def _edges(
        self, ids: Iterable[str], labels: Sequence[str], direction: Direction, dag: str | None
    ) -> list[Edge]:
        return [
            _edge(row)
            for batch in _batches(ids)
            for row in self._execute(lambda g: edges_at(g, batch, labels, direction, dag))  # noqa: B023
        ]


def environments(g: GraphTraversalSource) -> GraphTraversal:
    """Return the environments of jobs and merge runs, which are few."""
    return g.V().has_label("job", "merge_run").values("environment").dedup()


def find_named(
    g: GraphTraversalSource, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> GraphTraversal:
    """Return the vertices with this short or full name, or this id."""
    names = [__.has(key, text) for key in NAMES]
    return project_vertices(select_vertices(g, labels, environment, dag).or_(__.has_id(text), *names))


def search_names(
    g: GraphTraversalSource, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> GraphTraversal:
    """Return the ids of vertices whose names contain a text."""
    all_of_them = select_vertices(g, labels, environment, dag)
    if not text:
        return all_of_them.id_()
    holding = [__.has(key, TextP.containing(variant)) for key in SEARCHED for variant in case_variants(text)]
    return all_of_them.or_(*holding).id_()


def with_value(
    g: GraphTraversalSource,
    key: str,
    values: Sequence[str],
    labels: Sequence[str],
    environment: str | None,
    dag: str | None,
) -> GraphTraversal:
    """Return the ids of vertices with one of these values of a property."""
    return select_vertices(g, labels, environment, dag).has(key, P.within(list(values))).id_()


def edges_at(
    g: GraphTraversalSource, ids: Sequence[str], labels: Sequence[str], direction: Direction, dag: str | None
) -> GraphTraversal:
    """Return outgoing (`down`) or incoming (`up`) edges of vertices, with all properties."""
    at = g.V(*ids)
    return project_edges(_filter_dag(at.out_e(*labels) if direction == "down" else at.in_e(*labels), dag))


def edges_below(
    g: GraphTraversalSource,
    ids: Sequence[str],
    labels: Sequence[str],
    dag: str | None,
    ends: Sequence[str] = (),
) -> GraphTraversal:
    """Return the outgoing edges of these vertices and of all that are reachable, with all properties."""
    walk = g.V(*ids).emit().repeat(_hop(__, labels, "down", dag).dedup().barrier())
    return project_edges(_filter_dag(walk.dedup().out_e(*labels, *ends), dag))


def find_tagged(
    g: GraphTraversalSource,
    labels: Sequence[str],
    environment: str | None,
    dag: str | None,
    tags: Sequence[str] | None,
) -> GraphTraversal:
    """Return the vertices with one of these tags (None: any), with all properties."""
    values = () if tags is None else (P.within(list(tags)),)
    return project_vertices(select_vertices(g, labels, environment, dag).has("tags", *values))


def feeds_without_columns(g: GraphTraversalSource, ids: Sequence[str], dag: str | None) -> GraphTraversal:
    """Return the outgoing feeds whose job has no known column lineage into the target."""
    into = __.in_v().union(
        _filter_dag(__.in_e("influences"), dag),
        _filter_dag(__.repeat(__.out("has_column")).emit().in_e("feeds_column"), dag),
    )
    known = into.where(P.eq("feed")).by("job_name")
    feeds = _filter_dag(g.V(*ids).out_e("feeds"), dag).as_("feed")
    return project_edges(feeds.or_(__.has("column_lineage", "unavailable"), __.not_(known)))


def pairs_from(
    g: GraphTraversalSource, ids: Sequence[str], labels: Sequence[str], dag: str | None
) -> GraphTraversal:
    """Return the ends of the outgoing edges of these vertices.

    Not with `path()`: its responses contain a set of labels per step and take twice as long to read.
    """
    edges = _filter_dag(g.V(*ids).out_e(*labels), dag)
    return edges.project("from", "to").by(__.out_v().id_()).by(__.in_v().id_())


def reach(
    g: GraphTraversalSource,
    ids: Sequence[str],
    labels: Sequence[str],
    direction: Direction,
    depth: int | None,
    dag: str | None,
) -> GraphTraversal:
    """Return the reachable ids; each vertex is traversed once, which ends cycles.

    The barrier enforces level order in all engines: a vertex that is first reached over a long path would be
    too deep for its successors within the maximum depth.
    """
    walk = g.V(*ids).repeat(_hop(__, labels, direction, dag).dedup().barrier()).emit()
    return (walk if depth is None else walk.times(depth)).id_()


def select_without_consumer(
    g: GraphTraversalSource, environment: str | None, dag: str | None
) -> GraphTraversal:
    """Return the ids of written datasets that feed no other dataset."""
    written = select_vertices(g, DATASET_LABELS, environment, None).where(_filter_dag(__.in_e("writes"), dag))
    return written.as_("dataset").not_(__.out("feeds").where(P.neq("dataset"))).id_()


def select_without_producer(
    g: GraphTraversalSource, environment: str | None, dag: str | None
) -> GraphTraversal:
    """Return the ids of datasets that are read, but neither fed nor written."""
    read = select_vertices(g, DATASET_LABELS, environment, None).where(_filter_dag(__.out_e("feeds"), dag))
    return read.not_(__.in_e("feeds", "writes")).id_()


def select_vertices(
    g: GraphTraversalSource, labels: Sequence[str], environment: str | None, dag: str | None
) -> GraphTraversal:
    """Return the vertices with these labels, of an environment, and with a DAG's tag."""
    elements = g.V().has_label(*labels)
    if environment is not None:
        elements = elements.has("environment", environment)
    return _filter_dag(elements, dag)


def _hop(at: Any, labels: Sequence[str], direction: Direction, dag: str | None) -> GraphTraversal:
    """Step from vertices to their neighbours, and from columns to their fields."""
    if direction == "up" and _FIELDS in labels:
        others = [label for label in labels if label != _FIELDS]
        return at.union(_hop(__, others, "up", dag), _hop(__, [_FIELDS], "down", dag))
    if dag is None:
        return at.out(*labels) if direction == "down" else at.in_(*labels)
    if direction == "down":
        return _filter_dag(at.out_e(*labels), dag).in_v()
    return _filter_dag(at.in_e(*labels), dag).out_v()


def _filter_dag(elements: GraphTraversal, dag: str | None) -> GraphTraversal:
    return elements if dag is None else elements.has("dag_name", dag)


def _starts(edge_labels: Sequence[str]) -> list[str]:
    """Return the labels of the vertices where these edges begin."""
    starts: list[str] = []
    for edge, labels in _STARTS.items():
        if edge in edge_labels:
            starts += [label for label in labels if label not in starts]
    return starts


_STARTS = {
    "feeds": DATASET_LABELS,
    "has_column": (*DATASET_LABELS, "column"),
    "feeds_column": ("column",),
    "influences": ("column",),
    "writes": ("job",),
    "follows": ("operation",),
    "checks": ("assertion",),
    "references": ("assertion",),
}


def _vertex(row: dict[str, Any]) -> Vertex:
    return Vertex(row["id"], one_label(row["label"]), vertex_properties(row["properties"]))


def _edge(row: dict[str, Any]) -> Edge:
    return Edge(row["id"], row["label"], row["from"], row["to"], normalize_properties(row["properties"]))


def _batches(ids: Iterable[str]) -> Iterator[list[str]]:
    return batched(dict.fromkeys(ids), IDS_A_REQUEST)
