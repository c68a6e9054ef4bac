"""Removes a DAG, or one of its jobs, from an embedded graph."""

from collections.abc import Iterable
from contextlib import nullcontext

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.load.folder.draft import TAGS, Draft
from lineage_merge.load.result import Pipeline, Removed
from lineage_merge.model.elements import dataset_of


def remove(
    folder: GraphFolder,
    pipeline: Pipeline,
    *,
    dry_run: bool = False,
    on_progress: ProgressCallback = no_progress,
) -> Removed:
    """Remove a pipeline; with `dry_run` only count. Raises EmbeddedError."""
    with nullcontext() if dry_run else folder.lock(on_progress):
        tables = folder.read()
        draft = Draft(tables)
        removed = _remove_job(draft, pipeline) if pipeline.job else _remove_dag(draft, pipeline)
        if not dry_run and removed != Removed(0, 0, 0):
            folder.write(draft.tables(), tables)
    return removed


def _remove_dag(draft: Draft, pipeline: Pipeline) -> Removed:
    edges = _edges_of(draft, pipeline)
    _delete(draft, edges)
    return Removed(
        len(edges), *draft.untag([row["id"] for row in _vertices_of(draft, pipeline)], pipeline.dag_name)
    )


def _remove_job(draft: Draft, pipeline: Pipeline) -> Removed:
    touched = {row["id"] for row in _vertices_of(draft, pipeline) if _is_of_job(row, pipeline.job)}
    edges = [edge for edge in _edges_of(draft, pipeline) if edge.get("job_name") == pipeline.job]
    for end in {edge[name] for edge in edges for name in ("from", "to")}:
        vertex = draft.vertices.get(end) or {}
        touched |= {end, dataset_of(end)} if vertex.get("label") == "column" else {end}
    _delete(draft, edges)
    column_edges = _columns_of_unused(draft, touched, pipeline.dag_name)
    _delete(draft, column_edges)
    touched |= {edge["to"] for edge in column_edges}
    return Removed(len(edges) + len(column_edges), *draft.untag(touched, pipeline.dag_name))


def _columns_of_unused(draft: Draft, ids: set[str], dag_name: str) -> list[Row]:
    """Return the DAG's `has_column` edges of vertices without other edges of it, also at their columns."""
    of_vertices = [edge for edge in draft.edges_at(ids) if edge.get(TAGS) == dag_name]
    columns = [edge for edge in of_vertices if edge["label"] == "has_column" and edge["from"] in ids]
    both = of_vertices + draft.edges_at({edge["to"] for edge in columns})
    used = {
        edge[end]
        for edge in both
        if edge["label"] != "has_column" and edge.get(TAGS) == dag_name
        for end in ("from", "to")
    }
    used |= {edge["from"] for edge in columns if edge["to"] in used}
    return [edge for edge in columns if edge["from"] not in used]


def _edges_of(draft: Draft, pipeline: Pipeline) -> list[Row]:
    edges = draft.edges.rows_with((TAGS,), (pipeline.dag_name,))
    return [edge for edge in edges if edge.get("environment") == pipeline.environment]


def _vertices_of(draft: Draft, pipeline: Pipeline) -> list[Row]:
    vertices = draft.vertices.rows_with(("environment",), (pipeline.environment,))
    return [row for row in vertices if pipeline.dag_name in (row.get(TAGS) or ())]


def _is_of_job(row: Row, job: str) -> bool:
    if row["label"] == "job":
        return bool(row.get("name") == job)
    return row["label"] in ("operation", "assertion") and row.get("job_name") == job


def _delete(draft: Draft, edges: Iterable[Row]) -> None:
    for edge in edges:
        draft.edges.delete(edge["id"])
