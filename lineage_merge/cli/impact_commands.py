"""Commands about the consequences of a change: what it affects, and whose that is."""

from collections.abc import Iterator
from typing import Any

import click

from lineage_merge.cli.answers import Answer, print_answer
from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets_and_jobs
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, depth_option, open_session, query_command

_ELEMENT = "DATASET[#COLUMN]|JOB"


@click.command(
    cls=Command,
    short_help="List everything that depends on a dataset, column or job.",
    epilog=epilog(
        "lineage-merge impact s3://tickit-raw/sales",
        "lineage-merge impact s3://tickit-raw/sales#pricepaid --change rename",
        "lineage-merge impact tickit_sales_ingest --json",
    ),
)
@click.argument("what", metavar=_ELEMENT, shell_complete=complete_datasets_and_jobs)
@click.option(
    "--change",
    type=click.Choice(("drop", "rename", "retype")),
    help="show what breaks, changes or only depends on it",
)
@depth_option
@query_command("table")
def impact(options: QueryOptions, what: str, change: str | None, depth: int | None) -> None:
    """Count and list everything that depends on a dataset, a column or a job.

    These are the datasets, columns, jobs, DAGs and exposures downstream, with their owners and tests. For a
    column also datasets whose rows it determines (indirectly_affected). For a job, the datasets that it
    writes and everything downstream.
    """
    with open_session(options) as session:
        from lineage_merge.query.affected_tests import affected_tests
        from lineage_merge.query.dependents import dependents
        from lineage_merge.query.effects import Change
        from lineage_merge.query.formats.impact_json import impact_as_json
        from lineage_merge.query.names import resolve_any

        changed = resolve_any(session.graph, what, session.environment, options.dag)
        kind = Change(change) if change else None
        found = dependents(session.graph, changed, change=kind, depth=depth, dag=options.dag)
        tests = affected_tests(session.graph, found, options.dag)
        header = options.header("impact", session.environment, of=changed.id, depth=depth, change=change)
        header |= impact_as_json(found, tests)

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.impact_tables import impact_tables

            return impact_tables(found, tests)

        note = "" if found.elements else f"nothing depends on {changed.title}"
        answer = Answer(found.impact.subgraph, header, [changed.id], tables=tables, note=note)
        print_answer(answer, options.format)


@click.command(
    cls=Command,
    short_help="List the owners of everything that a change affects.",
    epilog=epilog(
        "lineage-merge owners s3://tickit-raw/sales",
        "lineage-merge owners s3://tickit-raw/sales#pricepaid --depth 2",
        "lineage-merge owners tickit_sales_ingest --format csv",
    ),
)
@click.argument("what", metavar=_ELEMENT, shell_complete=complete_datasets_and_jobs)
@depth_option
@query_command("table")
def owners(options: QueryOptions, what: str, depth: int | None) -> None:
    """List the owners of everything that a change of a dataset, column or job affects, the nearest first.

    Each owner has the shortest distance in hops, the affected elements, the names of the nearest ones, and
    their DAGs. Affected datasets and exposures without an owner are listed last.
    """
    with open_session(options) as session:
        from lineage_merge.query.dependents import dependents
        from lineage_merge.query.formats.impact_json import ownership_as_json
        from lineage_merge.query.names import resolve_any
        from lineage_merge.query.ownership import ownership

        changed = resolve_any(session.graph, what, session.environment, options.dag)
        affected = dependents(session.graph, changed, depth=depth, dag=options.dag)
        found = ownership(affected)
        header = options.header("owners", session.environment, of=changed.id, depth=depth)
        header |= ownership_as_json(found)

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.impact_tables import owner_table

            yield owner_table(found)

        note = ""
        if not affected.elements:
            note = f"nothing depends on {changed.title}"
        elif found.without_owner:
            number = len(found.without_owner)
            note = f"affected datasets and exposures without an owner: {number:,}"
        answer = Answer(affected.impact.subgraph, header, [changed.id], tables=tables, note=note)
        print_answer(answer, options.format)
