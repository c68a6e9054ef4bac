"""What may break when a dataset, a column or a job changes."""

from collections.abc import Iterable
from dataclasses import dataclass

from lineage_merge.model.elements import JobKey, job_id
from lineage_merge.query.elements import COLUMN, JOB, Edge, Subgraph, Vertex, dataset_of, subgraph
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.lineage import completed, ends


@dataclass(frozen=True, slots=True)
class Impact:
    """What lies downstream, each list in order of id; what was asked for is not part of it.

    `steered`: of a column, those datasets that are reached only because a column decides which rows
    they have. `subgraph` is how it is reached: datasets, of a column columns and what they steer.
    """

    subgraph: Subgraph
    datasets: tuple[Vertex, ...] = ()
    steered: tuple[Vertex, ...] = ()
    columns: tuple[Vertex, ...] = ()
    jobs: tuple[Vertex, ...] = ()
    exposures: tuple[Vertex, ...] = ()
    dags: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many of each, and how many datasets are only steered."""
        return {
            "datasets": len(self.datasets),
            "steered": len(self.steered),
            "columns": len(self.columns),
            "jobs": len(self.jobs),
            "dags": len(self.dags),
            "exposures": len(self.exposures),
        }


def impact(
    graph: LineageGraph, changed: Vertex, *, depth: int | None = None, dag: str | None = None
) -> Impact:
    """What depends on a dataset, a column or a job, to the ends or `depth` hops far.

    Of a job it is what depends on the datasets that it writes, and these themselves. An exposure has no
    columns: it depends on a column when the dataset does that it uses.
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
    steering = graph.edges_from(sorted(columns), ["influences"], dag)
    own = dataset_of(changed.id)
    owners = {dataset_of(each) for each in columns}
    steered = {each.to_id for each in steering} - owners
    used = graph.edges_from(sorted(owners | steered), ["feeds"], dag)
    targets = {each.id: each for each in graph.vertices({edge.to_id for edge in used})}
    using = [each for each in used if each.to_id in targets and targets[each.to_id].label == "exposure"]
    exposures = {each.to_id for each in using}
    found = {each.id: each for each in graph.vertices(owners | steered | columns | exposures)}
    passed = [*edges, *steering, *using]
    return Impact(
        subgraph((found[each] for each in columns | ends(passed) if each in found), passed),
        datasets=_in_order(found[each] for each in owners - {own} if each in found),
        steered=_in_order(found[each] for each in steered - exposures if each in found),
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
    """The jobs that move data along these edges; an exposure has none."""
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
