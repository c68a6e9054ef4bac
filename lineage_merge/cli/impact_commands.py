"""Commands about the consequences of a change: what it affects, and whose that is."""

import click

from lineage_merge.cli.answers import print_result
from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets_and_jobs
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, depth_option, open_lineage, query_command

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
    with open_lineage(options) as lineage:
        print_result(lineage.impact(what, change=change, depth=depth), options.format, options.out)


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
    with open_lineage(options) as lineage:
        print_result(lineage.owners(what, depth=depth), options.format, options.out)
