"""Impact of a change of a dataset, a column or a job."""

from collections.abc import Iterable
from dataclasses import dataclass

from lineage_merge.model.elements import JobKey, job_id
from lineage_merge.query.elements import COLUMN, JOB, Edge, Subgraph, Vertex, dataset_of, subgraph
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.lineage import completed, ends


@dataclass(frozen=True, slots=True)
class Impact:
    """Affected elements downstream, by id, without the changed element.

    `indirectly_affected`: for a column, the datasets whose rows it determines without feeding their columns.
    `subgraph`: the edges to the affected datasets, or for a column to columns and influenced datasets.
    """

    subgraph: Subgraph
    datasets: tuple[Vertex, ...] = ()
    indirectly_affected: tuple[Vertex, ...] = ()
    columns: tuple[Vertex, ...] = ()
    jobs: tuple[Vertex, ...] = ()
    exposures: tuple[Vertex, ...] = ()
    dags: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of affected elements by kind."""
        return {
            "datasets": len(self.datasets),
            "indirectly_affected": len(self.indirectly_affected),
            "columns": len(self.columns),
            "jobs": len(self.jobs),
            "dags": len(self.dags),
            "exposures": len(self.exposures),
        }


def impact(
    graph: LineageGraph, changed: Vertex, *, depth: int | None = None, dag: str | None = None
) -> Impact:
    """Return everything that depends on a dataset, a column or a job, within `depth` hops (None: unlimited).

    For a job: the datasets that it writes and everything that depends on them. Exposures have no columns:
    they depend on a column if a dataset that they use does.
    """
    if changed.label == COLUMN:
        return _of_column(graph, changed, depth, dag)
    return _of_datasets(graph, changed, depth, dag)


def _of_datasets(graph: LineageGraph, changed: Vertex, depth: int | None, dag: str | None) -> Impact:
    written: list[Edge] = []
    starts = {changed.id}
    if changed.label == JOB:
        written = graph.edges_from([changed.id], ["writes"], dag)
        starts = {each.to_id for each in written}
    edges = _leaving(graph, starts, "feeds", depth, dag)
    found = completed(graph, {changed.id, *starts, *ends(edges)}, [*edges, *written], dag)
    of_starts = graph.edges_from(sorted(starts), ["has_column"])
    own = {each.to_id for each in of_starts}
    reached = graph.reach(sorted(own), ["feeds_column"], "down", depth, dag)
    columns = reached | own if changed.label == JOB else reached - own
    hit = [each for each in found.datasets if each.id != changed.id]
    return Impact(
        found,
        datasets=tuple(each for each in hit if each.label != "exposure"),
        columns=_in_order(graph.vertices(columns)),
        jobs=_jobs(graph, edges),
        exposures=tuple(each for each in hit if each.label == "exposure"),
        dags=_dags(edges),
    )


def _of_column(graph: LineageGraph, changed: Vertex, depth: int | None, dag: str | None) -> Impact:
    edges = _leaving(graph, {changed.id}, "feeds_column", depth, dag)
    columns = ends(edges) | {changed.id}
    influencing = graph.edges_from(sorted(columns), ["influences"], dag)
    own = dataset_of(changed.id)
    owners = {dataset_of(each) for each in columns}
    indirectly_affected = {each.to_id for each in influencing} - owners
    used = graph.edges_from(sorted(owners | indirectly_affected), ["feeds"], dag)
    targets = {each.id: each for each in graph.vertices({edge.to_id for edge in used})}
    using = [each for each in used if each.to_id in targets and targets[each.to_id].label == "exposure"]
    exposures = {each.to_id for each in using}
    found = {each.id: each for each in graph.vertices(owners | indirectly_affected | columns | exposures)}
    passed = [*edges, *influencing, *using]
    return Impact(
        subgraph((found[each] for each in columns | ends(passed) if each in found), passed),
        datasets=_in_order(found[each] for each in owners - {own} if each in found),
        indirectly_affected=_in_order(
            found[each] for each in indirectly_affected - exposures if each in found
        ),
        columns=_in_order(found[each] for each in columns - {changed.id} if each in found),
        jobs=_jobs(graph, passed),
        exposures=_in_order(found[each] for each in exposures),
        dags=_dags(passed),
    )


def _leaving(
    graph: LineageGraph, starts: set[str], label: str, depth: int | None, dag: str | None
) -> list[Edge]:
    inner = starts | graph.reach(
        sorted(starts), [label], "down", None if depth is None else max(depth - 1, 0), dag
    )
    return graph.edges_from(sorted(inner), [label], dag)


def _jobs(graph: LineageGraph, edges: Iterable[Edge]) -> tuple[Vertex, ...]:
    """Return the jobs of these edges; edges to exposures have none."""
    ids = {
        job_id(
            each.properties["environment"],
            each.properties["dag_name"],
            JobKey(each.properties["job_type"], each.job),
        )
        for each in edges
        if each.properties.keys() >= {"environment", "dag_name", "job_type", "job_name"}
    }
    return _in_order(each for each in graph.vertices(sorted(ids)) if each.label == JOB)


def _dags(edges: Iterable[Edge]) -> tuple[str, ...]:
    return tuple(sorted({each.properties["dag_name"] for each in edges if "dag_name" in each.properties}))


def _in_order(vertices: Iterable[Vertex]) -> tuple[Vertex, ...]:
    return tuple(sorted(vertices, key=lambda each: each.id))
