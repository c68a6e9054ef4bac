"""Query commands. Expensive imports are inside the functions."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli import freshness_commands, time_options
from lineage_merge.cli.answers import Answer, print_answer
from lineage_merge.cli.check import check
from lineage_merge.cli.command import Command, Option
from lineage_merge.cli.completion import (
    complete_datasets,
    complete_owners,
    complete_tags,
)
from lineage_merge.cli.diff import diff
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.history import history
from lineage_merge.cli.impact_commands import impact, owners
from lineage_merge.cli.query_options import (
    QueryOptions,
    depth_option,
    empty_note,
    open_session,
    query_command,
)
from lineage_merge.cli.tags import tags
from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.query.elements import Subgraph
    from lineage_merge.query.graph import Direction, LineageGraph
    from lineage_merge.query.listing import JobOrder

_COLUMNS = click.option("--columns", is_flag=True, help="include columns and column lineage")
_INFLUENCES = click.option(
    "--influences",
    cls=Option,
    more=True,
    is_flag=True,
    help="include columns that determine rows (filters, joins); they are not followed",
)
_SEARCH = click.option("--search", metavar="TEXT", default="", help="part of the name")
_LIMIT = click.option(
    "--limit",
    cls=Option,
    more=True,
    type=click.IntRange(1),
    metavar="N",
    help="maximum number of results  [default: all]",
)


def _lineage(
    options: QueryOptions,
    dataset: str,
    direction: "Direction",
    depth: int | None,
    columns: bool,
    influences: bool,
) -> None:
    with open_session(options) as session:
        from lineage_merge.query.lineage import lineage
        from lineage_merge.query.names import resolve_dataset_or_column

        start = resolve_dataset_or_column(session.graph, dataset, session.environment, options.dag)
        found = lineage(
            session.graph,
            start,
            direction,
            depth=depth,
            dag=options.dag,
            columns=columns,
            influences=influences,
        )
        question = "upstream" if direction == "up" else "downstream"
        header = options.header(question, session.environment, of=start.id, depth=depth)
        nothing = f"{start.title}: no {question} datasets"
        note = "" if any(each.label != "has_column" for each in found.edges) else nothing
        print_answer(Answer(found, header, [start.id], direction, note=note), options.format)


@click.command(
    cls=Command,
    epilog=epilog(
        "lineage-merge upstream top_events_by_sales",
        "lineage-merge upstream top_events_by_sales#total_sales",
        "lineage-merge upstream dev.public.sales --environment dev --depth 2 --columns",
        "lineage-merge upstream top_events_by_sales --folder lineage --format mermaid",
    ),
)
@click.argument("dataset", metavar="DATASET[#COLUMN]", shell_complete=complete_datasets)
@depth_option
@_COLUMNS
@_INFLUENCES
@query_command("tree")
def upstream(options: QueryOptions, dataset: str, depth: int | None, columns: bool, influences: bool) -> None:
    """Show the upstream lineage of a dataset or column.

    DATASET is a unique short or qualified name, namespace|name, a URI, or an id.
    """
    _lineage(options, dataset, "up", depth, columns, influences)


@click.command(
    cls=Command,
    epilog=epilog(
        "lineage-merge downstream s3://tickit-raw/sales",
        "lineage-merge downstream s3://tickit-raw/sales#pricepaid --influences",
        "lineage-merge downstream s3://tickit-raw/sales --dag tickit_daily --format graphml",
    ),
)
@click.argument("dataset", metavar="DATASET[#COLUMN]", shell_complete=complete_datasets)
@depth_option
@_COLUMNS
@_INFLUENCES
@query_command("tree")
def downstream(
    options: QueryOptions, dataset: str, depth: int | None, columns: bool, influences: bool
) -> None:
    """Show the downstream lineage of a dataset or column.

    DATASET is a unique short or qualified name, namespace|name, a URI, or an id.
    """
    _lineage(options, dataset, "down", depth, columns, influences)


@click.command(
    cls=Command,
    short_help="Show all paths from one dataset or column to another.",
    epilog=epilog(
        "lineage-merge path s3://tickit-raw/sales top_events_by_sales",
        "lineage-merge path s3://tickit-raw/sales#pricepaid top_events_by_sales#total_sales --json",
    ),
)
@click.argument("start", metavar="FROM", shell_complete=complete_datasets)
@click.argument("end", metavar="TO", shell_complete=complete_datasets)
@depth_option
@_COLUMNS
@_INFLUENCES
@query_command("tree")
def path(
    options: QueryOptions, start: str, end: str, depth: int | None, columns: bool, influences: bool
) -> None:
    """Show all paths from one dataset to another, or from one column to another."""
    with open_session(options) as session:
        from lineage_merge.query.names import resolve_dataset_or_column
        from lineage_merge.query.paths import all_paths

        ends = [
            resolve_dataset_or_column(session.graph, each, session.environment, options.dag)
            for each in (start, end)
        ]
        found = all_paths(
            session.graph, *ends, depth=depth, dag=options.dag, columns=columns, influences=influences
        )
        header = options.header("path", session.environment, start=ends[0].id, end=ends[1].id, depth=depth)
        has_path = any(each.label in ("feeds", "feeds_column") for each in found.edges)
        note = "" if has_path else f"no path from {ends[0].title} to {ends[1].title}"
        print_answer(Answer(found, header, [ends[0].id], note=note), options.format)


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
@click.option(
    "--limit",
    cls=Option,
    more=True,
    type=click.IntRange(1),
    metavar="N",
    help="maximum number of results  [default: all]",
)
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
    with open_session(options) as session:
        from lineage_merge.query.dataset_search import DatasetFilter, search_datasets

        found = search_datasets(
            session.graph,
            search,
            session.environment,
            options.dag,
            DatasetFilter(tags, owners, without_owner, failed),
            limit=limit,
            columns=columns,
        )

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.dataset_table import dataset_table

            yield dataset_table(found)

        from lineage_merge.cli.dataset_table import dataset_fields

        header = options.header("datasets", session.environment, search=search, **dataset_fields(found))
        shown = [each.id for each in found.datasets] if columns else None
        note = "" if found.datasets else empty_note(session, options, "no matching dataset")
        listed = None if columns else tables
        print_answer(Answer(found.subgraph, header, shown, tables=listed, note=note), options.format)


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
    help="only newest runs that ended since 2026-11-01, or 1d, 36h, 90m ago",
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
    with open_session(options) as session:
        from lineage_merge.query.listing import jobs as listed

        found = listed(
            session.graph,
            search,
            session.environment,
            options.dag,
            since=since,
            failed=failed,
            order="duration" if slowest is not None else sort,
            limit=slowest or limit,
        )

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.answer_tables import job_table

            yield job_table(found.vertices.values())

        header = options.header("jobs", session.environment, search=search, since=since, failed=failed)
        note = "" if found.vertices else empty_note(session, options, "no matching job")
        print_answer(Answer(found, header, tables=tables, note=note), options.format)


def _print_listed(
    options: QueryOptions,
    question: str,
    listed: "Callable[[LineageGraph, str | None, str | None], Subgraph]",
    empty: str,
) -> None:
    with open_session(options) as session:
        found = listed(session.graph, session.environment, options.dag)
        note = "" if found.vertices else empty_note(session, options, empty)
        print_answer(Answer(found, options.header(question, session.environment), note=note), options.format)


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
    from lineage_merge.query.listing import no_consumer as listed

    _print_listed(options, "no-consumer", listed, "all written datasets have a consumer")


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
    from lineage_merge.query.listing import no_producer as listed

    _print_listed(options, "no-producer", listed, "all read datasets have a producer")


@click.command(
    cls=Command,
    short_help="List datasets that feed themselves.",
    epilog=epilog(
        "lineage-merge cycles",
        "lineage-merge cycles --environment prod --format mermaid",
    ),
)
@query_command("table")
def cycles(options: QueryOptions) -> None:
    """List datasets that feed themselves, directly or through others."""
    with open_session(options) as session:
        from lineage_merge.query.cycles import cycles as find_cycles

        found = find_cycles(session.graph, session.environment, options.dag)

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.answer_tables import cycle_table

            yield cycle_table(found)

        header = options.header("cycles", session.environment, groups=[list(each) for each in found.groups])
        note = "" if found.groups else empty_note(session, options, "no cycles")
        print_answer(Answer(found.subgraph, header, tables=tables, note=note), options.format)


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
    with open_session(options) as session:
        from lineage_merge.query.layers import Layer, check_layers, parse_layers

        declared = parse_layers(pairs) or tuple(
            Layer(name, globs) for name, globs in session.config.query.layers.items()
        )
        if len(declared) < 2:
            raise ConfigError(
                "query.layers", "at least two layers are required: set them here or with --layer"
            )
        found = check_layers(session.graph, declared, session.environment, options.dag, adjacent=adjacent)

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.answer_tables import layer_tables

            return layer_tables(found)

        header = options.header("layers", session.environment, datasets=found.datasets)
        header["breaches"] = [
            {
                "edge": each.edge.id,
                "from": each.edge.from_id,
                "to": each.edge.to_id,
                "from_layer": each.source,
                "to_layer": each.target,
                "skips": each.skipped,
            }
            for each in found.breaches
        ]
        note = "" if found.breaches else "no edge violates the order"
        print_answer(Answer(found.subgraph, header, tables=tables, note=note), options.format)


COMMANDS: tuple[click.Command, ...] = (
    datasets,
    jobs,
    upstream,
    downstream,
    path,
    impact,
    owners,
    no_consumer,
    no_producer,
    cycles,
    layers,
    diff,
    history,
    tags,
    check,
    *freshness_commands.COMMANDS,
)
