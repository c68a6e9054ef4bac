"""The command `diff`: differences of two environments, or of one at two moments."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import Answer, print_answer
from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets, complete_environments
from lineage_merge.cli.error_handling import epilog, handle_errors, print_json, progress
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command
from lineage_merge.model.errors import NotFound

if TYPE_CHECKING:
    from lineage_merge.history.pictures import AsOf
    from lineage_merge.query.graph import LineageGraph
    from lineage_merge.query.lineage_changes import Limit


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
@click.option("--from", "start", metavar="TIME", help="earlier moment: a date, time, age (3d) or merge")
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
@query_command("table", formats=("table", "json", "markdown"))
def diff(
    options: QueryOptions,
    environments: tuple[str, ...],
    start: str | None,
    end: str | None,
    upstream_of: str | None,
    downstream_of: str | None,
) -> None:
    """Show the differences of two environments, or of the lineage at two moments (--from, --to).

    Environments: the datasets, feeds and columns that only one of them has, by id without the environment.
    Columns are compared for datasets that both have.

    Moments: what was added, removed and changed, as the history has it: datasets, jobs, feeds, columns and
    how columns are computed.
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
        _compare_moments(options, start, end or "0m", upstream_of, downstream_of)
        return
    if len(environments) != 2:
        raise click.UsageError("expected two environments, or --from TIME")
    if upstream_of or downstream_of or options.format == "markdown":
        raise click.UsageError("--upstream-of, --downstream-of and markdown need --from")
    _compare_environments(replace(options, environment=None), (environments[0], environments[1]))


def _compare_environments(options: QueryOptions, both: tuple[str, str]) -> None:
    with open_session(options, all_environments=True) as session:
        from lineage_merge.query.comparison import compare
        from lineage_merge.query.elements import Subgraph

        _note_empty_side(session.graph, both, options.dag)
        found = compare(session.graph, *both, options.dag)

        def tables() -> Iterator[Any]:
            from lineage_merge.query.formats.answer_tables import comparison_tables

            return comparison_tables(found)

        if options.format == "json":
            sides = {each.environment: each.as_json() for each in (found.only_left, found.only_right)}
            print_json({"question": "diff", "environments": list(both), "dag": options.dag, "only": sides})
        else:
            same = found.only_left.is_empty and found.only_right.is_empty
            note = f"{both[0]} and {both[1]} are identical" if same else ""
            print_answer(Answer(Subgraph(), tables=tables, note=note), options.format)


def _note_empty_side(graph: "LineageGraph", both: tuple[str, str], dag: str | None) -> None:
    """Write a note about an environment or DAG without lineage. Raises `NotFound` if both have none."""
    from lineage_merge.query.names import check_scope

    unknown: list[NotFound] = []
    for environment in both:
        try:
            check_scope(graph, environment, dag)
        except NotFound as error:
            unknown.append(error)
    if len(unknown) == len(both):
        raise unknown[0]
    for each in unknown:
        click.echo(f"note: {each.message} {', '.join(each.candidates)}", err=True)


def _compare_moments(
    options: QueryOptions, start: str, end: str, upstream_of: str | None, downstream_of: str | None
) -> None:
    with handle_errors(), progress(True) as on_progress:
        config, environment = options.config()
        from lineage_merge.history.moments import parse_moment
        from lineage_merge.history.pictures import as_of
        from lineage_merge.query.interface.session import require_history
        from lineage_merge.query.lineage_changes import compare_pictures, counts

        moments = parse_moment(start, option="--from"), parse_moment(end, option="--to")
        location = require_history(options.history, config, options.graph_file)
        before, after = (as_of(location, each, environment, on_progress) for each in moments)
        limit = _limit(options, before, after, environment, upstream_of, downstream_of)
        changes = compare_pictures(before.graph, after.graph, environment, options.dag, limit)
    if options.format == "json":
        print_json(
            {
                "question": "diff",
                "environment": environment,
                "dag": options.dag,
                "from": _moment_json(before),
                "to": _moment_json(after),
                "upstream_of": upstream_of,
                "downstream_of": downstream_of,
                "counts": counts(changes),
                "changes": [each.as_json() for each in changes],
            }
        )
        return
    from lineage_merge.cli import change_tables

    title = f"from {before.moment} to {after.moment}"
    if options.format == "markdown":
        click.echo(change_tables.markdown(changes, title).encode("utf-8", "replace"), nl=False)
        return
    change_tables.print_changes(changes, title)


def _moment_json(picture: "AsOf") -> dict[str, Any]:
    return {"moment": str(picture.moment), "merges": [each.as_json() for each in picture.merges]}


def _limit(
    options: QueryOptions,
    before: "AsOf",
    after: "AsOf",
    environment: str | None,
    upstream_of: str | None,
    downstream_of: str | None,
) -> "Limit | None":
    """Return the datasets upstream or downstream of one, which only one of the moments may have."""
    name = upstream_of or downstream_of
    if not name:
        return None
    from lineage_merge.query.lineage_changes import neighbors_of
    from lineage_merge.query.names import resolve_dataset_or_column

    try:
        start = resolve_dataset_or_column(after.graph, name, environment, options.dag)
    except NotFound:
        start = resolve_dataset_or_column(before.graph, name, environment, options.dag)
    return neighbors_of(start, (before.graph, after.graph), "up" if upstream_of else "down", options.dag)
