"""Commands of questions with more than an answer: `check` fails, `diff` has two, `history` also compacts."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import print_result, text_of
from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.completion import complete_environments
from lineage_merge.cli.error_handling import print_json
from lineage_merge.cli.query_options import (
    QueryOptions,
    history_option,
    open_history,
    open_session,
    query_command,
)
from lineage_merge.cli.question_commands import check_format, command_of, with_options
from lineage_merge.model.errors import PolicyViolated
from lineage_merge.questions.check import CheckQuestion
from lineage_merge.questions.comparison import CompareQuestion
from lineage_merge.questions.diff import DiffQuestion, Picture, RunPicture
from lineage_merge.questions.merge_history import HistoryQuestion
from lineage_merge.questions.question import ask, parameters_of

if TYPE_CHECKING:
    from lineage_merge.history.compaction import CompactionPlan
    from lineage_merge.query.session import Session
    from lineage_merge.questions.check import PolicyResult


def _print_check(result: "PolicyResult", output_format: str, out: str | None) -> None:
    """Print violations, with `out` as a table, and write them to it. Raises `PolicyViolated`."""
    if out:
        from lineage_merge.infra import storage

        storage.write_text(out, text_of(result, output_format).encode("utf-8", "replace").decode())
    print_result(result, "table" if out else output_format)
    if result.failed:
        raise PolicyViolated(f"policies are violated: {result.check.summary}")


_OUT = click.option(
    "--out", "answer_file", metavar="FILE", help="file for --format, local or s3://; the table is printed"
)
check = command_of(CheckQuestion, _print_check, _OUT)


@command(
    "lineage-merge diff dev prod",
    "lineage-merge diff dev prod --dag tickit_daily --json",
    "lineage-merge diff --from 7d --upstream-of top_events_by_sales",
    "lineage-merge diff --from 2026-01-30 --to 2026-01-31 --format markdown",
    "lineage-merge diff --run application_1_0001 --run application_1_0002 -c lineage_merge.yml",
    short_help="Show the differences of two environments or moments.",
)
@click.argument(
    "environments", nargs=-1, metavar="[ENVIRONMENT ENVIRONMENT]", shell_complete=complete_environments
)
@partial(with_options, parameters_of(DiffQuestion), is_optional=True)
@rare_option("--run", "runs", multiple=True, metavar="ID", help="a run to compare with another: give two")
@query_command("table", formats=("table", "csv", "json", "markdown", "svg"), run=None)
def diff(
    options: QueryOptions, environments: tuple[str, ...], runs: tuple[str, ...], **given: str | None
) -> None:
    """Show the differences of two environments, of the lineage at two moments (--from, --to), or of two runs.

    Environments: the datasets, feeds and columns (of common datasets) that only one has, by id without the
    environment. Moments: datasets, jobs, feeds, columns, and how they are computed, that were added, removed
    or changed.
    """
    values = {name: value for name, value in given.items() if value}
    if runs:
        if len(runs) != 2 or environments or options.as_of or {"start", "end"} & values.keys():
            raise click.UsageError("--run compares two runs: give it twice, without moments and ENVIRONMENT")
        _compare_runs(options, runs, values)
        return
    if "start" in values or "end" in values:
        if environments or options.as_of:
            raise click.UsageError("--from and --to compare moments: omit --as-of and ENVIRONMENT")
        if "start" not in values:
            raise click.UsageError("Missing option '--from'")
        question = DiffQuestion(**values)
        check_format(question, options.format)
        if options.folder:
            raise click.UsageError("--folder has no history: omit it with --from")
        with open_history(options) as session:
            print_result(ask(question, session), options.format, options.out)
        return
    if len(environments) != 2:
        raise click.UsageError("expected two environments, or --from TIME")
    if values or options.format in ("markdown", "svg"):
        raise click.UsageError("--upstream-of, --downstream-of, markdown and svg need --from")
    with open_session(replace(options, environment=None), all_environments=True) as session:
        print_result(ask(CompareQuestion(*environments), session), options.format, options.out)


def _compare_runs(options: QueryOptions, runs: tuple[str, ...], limits: dict[str, str]) -> None:
    question = DiffQuestion(start="", **limits)
    check_format(question, options.format)
    pictures: list[Picture] = []
    for run in runs:
        with open_session(replace(options, run=run)) as session:
            pictures.append(RunPicture(f"run {run}", session.graph))
    print_result(question.compare(session, *pictures), options.format, options.out)


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
        else:
            print_result(ask(HistoryQuestion(name, limit=limit), session), options.format)


def _compact(options: QueryOptions, location: str, session: "Session", dry_run: bool) -> None:
    from lineage_merge.history.compaction import Retention, compact, plan_compaction

    retention = Retention(keep_days=session.config.history.keep_days)
    plans = plan_compaction(location, retention, session.environment, options.dag)
    if not dry_run:
        compact(location, plans, session.on_progress)
    if options.format == "json":
        print_json({"dry_run": dry_run, "location": location, "dags": [*map(_plan_json, plans)]})
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
