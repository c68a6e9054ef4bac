"""Loads a merge into an embedded graph: compares with the newest snapshot, and writes the next one.

A load has the graph to itself from the comparison to the end, so that it needs neither a state of the load
before nor a second look at what it changes.
"""

import time
from contextlib import nullcontext
from dataclasses import replace

from lineage_merge.infra.arrow_tables import get_column
from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.infra.embedded.graph_tables import GraphTables
from lineage_merge.infra.engine.local import collection_off
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.telemetry import step
from lineage_merge.load import merge_run
from lineage_merge.load.folder.changes import make_changes
from lineage_merge.load.folder.draft import Draft
from lineage_merge.load.folder.plan_changes import plan_changes
from lineage_merge.load.folder.state import FolderState
from lineage_merge.load.load_plan import MAX_CHANGED_IDS, MergeOutput
from lineage_merge.load.merge_run import LastLoad
from lineage_merge.load.plan_changes import describe_changes
from lineage_merge.load.result import ChangedCallback, ChangedIds, LoadChanges, LoadResult, ignore_changed
from lineage_merge.merge.report import Report
from lineage_merge.model.errors import RetireRefused


def update(
    merge: MergeOutput,
    folder: GraphFolder,
    environment: str,
    dag_name: str,
    *,
    allow_retire: bool = False,
    dry_run: bool = False,
    on_progress: ProgressCallback = no_progress,
    on_changed: ChangedCallback = ignore_changed,
) -> LoadResult:
    """Update the graph to a merge; with `dry_run` only return what would change.

    `on_changed`: as in `load.server.update.update`. Waits while another process loads the graph. Raises
    EmbeddedError, GraphRejected (an edge with a missing end), IntermediateError (a row without a key), and
    RetireRefused; then the graph is as before.
    """
    started = time.monotonic()
    with (
        merge.nodes.engine.own_errors(),
        nullcontext() if dry_run else folder.lock(on_progress),
        collection_off(),
    ):
        with step("compare"):
            before, tables = folder.edition(), folder.read()
            planned = plan_changes(merge, FolderState(tables, environment, dag_name), dry_run=dry_run)
            plan = planned.plan
        read = len(tables.vertices) + len(tables.edges)
        result = replace(plan.result, mode="folder", elements_read=read)
        refusal = "" if allow_retire else plan.deletions.refusal
        if dry_run:
            changes, seconds = describe_changes(plan), time.monotonic() - started
            return replace(result, seconds=seconds, dry_run=True, refusal=refusal, changes=changes)
        if refusal:
            raise RetireRefused(refusal)
        with step("write"):
            now = time.time_ns() // 1_000_000
            draft = Draft.with_new(tables, planned.new, now) if planned.new else Draft(tables)
            make_changes(plan, draft, dag_name, now)
            changed = _list_changed(planned.new, draft)
            _record_run(draft, environment, dag_name, result, merge.report)
            folder.write(draft.tables(), tables)
        if changed is not None and not plan.result.moved:
            on_changed(LoadChanges(changed, before, folder.edition()))
        return replace(result, seconds=time.monotonic() - started)


def _list_changed(new: GraphTables | None, draft: Draft) -> ChangedIds | None:
    """Return what a load changes; None if it is much."""
    ids: list[frozenset[str]] = []
    if new is None:
        return None
    for table, of_draft in zip(new, (draft.vertices, draft.edges), strict=True):
        if len(table) + len(of_draft.changed_ids) > MAX_CHANGED_IDS:
            return None
        ids.append(frozenset(get_column(table, "id").to_pylist()) | of_draft.changed_ids)
    return ChangedIds(*ids)


def _record_run(
    draft: Draft, environment: str, dag_name: str, result: LoadResult, report: Report | None
) -> None:
    """Store the facts about a merge on its vertex."""
    run = merge_run.run_id(environment, dag_name)
    keys = {"id": run, "label": merge_run.LABEL, "environment": environment, "dag_name": dag_name}
    values = merge_run.run_values(result, report, requests=0, elements_read=result.elements_read)
    draft.vertices.prefetch([run])
    draft.write_vertex({**keys, "name": dag_name, **values})


def read_last_load(folder: GraphFolder, environment: str, dag_name: str) -> LastLoad:
    """Read when the last load of a DAG ended."""
    edition = folder.edition()  # first: a load that ends now has another one
    run = folder.read_vertex(merge_run.run_id(environment, dag_name), ["last_merged_at"])
    return LastLoad(run.get("last_merged_at") or 0, edition=edition)
