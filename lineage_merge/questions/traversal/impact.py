"""Impact of a change of a dataset, a column or a job."""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import lru_cache

from lineage_merge.graph_format.elements import COLUMN, JOB, Edge, Subgraph, Vertex, subgraph
from lineage_merge.model.elements import JobKey, dataset_of, job_id, structures_of
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.column_walk import column_edges, find_reached_columns, with_derived
from lineage_merge.questions.traversal.lineage import complete_subgraph, distances, ends, find_within_depth


@dataclass(frozen=True, slots=True)
class Impact:
    """Affected elements downstream, by id, without the changed element.

    `indirectly_affected`: for a column, the datasets whose rows it determines without feeding their columns.
    `subgraph`: the edges to the affected datasets, or for a column to columns and influenced datasets.
    `changed_columns`: the ids of the columns of the changed dataset, or of the datasets that a job writes.
    """

    subgraph: Subgraph
    datasets: tuple[Vertex, ...] = ()
    indirectly_affected: tuple[Vertex, ...] = ()
    columns: tuple[Vertex, ...] = ()
    jobs: tuple[Vertex, ...] = ()
    exposures: tuple[Vertex, ...] = ()
    dags: tuple[str, ...] = ()
    changed_columns: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of affected elements by kind."""
        kinds = ("datasets", "indirectly_affected", "columns", "jobs", "dags", "exposures")
        return {kind: len(getattr(self, kind)) for kind in kinds}


def impact(
    graph: LineageGraph, changed: Vertex, *, depth: int | None = None, dag: str | None = None
) -> Impact:
    """Return everything that depends on a dataset, a column or a job, within `depth` hops (None: unlimited).

    For a job: the datasets that it writes and everything that depends on them. An exposure without columns
    depends on a column if a dataset that it uses does.
    """
    if changed.label == COLUMN:
        return _find_of_column(graph, changed, depth, dag)
    return _find_of_datasets(graph, changed, depth, dag)


def _find_of_datasets(graph: LineageGraph, changed: Vertex, depth: int | None, dag: str | None) -> Impact:
    written: list[Edge] = []
    starts = {changed.id}
    if changed.label == JOB:
        written = graph.edges_from([changed.id], ["writes"], dag)
        starts = {edge.to_id for edge in written}
    inner = find_within_depth(graph, starts, "down", depth, dag)
    edges = graph.edges_from(sorted(inner), ["feeds"], dag)
    reached_graph = complete_subgraph(graph, {changed.id, *starts, *ends(edges)}, [*edges, *written], dag)
    of_starts = graph.edges_from(sorted(starts), ["has_column"])
    own = {edge.to_id for edge in of_starts}
    reached = find_reached_columns(graph, own, "down", depth=depth, dag=dag)
    columns = reached | own if changed.label == JOB else {id_ for id_ in reached if not _is_in(id_, own)}
    affected = [dataset for dataset in reached_graph.datasets if dataset.id != changed.id]
    return Impact(
        reached_graph,
        datasets=tuple(dataset for dataset in affected if dataset.label != "exposure"),
        columns=_sort(with_derived(graph, columns)),
        jobs=_jobs(graph, edges),
        exposures=tuple(dataset for dataset in affected if dataset.label == "exposure"),
        dags=_dags(edges),
        changed_columns=tuple(sorted(own)),
    )


def _find_of_column(graph: LineageGraph, changed: Vertex, depth: int | None, dag: str | None) -> Impact:
    leaving = column_edges(graph, {changed.id}, "down", depth=depth, dag=dag, influences=True)
    edges = [edge for edge in leaving if edge.label != "influences"]
    influencing = [edge for edge in leaving if edge.label == "influences"]
    columns = ends(edges) | {changed.id}
    own = dataset_of(changed.id)
    owners = {dataset_of(column) for column in columns}
    indirectly_affected = {edge.to_id for edge in influencing} - owners
    hops = distances([changed.id], leaving)
    # What is at the maximum depth is not followed.
    users = {dataset_of(id_) for id_ in columns | indirectly_affected if depth is None or hops[id_] < depth}
    used = graph.edges_from(sorted(users), ["feeds"], dag)
    targets = graph.vertices({edge.to_id for edge in used})
    exposures = {target.id for target in targets if target.label == "exposure"}
    # Of a dashboard with columns, these say what it depends on, but for the rows of its data sets.
    of_columns = graph.edges_from(sorted(exposures), ["has_column"]) if exposures else []
    with_columns = {edge.from_id for edge in of_columns}
    using = [
        edge
        for edge in used
        if edge.to_id in exposures and (edge.to_id not in with_columns or edge.from_id in indirectly_affected)
    ]
    users_found = {edge.to_id for edge in using}
    vertices = {
        vertex.id: vertex
        for vertex in with_derived(graph, owners | indirectly_affected | columns | users_found)
    }
    exposures = users_found | {
        owner for owner in owners & vertices.keys() if vertices[owner].label == "exposure"
    }
    followed = [*edges, *influencing, *using]

    def select_known(ids: Iterable[str]) -> tuple[Vertex, ...]:
        return tuple(vertices[identifier] for identifier in sorted(ids) if identifier in vertices)

    return Impact(
        subgraph(select_known(columns | ends(followed)), followed),
        datasets=select_known(owners - exposures - {own}),
        indirectly_affected=select_known(indirectly_affected - exposures),
        columns=select_known(column for column in columns if not _is_in(column, {changed.id})),
        jobs=_jobs(graph, followed),
        exposures=select_known(exposures),
        dags=_dags(followed),
    )


def _is_in(column: str, columns: Set[str]) -> bool:
    """Return whether a column is one of these, or a field of one."""
    return column in columns or not columns.isdisjoint(structures_of(column))


def job_of(edge: Edge) -> str | None:
    """Return the id of the job of an edge."""
    held = edge.properties
    if not held.keys() >= {"environment", "dag_name", "job_type", "job_name"}:
        return None
    return _job_id(held["environment"], held["dag_name"], held["job_type"], edge.job)


@lru_cache(maxsize=10_000)  # jobs are few, edges many
def _job_id(environment: str, dag: str, job_type: str, name: str) -> str:
    return job_id(environment, dag, JobKey(job_type, name))


def _jobs(graph: LineageGraph, edges: Iterable[Edge]) -> tuple[Vertex, ...]:
    """Return the jobs of these edges; edges to exposures have none."""
    ids = {job for edge in edges if (job := job_of(edge))}
    return _sort(vertex for vertex in graph.vertices(sorted(ids)) if vertex.label == JOB)


def _dags(edges: Iterable[Edge]) -> tuple[str, ...]:
    return tuple(sorted({edge.properties["dag_name"] for edge in edges if "dag_name" in edge.properties}))


def _sort(vertices: Iterable[Vertex]) -> tuple[Vertex, ...]:
    return tuple(sorted(vertices, key=lambda vertex: vertex.id))
