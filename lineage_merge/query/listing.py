"""Lists of datasets and jobs, and of datasets without consumer or producer."""

from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.query.elements import JOB, Subgraph, subgraph
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.lineage import completed


def datasets(
    graph: LineageGraph,
    search: str = "",
    environment: str | None = None,
    dag: str | None = None,
    *,
    limit: int | None = None,
    columns: bool = False,
) -> Subgraph:
    """Return datasets whose names contain a text; with `columns` also their columns."""
    found = graph.search(search, DATASET_LABELS, environment, dag, limit)
    return completed(graph, (each.id for each in found), (), dag, columns=columns)


def jobs(
    graph: LineageGraph,
    search: str = "",
    environment: str | None = None,
    dag: str | None = None,
    *,
    limit: int | None = None,
) -> Subgraph:
    """Return jobs whose names contain a text."""
    return subgraph(graph.search(search, [JOB], environment, dag, limit))


def no_consumer(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Subgraph:
    """Return datasets that a job (of `dag`) writes and no job of any DAG reads.

    Exposures count as readers; a job that only reads its own output does not.
    """
    return subgraph(graph.vertices(sorted(graph.without_consumer(environment, dag))))


def no_producer(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Subgraph:
    """Return datasets that a job (of `dag`) reads and that no job of any DAG writes or feeds."""
    return subgraph(graph.vertices(sorted(graph.without_producer(environment, dag))))
