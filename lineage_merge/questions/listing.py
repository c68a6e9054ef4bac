"""Lists of jobs, and of datasets without consumer or producer."""

from typing import Literal

from lineage_merge.graph_format.elements import JOB, Subgraph, subgraph
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.last_updates import FAILED

JobOrder = Literal["name", "last-run", "duration", "rows"]
_NUMBERS = {"last-run": "last_run_at", "duration": "duration_ms", "rows": "rows_written"}


def jobs(
    graph: LineageGraph,
    search: str = "",
    environment: str | None = None,
    dag: str | None = None,
    *,
    since: int | None = None,
    failed: bool = False,
    order: JobOrder | None = None,
    limit: int | None = None,
) -> Subgraph:
    """Return jobs whose names contain a text, in order; None: by id.

    `since`: only those whose newest run ended then (ms since 1970) or later. `failed`: only those whose
    newest run failed. Numbers and times are in descending order, jobs without one are last.
    """
    is_filtered = failed or since is not None or order is not None
    found = graph.search(search, [JOB], environment, dag, None if is_filtered else limit)
    if failed:
        found = [each for each in found if each.properties.get("status") == FAILED]
    if since is not None:
        found = [each for each in found if each.properties.get("last_run_at", since - 1) >= since]
    ordered = sorted(found, key=lambda each: each.id)
    if order == "name":
        ordered.sort(key=lambda each: each.name)
    elif order is not None:
        number = _NUMBERS[order]
        ordered.sort(key=lambda each: -each.properties.get(number, -1))
    return Subgraph({each.id: each for each in ordered[:limit]})


def no_consumer(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Subgraph:
    """Return datasets that a job (of `dag`) writes and no job of any DAG reads.

    Exposures count as readers; a job that only reads its own output does not.
    """
    return subgraph(graph.vertices(sorted(graph.without_consumer(environment, dag))))


def no_producer(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Subgraph:
    """Return datasets that a job (of `dag`) reads and that no job of any DAG writes or feeds."""
    return subgraph(graph.vertices(sorted(graph.without_producer(environment, dag))))
