"""Selection of the part of the graph that a page shows: all, or upstream and downstream of one dataset."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeVar

from lineage_merge.graph_format.elements import COLUMN, LABELS_WITH_TESTS, Edge, Subgraph, Vertex, subgraph
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.names import check_scope, resolve_dataset_or_column
from lineage_merge.questions.traversal.lineage import lineage
from lineage_merge.questions.traversal.lineage_changes import Limit

Element = TypeVar("Element", Vertex, Vertex | Edge)

# A page of 20,000 datasets with eight columns each has 13 MB, and a browser opens it in two seconds.
MAX_DATASETS = 20_000
_FIX = "write a folder (--out lineage/), or select with --focus, --depth, --dag or --environment"


def entire_graph(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Subgraph:
    """Return everything of an environment and DAG.

    Raises `NotFound` for an unknown environment or DAG, `ConfigError` if it exceeds the maximum of a page.
    """
    vertices: list[Vertex] = []
    edges: list[Edge] = []
    for element in limit_datasets(graph.everything(environment, dag, LABELS_WITH_TESTS)):
        if isinstance(element, Vertex):
            vertices.append(element)
        else:
            edges.append(element)
    if not vertices:
        check_scope(graph, environment, dag)
    return subgraph(vertices, edges)


def neighborhood(
    graph: LineageGraph,
    name: str,
    depth: int | None = None,
    environment: str | None = None,
    dag: str | None = None,
) -> tuple[Vertex, Subgraph]:
    """Return the dataset of this name (or of this column), and upstream, downstream, jobs and tests.

    `depth`: maximum hops. Raises `NotFound`, `Ambiguous`, and `ConfigError` as `entire_graph`.
    """
    start = resolve_dataset_or_column(graph, name, environment, dag)
    if start.label == COLUMN:
        start = graph.vertices([dataset_of(start.id)])[0]
    sides = [
        lineage(graph, start, side, depth=depth, dag=dag, columns=True, influences=True)
        for side in ("up", "down")
    ]
    vertices = {vertex.id: vertex for side in sides for vertex in side.vertices.values()}
    edges = [edge for side in sides for edge in side.edges]
    datasets = [vertex.id for vertex in limit_datasets(vertices.values()) if vertex.is_dataset]
    written = graph.edges_to(datasets, ["writes"], dag)
    checks = graph.edges_to(vertices, ["checks"], dag)
    tests = graph.vertices({check.from_id for check in checks})
    compared = graph.edges_from([vertex.id for vertex in tests], ["references"], dag)
    jobs = graph.vertices({edge.from_id for edge in written})
    return start, subgraph([*vertices.values(), *jobs, *tests], chain(edges, written, checks, compared))


def select_within(graph: Subgraph, limit: Limit) -> Subgraph:
    """Return the datasets of a limit, their columns, tests, and the jobs that write them."""
    writers = {
        edge.from_id for edge in graph.edges if edge.label == "writes" and limit.has_dataset(edge.to_id)
    }
    inside = {
        vertex.id
        for vertex in graph.vertices.values()
        if vertex.id in writers
        or (vertex.is_dataset and limit.has_dataset(vertex.id))
        or (vertex.label == COLUMN and limit.has_column(vertex.id))
    }
    tests = {edge.from_id for edge in graph.edges if edge.label == "checks" and edge.to_id in inside}
    return subgraph((graph.vertices[identifier] for identifier in inside | tests), graph.edges)


def limit_datasets(elements: Iterable[Element], fix: str = _FIX) -> Iterator[Element]:
    """Yield elements. Raises `ConfigError` if they have more datasets than the maximum of a page."""
    datasets = 0
    for element in elements:
        datasets += isinstance(element, Vertex) and element.is_dataset
        if datasets > MAX_DATASETS:
            raise ConfigError("", f"more than {MAX_DATASETS:,} datasets for one page: {fix}")
        yield element
