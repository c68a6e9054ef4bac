"""The graph of a load: a Gremlin server, or an embedded graph, which is a folder of columns.

Both give what a load, a removal and the history need, with the same results.
"""

from typing import TYPE_CHECKING, TypeAlias

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.embedded.graph_store import GraphFolder, snapshot_folder
from lineage_merge.infra.embedded.graph_tables import require_arrow
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.load.folder import removal
from lineage_merge.load.folder import update as in_folder
from lineage_merge.load.folder.state import FolderState
from lineage_merge.load.graph_state import Picture, PictureTables
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.merge_run import LastLoad
from lineage_merge.load.result import (
    ChangedCallback,
    ChangedIds,
    LoadResult,
    Pipeline,
    Removed,
    WriteProgress,
    ignore_changed,
)

# What a folder does not need is imported for servers only: the client takes a third of a second.
if TYPE_CHECKING:
    from lineage_merge.load.gremlin.connection import Endpoint
    from lineage_merge.load.neptune_bulk.bulk_load import BulkLoad

Graph: TypeAlias = "Endpoint | GraphFolder"


def check(graph: Graph) -> None:
    """Check that a server answers, or that a folder is no file of an earlier version."""
    if isinstance(graph, GraphFolder):
        require_arrow()
        snapshot_folder(graph.path)
    else:
        from lineage_merge.load.gremlin import connection

        connection.check(graph)


def update(
    merge: MergeOutput,
    graph: Graph,
    environment: str,
    dag_name: str,
    *,
    allow_retire: bool = False,
    dry_run: bool = False,
    verify: bool = False,
    in_bulk: "BulkLoad | None" = None,
    on_written: WriteProgress | None = None,
    on_progress: ProgressCallback = no_progress,
    on_changed: ChangedCallback = ignore_changed,
) -> LoadResult:
    """Update a graph to a merge: `load.server.update.update`, `load.folder.update.update`."""
    if isinstance(graph, GraphFolder):
        return in_folder.update(
            merge,
            graph,
            environment,
            dag_name,
            allow_retire=allow_retire,
            dry_run=dry_run,
            on_progress=on_progress,
            on_changed=on_changed,
        )
    from lineage_merge.load.server import update as on_server

    return on_server.update(
        merge,
        graph,
        environment,
        dag_name,
        allow_retire=allow_retire,
        dry_run=dry_run,
        verify=verify,
        in_bulk=in_bulk,
        on_written=on_written,
        on_progress=on_progress,
        on_changed=on_changed,
    )


def remove(
    graph: Graph, pipeline: Pipeline, *, dry_run: bool = False, on_progress: ProgressCallback = no_progress
) -> Removed:
    """Remove a DAG, or a job of it; with `dry_run` only count."""
    if isinstance(graph, GraphFolder):
        return removal.remove(graph, pipeline, dry_run=dry_run, on_progress=on_progress)
    from lineage_merge.load.gremlin import remove_dag

    return remove_dag.remove(graph, pipeline, dry_run=dry_run)


def read_last_load(graph: Graph, environment: str, dag_name: str) -> LastLoad:
    """Read when the last load of a DAG ended."""
    if isinstance(graph, GraphFolder):
        return in_folder.read_last_load(graph, environment, dag_name)
    from lineage_merge.load.gremlin import running_load

    return running_load.read_last_load(graph, environment, dag_name)


def read_picture(engine: Engine, graph: Graph, environment: str, dag_name: str) -> Picture | PictureTables:
    """Read all elements of a DAG."""
    if isinstance(graph, GraphFolder):
        return FolderState(graph.read(), environment, dag_name).picture()
    from lineage_merge.load.gremlin import element_reads

    return element_reads.read_picture(engine, graph, environment, dag_name)


def read_changed(
    engine: Engine, graph: Graph, environment: str, dag_name: str, changed: ChangedIds
) -> Picture:
    """Read those of some elements that a DAG has, as `read_picture`."""
    if isinstance(graph, GraphFolder):
        return FolderState(graph.read(), environment, dag_name).read_changed(engine, changed)
    from lineage_merge.load.gremlin import element_reads

    return element_reads.read_changed(engine, graph, dag_name, changed)


def read_runs(engine: Engine, graph: Graph, environment: str, dag_name: str) -> Rows[Row]:
    """Read the vertices of a DAG with properties of their newest run."""
    if isinstance(graph, GraphFolder):
        return FolderState(graph.read(), environment, dag_name).runs(engine)
    from lineage_merge.load.gremlin import element_reads

    return element_reads.read_runs(engine, graph, environment, dag_name)
