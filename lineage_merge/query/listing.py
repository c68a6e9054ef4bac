"""Which datasets and jobs there are, what nobody reads, and what nothing feeds."""

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
    """The datasets whose names hold a text; with `columns` also their columns."""
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
    """The jobs whose names hold a text."""
    return subgraph(graph.search(search, [JOB], environment, dag, limit))


def unused(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Subgraph:
    """Datasets that a job writes (of `dag`) and nobody reads, of whichever DAG.

    One that only its own job reads again is unused too; one that an exposure uses is not.
    """
    return subgraph(graph.vertices(sorted(graph.unread(environment, dag))))


def unfed(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Subgraph:
    """Datasets that a job reads (of `dag`) and that no job writes and nothing feeds, of whichever DAG."""
    return subgraph(graph.vertices(sorted(graph.unfed(environment, dag))))
