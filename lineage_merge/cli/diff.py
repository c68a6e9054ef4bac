"""The command `diff`: differences of two environments, or of one at two moments."""

from dataclasses import replace

import click

from lineage_merge.cli.answers import print_result, print_text
from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets, complete_environments
from lineage_merge.cli.error_handling import epilog, handle_errors, progress
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command


@click.command(
    cls=Command,
    short_help="Show the differences of two environments or moments.",
    epilog=epilog(
        "lineage-merge diff dev prod",
        "lineage-merge diff dev prod --dag tickit_daily --json",
        "lineage-merge diff --from 7d --upstream-of top_events_by_sales",
        "lineage-merge diff --from 2026-01-30 --to 2026-01-31 --format markdown",
    ),
)
@click.argument(
    "environments", nargs=-1, metavar="[ENVIRONMENT ENVIRONMENT]", shell_complete=complete_environments
)
@click.option("--from", "start", metavar="TIME", help="earlier: now, a date, time, age (3d) or merge")
@click.option("--to", "end", metavar="TIME", help="later moment  [default: now]")
@click.option(
    "--upstream-of",
    metavar="DATASET[#COLUMN]",
    shell_complete=complete_datasets,
    help="only what feeds it, at either moment",
)
@click.option(
    "--downstream-of",
    metavar="DATASET[#COLUMN]",
    shell_complete=complete_datasets,
    help="only what it feeds, at either moment",
)
@query_command("table", formats=("table", "csv", "json", "markdown", "svg"))
def diff(
    options: QueryOptions,
    environments: tuple[str, ...],
    start: str | None,
    end: str | None,
    upstream_of: str | None,
    downstream_of: str | None,
) -> None:
    """Show the differences of two environments, or of the lineage at two moments (--from, --to).

    Environments: the datasets, feeds and columns (of common datasets) that only one has, by id without the
    environment. Moments: datasets, jobs, feeds, columns, and how they are computed, that were added, removed
    or changed.
    """
    if start or end:
        if environments or options.as_of:
            raise click.UsageError("--from and --to compare moments: omit --as-of and ENVIRONMENT")
        if not start:
            raise click.UsageError("Missing option '--from'")
        if upstream_of and downstream_of:
            raise click.UsageError("--upstream-of and --downstream-of are mutually exclusive")
        if options.folder:
            raise click.UsageError("--folder has no history: omit it with --from")
        _compare_moments(options, start, end or "now", upstream_of, downstream_of)
        return
    if len(environments) != 2:
        raise click.UsageError("expected two environments, or --from TIME")
    if upstream_of or downstream_of or options.format in ("markdown", "svg"):
        raise click.UsageError("--upstream-of, --downstream-of, markdown and svg need --from")
    _compare_environments(replace(options, environment=None), (environments[0], environments[1]))


def _compare_environments(options: QueryOptions, both: tuple[str, str]) -> None:
    with open_session(options, all_environments=True) as session:
        from lineage_merge.query.lineage import Lineage

        print_result(Lineage(session).compare(*both), options.format, options.out)


def _compare_moments(
    options: QueryOptions, start: str, end: str, upstream_of: str | None, downstream_of: str | None
) -> None:
    with handle_errors(), progress(True) as on_progress:
        config, environment = options.config()
        from lineage_merge.query.past import changes_between, past_of

        past = past_of(options, config, environment, on_progress)
        found = changes_between(past, start, end, upstream_of=upstream_of, downstream_of=downstream_of)
    if options.format == "markdown":
        print_text(found.to_markdown(), options.out)
    else:
        print_result(found, options.format, options.out)
