"""The command `history`: merges, what they changed of an element, and compaction of the history."""

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import print_result
from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import print_json
from lineage_merge.cli.query_options import QueryOptions, history_option, open_history, query_command
from lineage_merge.cli.question_commands import with_options
from lineage_merge.questions.merge_history import HistoryQuestion
from lineage_merge.questions.question import ask, parameters_of

if TYPE_CHECKING:
    from lineage_merge.history.compaction import CompactionPlan
    from lineage_merge.query.session import Session

_COMPACT = "compact"


@command(
    "lineage-merge history --environment prod --dag tickit_daily",
    "lineage-merge history top_events_by_sales",
    "lineage-merge history top_events_by_sales#total_sales --format csv",
    "lineage-merge history compact --dry-run",
    short_help="List merges, or the changes of a dataset, column or job.",
)
@partial(with_options, parameters_of(HistoryQuestion), is_optional=True)
@history_option
@click.option("--dry-run", is_flag=True, help="with compact: print what would be deleted")
@query_command("table", past=False, formats=("table", "csv", "json"))
def history(options: QueryOptions, name: str | None, limit: int | None, dry_run: bool) -> None:
    """List the merges of the environment or DAG, newest first, with what each changed.

    With the name of a dataset, column or job: when it appeared, when its edges, type, expression, label or
    owner changed, when it was removed, and by which merge. The name may be one that the lineage had.

    With compact: delete old merges. All of the last 14 days stay, then the last of each day for 90 days, then
    the last of each month, until history.keep.
    """
    if options.folder:
        raise click.UsageError("--folder has no history")
    if name == _COMPACT and options.format == "csv":
        raise click.UsageError("compact has no CSV")
    if dry_run and name != _COMPACT:
        raise click.UsageError("--dry-run is an option of compact")
    with open_history(options) as session:
        location = session.require_history()
        if name == _COMPACT:
            _compact(options, location, session, dry_run)
            return
        found = ask(HistoryQuestion(name, limit=limit), session)
    print_result(found, options.format)


def _compact(options: QueryOptions, location: str, session: "Session", dry_run: bool) -> None:
    from lineage_merge.history.compaction import Retention, compact, plan_compaction

    retention = Retention(keep_days=session.config.history.keep_days)
    plans = plan_compaction(location, retention, session.environment, options.dag)
    if not dry_run:
        compact(location, plans, session.on_progress)
    if options.format == "json":
        print_json({"dry_run": dry_run, "location": location, "dags": [_plan_json(each) for each in plans]})
        return
    verb = "would delete" if dry_run else "deleted"
    for plan in plans:
        click.echo(
            f"{plan.scope.dag_name} in {plan.scope.environment}: {verb} {len(plan.merges):,} merges and the"
            f" files of {len(plan.files):,}; {plan.remaining:,} merges remain"
        )
    if not plans:
        click.echo(f"{location}: no history", err=True)


def _plan_json(plan: "CompactionPlan") -> dict[str, Any]:
    return {
        "environment": plan.scope.environment,
        "dag": plan.scope.dag_name,
        "merges": list(map(str, plan.merges)),
        "files": list(map(str, plan.files)),
        "remaining": plan.remaining,
    }
