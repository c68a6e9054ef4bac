"""First stage of a load: waits for earlier bulk loads, repairs interim edges, and stores the token."""

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.load import crash_recovery, merge_run
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.neptune_bulk import bulk_load
from lineage_merge.load.neptune_bulk.bulk_load import BulkLoad
from lineage_merge.load.stages.resolve_names import node_id
from lineage_merge.load.stages.types import Merge, Target


def begin(
    merge: Merge,
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    *,
    dry_run: bool,
    in_bulk: BulkLoad | None,
    on_progress: ProgressCallback,
) -> Target:
    """Start a load after the end of earlier loads of the DAG; a dry run only reads."""
    if in_bulk and not dry_run:
        bulk_load.await_earlier_loads(in_bulk, environment, dag_name, on_progress)
    properties = merge_run.read_run(endpoint, environment, dag_name)
    if dry_run:
        return Target(endpoint, environment, dag_name, merge_run.dry_run_start(properties))
    if "load_token" in properties:
        # Before this load's token replaces that of the killed load.
        crash_recovery.repair_interim_edges(merge.nodes.flat_map(node_id), endpoint, environment, dag_name)
    return Target(
        endpoint, environment, dag_name, merge_run.begin(endpoint, environment, dag_name, properties)
    )
