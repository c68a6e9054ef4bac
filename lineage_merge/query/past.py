"""Questions about a history. They read its files only: the graph itself may be unreachable."""

from typing import TYPE_CHECKING, NamedTuple

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import ConfigError, NotFound
from lineage_merge.query.selection import GraphSelection
from lineage_merge.query.session import require_history
from lineage_merge.questions.scoped_graph import GraphScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineage_merge.config import Config
    from lineage_merge.history.pictures import ScopedMerge
    from lineage_merge.query.history_results import ChangesResult, MergesResult, TimelineResult
    from lineage_merge.query.report_results import ReportResult
    from lineage_merge.questions.lineage_changes import Limit
    from lineage_merge.questions.past import AsOf


class Past(NamedTuple):
    """The location of a history, and the scope of questions."""

    location: str
    scope: GraphScope
    on_progress: ProgressCallback = no_progress


def past_of(
    selection: GraphSelection,
    config: "Config",
    environment: str | None,
    on_progress: ProgressCallback = no_progress,
) -> Past:
    """Return the history of a selected graph. Raises `ConfigError` if it has none."""
    if selection.folder and not selection.history:
        # Neither that of the configuration nor that of the embedded graph is one of this lineage.
        raise ConfigError(
            "--folder", f"{selection.folder} has no history. Fix: set --history LOCATION, or omit it"
        )
    location = require_history(selection.history, config, selection.graph_file)
    return Past(location, GraphScope(environment, selection.dag), on_progress)


def changes_between(
    past: Past, start: str, end: str, *, upstream_of: str | None = None, downstream_of: str | None = None
) -> "ChangesResult":
    """Return the changes between two moments, of all lineage or up- or downstream of a dataset or column."""
    from lineage_merge.history.moments import parse_moment
    from lineage_merge.query.history_results import ChangesResult
    from lineage_merge.questions.lineage_changes import compare_pictures
    from lineage_merge.questions.past import as_of

    moments = parse_moment(start, option="--from"), parse_moment(end, option="--to")
    scope = past.scope
    before, after = (as_of(past.location, each, scope.environment, past.on_progress) for each in moments)
    limit = _limit(scope, before, after, upstream_of, downstream_of)
    found = compare_pictures(before.graph, after.graph, scope.environment, scope.dag, limit)
    return ChangesResult(
        question="diff",
        scope=scope,
        note="" if found else f"no changes from {before.moment} to {after.moment}",
        before=before,
        after=after,
        changes=tuple(found),
        upstream_of=upstream_of,
        downstream_of=downstream_of,
    )


def picture_before(past: Past, start: str, merges: "Sequence[ScopedMerge]") -> "AsOf":
    """Return the lineage as of `start`, which must not be later than a later moment with these merges.

    Raises `ConfigError` if it is, `NotFound` if the history has no merge until then.
    """
    from lineage_merge.history.moments import parse_moment
    from lineage_merge.questions.past import as_of

    found = as_of(
        past.location, parse_moment(start, option="--from"), past.scope.environment, past.on_progress
    )
    newest, other = (
        max((each.record.name.time for each in these), default=0) for these in (found.merges, merges)
    )
    if newest > other:
        raise ConfigError("--from", f"{start} is later than the exported moment")
    return found


def merges(past: Past, limit: int | None = None) -> "MergesResult":
    """Return the merges of the environment or DAG, newest first."""
    from lineage_merge.history.timeline import merges_of
    from lineage_merge.query.history_results import MergesResult

    scope = past.scope
    found = [*reversed(merges_of(past.location, scope.environment, scope.dag))][:limit]
    return MergesResult(question="history", scope=scope, merges=tuple(found))


def timeline_of(past: Past, name: str, limit: int | None = None) -> "TimelineResult":
    """Return what merges changed of a dataset, column or job; the name may be one that it had."""
    from lineage_merge.history.timeline import merges_of, timeline
    from lineage_merge.query.history_results import TimelineResult
    from lineage_merge.questions.past import resolve_past

    scope = past.scope
    known = merges_of(past.location, scope.environment)
    element = resolve_past(past.location, name, known, scope.environment, scope.dag)
    events = timeline(past.location, element, known)
    shown = events[-limit:] if limit else events
    return TimelineResult(question="history", scope=scope, element=element, events=tuple(shown))


def report_until(past: Past, moment: str) -> "ReportResult":
    """Return the report of the newest merge of the scope's DAG until a moment. Raises `NotFound`."""
    from lineage_merge.history.details import read_report
    from lineage_merge.history.moments import parse_moment
    from lineage_merge.history.pictures import merges_until
    from lineage_merge.load.merge_run import MergeRun
    from lineage_merge.query.report_results import ReportResult

    environment, dag = past.scope.environment, past.scope.dag
    until = parse_moment(moment)
    for scope, record in merges_until(past.location, until, environment):
        if scope.dag_name == dag:
            report = read_report(past.location, scope, record)
            written = record.added + record.changed
            run = MergeRun(*scope, record.name.time, written, record.retired, report)
            return ReportResult(question="report", scope=past.scope, run=run)
    raise NotFound(f"no merge of {dag} in {environment} until {until}")


def _limit(
    scope: GraphScope, before: "AsOf", after: "AsOf", upstream_of: str | None, downstream_of: str | None
) -> "Limit | None":
    """Return the datasets upstream or downstream of one, which only one of the moments may have."""
    name = upstream_of or downstream_of
    if not name:
        return None
    from lineage_merge.questions.lineage_changes import neighbors_of
    from lineage_merge.questions.names import resolve_dataset_or_column

    try:
        start = resolve_dataset_or_column(after.graph, name, scope.environment, scope.dag)
    except NotFound:
        start = resolve_dataset_or_column(before.graph, name, scope.environment, scope.dag)
    return neighbors_of(start, (before.graph, after.graph), "up" if upstream_of else "down", scope.dag)
