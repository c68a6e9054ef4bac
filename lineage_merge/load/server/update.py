"""Updates the graph to a merge: writes differences, and deletes what the pipeline no longer has.

The stages: begin the load (`gremlin.running_load`), compare and plan (`incremental_diff`), write
(`write_changes`), record (`record_state`). Everything is read and decided before anything is written.
"""

import time
from dataclasses import replace

from lineage_merge.infra.engine.local import collection_off
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.telemetry import step
from lineage_merge.load.gremlin import label_replacement, running_load
from lineage_merge.load.gremlin.connection import Endpoint, check, make_traffic
from lineage_merge.load.gremlin.executor import reuse_connections
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.neptune_bulk.bulk_load import BulkLoad
from lineage_merge.load.plan_changes import describe_changes
from lineage_merge.load.resolve_names import node_id
from lineage_merge.load.result import ChangedCallback, LoadChanges, LoadResult, WriteProgress, ignore_changed
from lineage_merge.load.server.incremental_diff import plan_changes
from lineage_merge.load.server.record_state import mark_shared, record_state
from lineage_merge.load.server.write_changes import write_changes
from lineage_merge.model.errors import GraphRejected, GraphUnsupported, RetireRefused

# A concurrent merge of the DAG may delete elements between comparison and write; the load then starts again.
_ATTEMPTS = 3


def update(
    merge: MergeOutput,
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    *,
    allow_retire: bool = False,
    dry_run: bool = False,
    on_written: WriteProgress | None = None,
    in_bulk: BulkLoad | None = None,
    verify: bool = False,
    on_progress: ProgressCallback = no_progress,
    on_changed: ChangedCallback = ignore_changed,
) -> LoadResult:
    """Update the graph to a merge; with `dry_run` only return what would change.

    Elements that are provably unchanged since the last load are not read; with `verify` all are. `in_bulk`:
    write large differences through this bulk loader, whose progress goes to `on_progress`. `on_changed` is
    called with what has changed since the last load of the DAG, if that is known. Raises
    GraphUnreachable, GraphRejected, BulkLoadFailed, IntermediateError (a row without a key), and
    RetireRefused before anything is written.
    """
    check(endpoint)
    started = time.monotonic()
    traffic = make_traffic(merge.nodes.engine)
    endpoint = replace(endpoint, traffic=traffic)

    def with_totals(result: LoadResult) -> LoadResult:
        return replace(result, all_requests=traffic.requests.value, elements_read=traffic.read.value)

    with merge.nodes.engine.own_errors(), reuse_connections():
        for attempt in range(1, _ATTEMPTS + 1):
            target = begin(
                merge,
                endpoint,
                environment,
                dag_name,
                dry_run=dry_run,
                in_bulk=in_bulk,
                on_progress=on_progress,
            )
            # What is read is needed until the end; collection would take a third of the time.
            with step("compare"), collection_off():
                plan = plan_changes(merge, target, verify=verify)
            result = plan.result
            if in_bulk:
                mode, reason = in_bulk.choose(result.nodes + result.edges)
                result = replace(result, mode=mode, mode_reason=reason)
            refusal = "" if allow_retire else plan.deletions.refusal
            if dry_run:
                changes = describe_changes(plan)
                seconds = time.monotonic() - started
                return with_totals(
                    replace(result, seconds=seconds, dry_run=True, refusal=refusal, changes=changes)
                )
            if refusal:
                running_load.abort(target)
                raise RetireRefused(refusal)
            # Before writing: a worker that ends meanwhile makes another one compare again.
            changed = plan.changed_ids()
            try:
                with step("write"):
                    mark_shared(plan, target)
                    requests = write_changes(
                        plan,
                        target,
                        in_bulk=in_bulk if result.mode == "bulk" else None,
                        on_written=on_written,
                        on_progress=on_progress,
                    )
            except GraphRejected as error:
                if attempt == _ATTEMPTS or isinstance(error, GraphUnsupported):
                    raise
                continue
            result = replace(result, requests=requests, seconds=time.monotonic() - started)
            with collection_off():
                edition = record_state(merge, target, plan, result)
                if changed is not None:
                    on_changed(LoadChanges(changed, target.started_load.edition, edition))
            return with_totals(result)
    raise AssertionError("unreachable")


def begin(
    merge: MergeOutput,
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    *,
    dry_run: bool,
    in_bulk: BulkLoad | None,
    on_progress: ProgressCallback,
) -> LoadTarget:
    """Start a load after the end of earlier loads of the DAG; a dry run only reads."""
    if in_bulk and not dry_run:
        in_bulk.await_earlier_loads(environment, dag_name, on_progress)
    properties = running_load.read_run(endpoint, environment, dag_name)
    if dry_run:
        return LoadTarget(endpoint, environment, dag_name, running_load.dry_run_start(properties))
    if "load_token" in properties:
        # Before this load's token replaces that of the killed load.
        label_replacement.repair_interim_edges(merge.nodes.flat_map(node_id), endpoint, environment, dag_name)
    return running_load.begin(endpoint, environment, dag_name, properties)
