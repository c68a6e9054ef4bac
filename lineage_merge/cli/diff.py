"""The command `diff`: differences of two environments, or of one at two moments."""

from dataclasses import replace
from functools import partial

import click

from lineage_merge.cli.answers import print_result, print_text
from lineage_merge.cli.command import command
from lineage_merge.cli.completion import complete_environments
from lineage_merge.cli.query_options import QueryOptions, open_history, open_session, query_command
from lineage_merge.cli.question_commands import check_usage, with_options
from lineage_merge.questions.comparison import CompareQuestion
from lineage_merge.questions.diff import DiffQuestion
from lineage_merge.questions.question import ask, parameters_of


@command(
    "lineage-merge diff dev prod",
    "lineage-merge diff dev prod --dag tickit_daily --json",
    "lineage-merge diff --from 7d --upstream-of top_events_by_sales",
    "lineage-merge diff --from 2026-01-30 --to 2026-01-31 --format markdown",
    short_help="Show the differences of two environments or moments.",
)
@click.argument(
    "environments", nargs=-1, metavar="[ENVIRONMENT ENVIRONMENT]", shell_complete=complete_environments
)
@partial(with_options, parameters_of(DiffQuestion), is_optional=True)
@query_command("table", formats=("table", "csv", "json", "markdown", "svg"))
def diff(options: QueryOptions, environments: tuple[str, ...], **given: str | None) -> None:
    """Show the differences of two environments, or of the lineage at two moments (--from, --to).

    Environments: the datasets, feeds and columns (of common datasets) that only one has, by id without the
    environment. Moments: datasets, jobs, feeds, columns, and how they are computed, that were added, removed
    or changed.
    """
    values = {name: value for name, value in given.items() if value}
    if "start" in values or "end" in values:
        if environments or options.as_of:
            raise click.UsageError("--from and --to compare moments: omit --as-of and ENVIRONMENT")
        if "start" not in values:
            raise click.UsageError("Missing option '--from'")
        question = DiffQuestion(**values)
        check_usage(question)
        if options.folder:
            raise click.UsageError("--folder has no history: omit it with --from")
        with open_history(options) as session:
            changes = ask(question, session)
        if options.format == "markdown":
            print_text(changes.to_markdown(), options.out)
        else:
            print_result(changes, options.format, options.out)
        return
    if len(environments) != 2:
        raise click.UsageError("expected two environments, or --from TIME")
    if values or options.format in ("markdown", "svg"):
        raise click.UsageError("--upstream-of, --downstream-of, markdown and svg need --from")
    with open_session(replace(options, environment=None), all_environments=True) as session:
        print_result(ask(CompareQuestion(*environments), session), options.format, options.out)
