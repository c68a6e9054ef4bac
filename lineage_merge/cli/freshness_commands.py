"""Query commands about late or wrong data: `freshness`, `tests` and `why`."""

import click

from lineage_merge.cli import time_options
from lineage_merge.cli.answers import print_result
from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, open_lineage, query_command

_FORMATS = ("table", "csv", "json")
_DEPTH = click.option(
    "--depth", type=click.IntRange(1), metavar="N", help="maximum hops  [default: unlimited]"
)
_NAME = click.argument("name", metavar="[DATASET[#COLUMN]]", required=False, shell_complete=complete_datasets)


@click.command(
    cls=Command,
    short_help="List datasets by last update, and what makes them stale.",
    epilog=epilog(
        "lineage-merge freshness --older-than 1d --stale",
        "lineage-merge freshness top_events_by_sales --older-than 36h",
        "lineage-merge freshness --environment prod --json",
    ),
)
@_NAME
@time_options.older_than()
@click.option("--stale", is_flag=True, help="only stale datasets")
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="maximum number of datasets  [default: all]"
)
@query_command("table", formats=_FORMATS)
def freshness(
    options: QueryOptions, name: str | None, older_than: int | None, stale: bool, limit: int | None
) -> None:
    """List a dataset with its upstream, or all datasets, by last update: oldest first, unknown last.

    A dataset is fresh if its freshness check, --older-than and the policies that select it hold. With none of
    them it is current: as new as its inputs. It is stale if one does not hold, if an input was updated after
    it, or if an upstream dataset is stale. "because of" names the nearest one.
    """
    with open_lineage(options) as lineage:
        found = lineage.freshness(
            name, older_than=older_than, stale=stale, limit=limit, now=time_options.now_ms()
        )
        print_result(found, options.format)


@click.command(
    cls=Command,
    short_help="List tests of a dataset and its upstream, with results.",
    epilog=epilog(
        "lineage-merge tests top_events_by_sales",
        "lineage-merge tests top_events_by_sales#total_sales --depth 2",
        "lineage-merge tests --failed --environment prod",
    ),
)
@_NAME
@click.option("--failed", is_flag=True, help="only tests whose newest result is failed, error or warned")
@_DEPTH
@query_command("table", formats=_FORMATS)
def tests(options: QueryOptions, name: str | None, failed: bool, depth: int | None) -> None:
    """List the tests of a dataset and of everything upstream of it, or all tests, with their newest results.

    For a column: tests of the column, of its upstream columns, and of their datasets as a whole. Source
    freshness and data quality checks of OpenLineage are included.
    """
    if depth is not None and name is None:
        raise click.UsageError("--depth requires a dataset or column")
    with open_lineage(options) as lineage:
        print_result(lineage.tests(name, failed=failed, depth=depth), options.format)


@click.command(
    cls=Command,
    short_help="Find upstream causes of late or wrong data.",
    epilog=epilog(
        "lineage-merge why top_events_by_sales",
        "lineage-merge why top_events_by_sales#total_sales --json",
        "lineage-merge why dev.public.sales --older-than 1d --depth 3",
    ),
)
@click.argument("name", metavar="DATASET[#COLUMN]", shell_complete=complete_datasets)
@time_options.older_than()
@_DEPTH
@click.option(
    "--changes-since",
    callback=time_options.parse_age,
    default="7d",
    show_default=True,
    metavar="DURATION",
    help="age of merges whose changes are causes, with a history",
)
@query_command("table", formats=_FORMATS)
def why(
    options: QueryOptions, name: str, older_than: int | None, depth: int | None, changes_since: int
) -> None:
    """Find the nearest causes, at a dataset and upstream of it, why its data may be late or wrong.

    Causes are failed and missing runs, stale sources, inputs that were updated after the dataset, and failed
    tests; with a history also what recent merges changed. For a column: at the datasets of the columns from
    which it is computed.
    """
    with open_lineage(options) as lineage:
        found = lineage.why(
            name,
            older_than=older_than,
            depth=depth,
            changes_since=changes_since,
            now=time_options.now_ms(),
        )
        print_result(found, options.format)


COMMANDS: tuple[click.Command, ...] = (freshness, tests, why)
