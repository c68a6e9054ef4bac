"""Query commands. Expensive imports are inside the functions."""

from typing import TYPE_CHECKING

import click

from lineage_merge.cli import time_options
from lineage_merge.cli.answers import print_result
from lineage_merge.cli.check import check
from lineage_merge.cli.command import Command, Option
from lineage_merge.cli.completion import complete_owners, complete_tags
from lineage_merge.cli.diff import diff
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.history import history
from lineage_merge.cli.query_options import QueryOptions, open_lineage, query_command
from lineage_merge.cli.question_commands import command_of
from lineage_merge.cli.tags import tags
from lineage_merge.query.lineage import QUESTIONS

if TYPE_CHECKING:
    from lineage_merge.questions.listing import JobOrder

_SEARCH = click.option("--search", metavar="TEXT", default="", help="part of the name")
_LIMIT = click.option(
    "--limit",
    cls=Option,
    more=True,
    type=click.IntRange(1),
    metavar="N",
    help="maximum number of results  [default: all]",
)


@click.command(
    cls=Command,
    epilog=epilog(
        "lineage-merge datasets --search sales",
        "lineage-merge datasets --tag pii --without-owner",
        "lineage-merge datasets --failed --environment prod --json",
        "lineage-merge datasets --environment dev --dag tickit_daily --columns --format tree",
    ),
)
@_SEARCH
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    shell_complete=complete_tags,
    help="with this tag, or with a column that has it; repeated: with all of them",
)
@click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="OWNER",
    shell_complete=complete_owners,
    help="with this owner; repeated: with all of them",
)
@click.option("--without-owner", cls=Option, more=True, is_flag=True, help="without an owner")
@click.option("--failed", is_flag=True, help="whose newest run, or a test of it, failed")
@_LIMIT
@click.option("--columns", cls=Option, more=True, is_flag=True, help="include columns")
@query_command("table")
def datasets(
    options: QueryOptions,
    search: str,
    tags: tuple[str, ...],
    owners: tuple[str, ...],
    without_owner: bool,
    failed: bool,
    limit: int | None,
    columns: bool,
) -> None:
    """List or search datasets by name, tag, owner and failed runs or tests."""
    if owners and without_owner:
        raise click.UsageError("--owner and --without-owner exclude each other")
    with open_lineage(options) as lineage:
        found = lineage.datasets(
            search,
            tags=tags,
            owners=owners,
            without_owner=without_owner,
            failed=failed,
            limit=limit,
            columns=columns,
        )
        print_result(found, options.format, options.out)


@click.command(
    cls=Command,
    epilog=epilog(
        "lineage-merge jobs --search ingest --environment prod",
        "lineage-merge jobs --failed --since 1d",
        "lineage-merge jobs --slowest 5 --dag tickit_daily",
    ),
)
@_SEARCH
@click.option(
    "--since",
    callback=time_options.parse_since,
    metavar="TIME",
    help="only newest runs that ended since a date, time or age (3d)",
)
@click.option("--failed", is_flag=True, help="only jobs whose newest run failed")
@click.option(
    "--slowest",
    type=click.IntRange(1),
    is_flag=False,
    flag_value=10,
    metavar="[N]",
    help="the longest newest runs  [N: 10]",
)
@click.option(
    "--sort",
    cls=Option,
    more=True,
    type=click.Choice(("name", "last-run", "duration", "rows")),
    help="order; numbers and times descending  [default: id]",
)
@_LIMIT
@query_command("table")
def jobs(
    options: QueryOptions,
    search: str,
    since: int | None,
    failed: bool,
    slowest: int | None,
    sort: "JobOrder | None",
    limit: int | None,
) -> None:
    """List or search jobs, with DAG and newest run."""
    if slowest is not None and (sort or limit):
        raise click.UsageError("--slowest N replaces --sort duration --limit N: set only one of them")
    with open_lineage(options) as lineage:
        found = lineage.jobs(
            search,
            since=since,
            failed=failed,
            order="duration" if slowest is not None else sort,
            limit=slowest or limit,
        )
        print_result(found, options.format, options.out)


@click.command(
    cls=Command,
    epilog=epilog(
        "lineage-merge no-consumer",
        "lineage-merge no-consumer --environment prod --dag tickit_daily",
    ),
)
@query_command("table")
def no_consumer(options: QueryOptions) -> None:
    """List datasets that a job writes and no job reads.

    With --dag, datasets that a job of this DAG writes and no job of any DAG reads. Exposures count as
    readers, jobs that only read their own output do not.
    """
    with open_lineage(options) as lineage:
        print_result(lineage.no_consumer(), options.format, options.out)


@click.command(
    cls=Command,
    short_help="List datasets that a job reads and no job writes.",
    epilog=epilog(
        "lineage-merge no-producer",
        "lineage-merge no-producer --folder lineage --json",
    ),
)
@query_command("table")
def no_producer(options: QueryOptions) -> None:
    """List datasets that a job reads and no job writes: external ones, or ones whose jobs are not merged yet.

    With --dag, datasets that a job of this DAG reads and no job of any DAG writes.
    """
    with open_lineage(options) as lineage:
        print_result(lineage.no_producer(), options.format, options.out)


@click.command(
    cls=Command,
    short_help="List edges that violate a declared order of layers.",
    epilog=epilog(
        "lineage-merge layers --layer 'raw=s3://*-raw/*' --layer 'mart=*_marts.*'",
        "lineage-merge layers --config lineage_merge.yml --adjacent --json",
    ),
)
@click.option(
    "--layer",
    "pairs",
    multiple=True,
    metavar="NAME=GLOB",
    help="layer, in order of the data flow; repeat a name to add globs  [default: query.layers]",
)
@click.option("--adjacent", is_flag=True, help="report edges that skip a layer, too")
@query_command("table")
def layers(options: QueryOptions, pairs: tuple[str, ...], adjacent: bool) -> None:
    """List edges that violate a declared order of layers, such as raw, staging, lake, mart.

    A dataset belongs to the first layer with a glob that matches its path, its name or namespace|name.
    Datasets without a layer are ignored.
    """
    with open_lineage(options) as lineage:
        from lineage_merge.questions.layers import parse_layers

        print_result(lineage.layers(parse_layers(pairs), adjacent=adjacent), options.format, options.out)


COMMANDS: tuple[click.Command, ...] = (
    datasets,
    jobs,
    *map(command_of, QUESTIONS.values()),
    no_consumer,
    no_producer,
    layers,
    diff,
    history,
    tags,
    check,
)
