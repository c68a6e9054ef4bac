"""A graph behind a Gremlin endpoint: a Gremlin Server, or Neptune.

A question costs a number of requests that depends on how much it finds, never on how deep that
lies: the server walks (`repeat`) and tells ids alone, and what stands at those ids is fetched in
batches. So no request takes the server long, and no answer has to come in one piece. What is asked
passes the grammar that Neptune uses: no lambdas, no scripts, no variables.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P, T, TextP

from lineage_merge.graph_format.labels import one_label
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.query.backends.in_memory import NAMES, SEARCHED
from lineage_merge.query.case_variants import spellings
from lineage_merge.query.elements import (
    ALL_VERTEX_LABELS,
    EDGE_LABELS,
    VERTEX_LABELS,
    Edge,
    Vertex,
    held_properties,
    of_vertex,
)
from lineage_merge.query.graph import Direction

if TYPE_CHECKING:
    from lineage_merge.load.gremlin.connection import Endpoint

# Of a dataset's id there are some hundred bytes: a request stays far below a server's 10 MiB.
IDS_A_REQUEST = 2_000

Ask = Callable[[Callable[[GraphTraversalSource], GraphTraversal]], list[Any]]


@contextmanager
def asked_at(endpoint: "Endpoint") -> Iterator["OnGremlin"]:
    """The graph at an endpoint; a connection that breaks is made anew. Raises `GraphError`."""
    from lineage_merge.load.gremlin.executor import open_executor

    with open_executor(endpoint) as ask:
        yield OnGremlin(ask)


class OnGremlin:
    """A `LineageGraph` that asks a server. `ask` sends one traversal and gives its results."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def environments(self) -> list[str]:
        """As `LineageGraph` says."""
        return sorted(self._ask(environments))

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        """As `LineageGraph` says."""
        return [_vertex(row) for some in _batches(ids) for row in self._ask(lambda g: vertices_at(g, some))]  # noqa: B023

    def named(
        self, text: str, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> list[Vertex]:
        """As `LineageGraph` says."""
        return [_vertex(row) for row in self._ask(lambda g: named(g, text, labels, environment, dag))]

    def search(
        self,
        text: str,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        limit: int | None = None,
    ) -> list[Vertex]:
        """As `LineageGraph` says."""
        found = sorted(self._ask(lambda g: searched(g, text, labels, environment, dag)))
        return sorted(self.vertices(found[:limit]), key=lambda each: each.id)

    def edges_from(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """As `LineageGraph` says."""
        return self._edges(ids, labels, "down", dag)

    def edges_to(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """As `LineageGraph` says."""
        return self._edges(ids, labels, "up", dag)

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """As `LineageGraph` says."""
        if depth == 0:
            return set()
        return {
            found
            for some in _batches(ids)
            for found in self._ask(lambda g: reached(g, some, labels, direction, depth, dag))  # noqa: B023
        }

    def ids(self, labels: Sequence[str], environment: str | None = None, dag: str | None = None) -> set[str]:
        """As `LineageGraph` says."""
        return {
            each
            for label in labels  # columns are many: what has one label is told in one answer
            for each in self._ask(lambda g: of_graph(g, [label], environment, dag).id_())  # noqa: B023
        }

    def pairs(
        self, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> set[tuple[str, str]]:
        """As `LineageGraph` says."""
        return {
            (found["from"], found["to"])
            for some in _batches(sorted(self.ids(_starts(labels), environment, dag)))
            for found in self._ask(lambda g: pairs_from(g, some, labels, dag))  # noqa: B023
        }

    def unread(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """As `LineageGraph` says."""
        return set(self._ask(lambda g: unread(g, environment, dag)))

    def unfed(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """As `LineageGraph` says."""
        return set(self._ask(lambda g: unfed(g, environment, dag)))

    def everything(
        self, environment: str | None = None, dag: str | None = None, labels: Sequence[str] | None = None
    ) -> Iterator[Vertex | Edge]:
        """As `LineageGraph` says."""
        wanted = (*VERTEX_LABELS, *EDGE_LABELS) if labels is None else labels
        for some in _batches(
            sorted(self.ids([each for each in wanted if each in ALL_VERTEX_LABELS], environment, dag))
        ):
            yield from self.vertices(some)
        edges = [each for each in wanted if each not in ALL_VERTEX_LABELS]
        for some in _batches(sorted(self.ids(_starts(edges), environment, dag))):
            yield from self.edges_from(some, edges, dag)

    def _edges(
        self, ids: Iterable[str], labels: Sequence[str], direction: Direction, dag: str | None
    ) -> list[Edge]:
        return [
            _edge(row)
            for some in _batches(ids)
            for row in self._ask(lambda g: edges_at(g, some, labels, direction, dag))  # noqa: B023
        ]


def environments(g: GraphTraversalSource) -> GraphTraversal:
    """The environments of jobs and merges, which are few."""
    return g.V().has_label("job", "merge_run").values("environment").dedup()


def vertices_at(g: GraphTraversalSource, ids: Sequence[str]) -> GraphTraversal:
    """Vertices with all they hold."""
    return _projected(g.V(*ids))


def named(
    g: GraphTraversalSource, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> GraphTraversal:
    """The vertices that have this name, whole or short, or this id."""
    names = [__.has(key, text) for key in NAMES]
    return _projected(of_graph(g, labels, environment, dag).or_(__.has_id(text), *names))


def searched(
    g: GraphTraversalSource, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> GraphTraversal:
    """The ids of the vertices whose names hold a text."""
    all_of_them = of_graph(g, labels, environment, dag)
    if not text:
        return all_of_them.id_()
    holding = [__.has(key, TextP.containing(each)) for key in SEARCHED for each in spellings(text)]
    return all_of_them.or_(*holding).id_()


def edges_at(
    g: GraphTraversalSource, ids: Sequence[str], labels: Sequence[str], direction: Direction, dag: str | None
) -> GraphTraversal:
    """Edges with all they hold, at the vertices where they begin (`down`) or end (`up`)."""
    at = g.V(*ids)
    edges = _of_dag(at.out_e(*labels) if direction == "down" else at.in_e(*labels), dag)
    return (
        edges.project("id", "label", "from", "to", "properties")
        .by(T.id)
        .by(T.label)
        .by(__.out_v().id_())
        .by(__.in_v().id_())
        .by(__.value_map())
    )


def pairs_from(
    g: GraphTraversalSource, ids: Sequence[str], labels: Sequence[str], dag: str | None
) -> GraphTraversal:
    """The ends of the edges that begin at these vertices.

    Not `path()`, whose answers hold a set of labels for each step: twice the time to read them.
    """
    edges = _of_dag(g.V(*ids).out_e(*labels), dag)
    return edges.project("from", "to").by(__.out_v().id_()).by(__.in_v().id_())


def reached(
    g: GraphTraversalSource,
    ids: Sequence[str],
    labels: Sequence[str],
    direction: Direction,
    depth: int | None,
    dag: str | None,
) -> GraphTraversal:
    """The ids that edges lead to, each vertex walked through once: a cycle ends the walk.

    The barrier makes it one level after another in whichever engine: met first by a long way, a vertex
    would be passed too late for what lies behind it within the depth.
    """
    walk = g.V(*ids).repeat(_hop(__, labels, direction, dag).dedup().barrier()).emit()
    return (walk if depth is None else walk.times(depth)).id_()


def unread(g: GraphTraversalSource, environment: str | None, dag: str | None) -> GraphTraversal:
    """The ids of datasets that are written, and that nothing but themselves is fed by."""
    written = of_graph(g, DATASET_LABELS, environment, None).where(_of_dag(__.in_e("writes"), dag))
    return written.as_("dataset").not_(__.out("feeds").where(P.neq("dataset"))).id_()


def unfed(g: GraphTraversalSource, environment: str | None, dag: str | None) -> GraphTraversal:
    """The ids of datasets that are read, and that nothing feeds or writes."""
    read = of_graph(g, DATASET_LABELS, environment, None).where(_of_dag(__.out_e("feeds"), dag))
    return read.not_(__.in_e("feeds", "writes")).id_()


def of_graph(
    g: GraphTraversalSource, labels: Sequence[str], environment: str | None, dag: str | None
) -> GraphTraversal:
    """The vertices with these labels, of an environment, and with a DAG's tag."""
    found = g.V().has_label(*labels)
    if environment is not None:
        found = found.has("environment", environment)
    return _of_dag(found, dag)


def _hop(at: Any, labels: Sequence[str], direction: Direction, dag: str | None) -> GraphTraversal:
    """From vertices to those next to them."""
    if dag is None:
        return at.out(*labels) if direction == "down" else at.in_(*labels)
    if direction == "down":
        return _of_dag(at.out_e(*labels), dag).in_v()
    return _of_dag(at.in_e(*labels), dag).out_v()


def _of_dag(elements: GraphTraversal, dag: str | None) -> GraphTraversal:
    return elements if dag is None else elements.has("dag_name", dag)


def _projected(vertices: GraphTraversal) -> GraphTraversal:
    return vertices.project("id", "label", "properties").by(T.id).by(T.label).by(__.value_map())


def _starts(edge_labels: Sequence[str]) -> list[str]:
    """The labels of the vertices where edges begin."""
    starts: list[str] = []
    for edge, labels in _STARTS.items():
        if edge in edge_labels:
            starts += [each for each in labels if each not in starts]
    return starts


_STARTS = {
    "feeds": DATASET_LABELS,
    "has_column": DATASET_LABELS,
    "feeds_column": ("column",),
    "influences": ("column",),
    "writes": ("job",),
    "follows": ("operation",),
}


def _vertex(row: dict[str, Any]) -> Vertex:
    return Vertex(row["id"], one_label(row["label"]), of_vertex(row["properties"]))


def _edge(row: dict[str, Any]) -> Edge:
    return Edge(row["id"], row["label"], row["from"], row["to"], held_properties(row["properties"]))


def _batches(ids: Iterable[str]) -> Iterator[list[str]]:
    left = iter(dict.fromkeys(ids))
    while some := list(islice(left, IDS_A_REQUEST)):
        yield some
