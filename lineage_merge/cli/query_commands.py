"""The commands that ask the graph. Whatever is heavy is imported inside them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import Answer, print_answer
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, Session, asking, asks
from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.query.graph import Direction

_DEPTH = click.option(
    "--depth", type=click.IntRange(1), metavar="N", help="at most so many hops  [default: to the ends]"
)
_COLUMNS = click.option(
    "--columns", is_flag=True, help="with the datasets' columns and what they are made of"
)
_INFLUENCES = click.option(
    "--influences",
    is_flag=True,
    help="also which columns decide on rows (filters, joins); they lead no further",
)
_SEARCH = click.option("--search", metavar="TEXT", default="", help="only those whose names hold this")
_LIMIT = click.option("--limit", type=click.IntRange(1), metavar="N", help="the first N only")


def _lineage(
    asked: QueryOptions,
    dataset: str,
    direction: "Direction",
    depth: int | None,
    columns: bool,
    influences: bool,
) -> None:
    with asking(asked) as session:
        from lineage_merge.query.lineage import lineage
        from lineage_merge.query.names import dataset_or_column

        start = dataset_or_column(session.graph, dataset, session.environment, asked.dag)
        found = lineage(
            session.graph,
            start,
            direction,
            depth=depth,
            dag=asked.dag,
            columns=columns,
            influences=influences,
        )
        question = "upstream" if direction == "up" else "downstream"
        told = asked.told(question, session.environment, of=start.id, depth=depth)
        nothing = f"{start.title}: {'nothing feeds it' if direction == 'up' else 'it feeds nothing'}"
        note = "" if any(each.label != "has_column" for each in found.edges) else nothing
        print_answer(Answer(found, told, [start.id], direction, note=note), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge upstream top_events_by_sales",
        "lineage-merge upstream top_events_by_sales#total_sales",
        "lineage-merge upstream dev.public.sales --environment dev --depth 2 --columns",
        "lineage-merge upstream top_events_by_sales --folder lineage --format mermaid",
    )
)
@click.argument("dataset", metavar="DATASET[#COLUMN]")
@_DEPTH
@_COLUMNS
@_INFLUENCES
@asks("tree")
def upstream(asked: QueryOptions, dataset: str, depth: int | None, columns: bool, influences: bool) -> None:
    """Show what a dataset, or a column of it, comes from.

    DATASET is a short or qualified name that is unique, namespace|name, a URI, or an id.
    """
    _lineage(asked, dataset, "up", depth, columns, influences)


@click.command(
    epilog=epilog(
        "lineage-merge downstream s3://tickit-raw/sales",
        "lineage-merge downstream s3://tickit-raw/sales#pricepaid --influences",
        "lineage-merge downstream s3://tickit-raw/sales --dag tickit_daily --format graphml",
    )
)
@click.argument("dataset", metavar="DATASET[#COLUMN]")
@_DEPTH
@_COLUMNS
@_INFLUENCES
@asks("tree")
def downstream(asked: QueryOptions, dataset: str, depth: int | None, columns: bool, influences: bool) -> None:
    """Show what a dataset, or a column of it, goes into.

    DATASET is a short or qualified name that is unique, namespace|name, a URI, or an id.
    """
    _lineage(asked, dataset, "down", depth, columns, influences)


@click.command(
    epilog=epilog(
        "lineage-merge path s3://tickit-raw/sales top_events_by_sales",
        "lineage-merge path s3://tickit-raw/sales#pricepaid top_events_by_sales#total_sales --json",
    )
)
@click.argument("start", metavar="FROM")
@click.argument("end", metavar="TO")
@_DEPTH
@_COLUMNS
@_INFLUENCES
@asks("tree")
def path(
    asked: QueryOptions, start: str, end: str, depth: int | None, columns: bool, influences: bool
) -> None:
    """Show every way from one dataset to another, or from one column to another."""
    with asking(asked) as session:
        from lineage_merge.query.names import dataset_or_column
        from lineage_merge.query.paths import way

        ends = [
            dataset_or_column(session.graph, each, session.environment, asked.dag) for each in (start, end)
        ]
        found = way(session.graph, *ends, depth=depth, dag=asked.dag, columns=columns, influences=influences)
        told = asked.told("path", session.environment, start=ends[0].id, end=ends[1].id, depth=depth)
        leads = any(each.label in ("feeds", "feeds_column") for each in found.edges)
        note = "" if leads else f"no way leads from {ends[0].title} to {ends[1].title}"
        print_answer(Answer(found, told, [ends[0].id], note=note), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge impact s3://tickit-raw/sales",
        "lineage-merge impact s3://tickit-raw/sales#pricepaid",
        "lineage-merge impact tickit_sales_ingest --json",
    )
)
@click.argument("what", metavar="DATASET[#COLUMN]|JOB")
@_DEPTH
@asks("table")
def impact(asked: QueryOptions, what: str, depth: int | None) -> None:
    """Count and list what depends on a dataset, a column or a job.

    Datasets, columns, jobs, DAGs and exposures downstream. Of a column also the datasets whose rows it
    decides on (steered). Of a job: of the datasets that it writes, and these themselves.
    """
    with asking(asked) as session:
        from lineage_merge.query.impact import impact as impact_of
        from lineage_merge.query.names import anything

        changed = anything(session.graph, what, session.environment, asked.dag)
        found = impact_of(session.graph, changed, depth=depth, dag=asked.dag)
        lists = {
            key: [each.id for each in getattr(found, key)]
            for key in ("datasets", "steered", "columns", "jobs", "exposures")
        }
        told = asked.told("impact", session.environment, of=changed.id, depth=depth)
        told |= {"counts": found.counts, **lists, "dags": list(found.dags)}

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.answer_tables import impact_tables

            return impact_tables(changed, found)

        print_answer(Answer(found.subgraph, told, [changed.id], tables=tables), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge datasets --search sales",
        "lineage-merge datasets --environment dev --dag tickit_daily --columns --format tree",
    )
)
@_SEARCH
@_LIMIT
@click.option("--columns", is_flag=True, help="with their columns")
@asks("table")
def datasets(asked: QueryOptions, search: str, limit: int | None, columns: bool) -> None:
    """List datasets, or those whose names hold a text."""
    with asking(asked) as session:
        from lineage_merge.query.listing import datasets as listed

        found = listed(session.graph, search, session.environment, asked.dag, limit=limit, columns=columns)
        told = asked.told("datasets", session.environment, search=search)
        shown = [each.id for each in found.datasets] if columns else None
        note = "" if found.vertices else _nothing(session, asked, "no dataset has such a name")
        print_answer(Answer(found, told, shown, note=note), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge jobs",
        "lineage-merge jobs --search ingest --environment prod",
    )
)
@_SEARCH
@_LIMIT
@asks("table")
def jobs(asked: QueryOptions, search: str, limit: int | None) -> None:
    """List jobs with their DAG and newest run."""
    with asking(asked) as session:
        from lineage_merge.query.listing import jobs as listed

        found = listed(session.graph, search, session.environment, asked.dag, limit=limit)

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.answer_tables import job_table

            yield job_table(found.vertices.values())

        told = asked.told("jobs", session.environment, search=search)
        shown = tables if found.vertices else None
        note = "" if found.vertices else _nothing(session, asked, "no job has such a name")
        print_answer(Answer(found, told, tables=shown, note=note), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge unused",
        "lineage-merge unused --environment prod --dag tickit_daily",
    )
)
@asks("table")
def unused(asked: QueryOptions) -> None:
    """List datasets that a job writes and nobody reads.

    With --dag those that a job of this DAG writes and that no DAG reads. An exposure counts as a reader,
    the dataset itself does not.
    """
    with asking(asked) as session:
        from lineage_merge.query.listing import unused as listed

        found = listed(session.graph, session.environment, asked.dag)
        note = "" if found.vertices else _nothing(session, asked, "everything that is written is read")
        print_answer(Answer(found, asked.told("unused", session.environment), note=note), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge unfed",
        "lineage-merge unfed --folder lineage --json",
    )
)
@asks("table")
def unfed(asked: QueryOptions) -> None:
    """List datasets that a job reads and nothing feeds: what comes from outside, or is not merged yet.

    With --dag those that a job of this DAG reads and that no DAG writes.
    """
    with asking(asked) as session:
        from lineage_merge.query.listing import unfed as listed

        found = listed(session.graph, session.environment, asked.dag)
        note = "" if found.vertices else _nothing(session, asked, "everything that is read is fed")
        print_answer(Answer(found, asked.told("unfed", session.environment), note=note), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge cycles",
        "lineage-merge cycles --environment prod --format mermaid",
    )
)
@asks("table")
def cycles(asked: QueryOptions) -> None:
    """List datasets that feed themselves, by way of others or at once."""
    with asking(asked) as session:
        from lineage_merge.query.cycles import cycles as circles

        found = circles(session.graph, session.environment, asked.dag)

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.answer_tables import cycle_table

            yield cycle_table(found)

        told = asked.told("cycles", session.environment, groups=[list(each) for each in found.groups])
        note = "" if found.groups else _nothing(session, asked, "no dataset feeds itself")
        shown = tables if found.groups else None
        print_answer(Answer(found.subgraph, told, tables=shown, note=note), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge diff --environment dev prod",
        "lineage-merge diff --environment dev prod --dag tickit_daily --json",
    )
)
@click.option(
    "--environment", "both", nargs=2, required=True, metavar="A B", help="the two environments to compare"
)
@asks("table", environment=False, formats=("table", "json"))
def diff(asked: QueryOptions, both: tuple[str, str]) -> None:
    """Show which datasets, feeds and columns one environment has and another has not.

    They are compared by identity without the environment. Columns are those of datasets that both have.
    """
    with asking(asked) as session:
        from lineage_merge.query.comparison import compare
        from lineage_merge.query.elements import Subgraph

        found = compare(session.graph, *both, asked.dag)

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.answer_tables import comparison_tables

            return comparison_tables(found)

        if asked.format == "json":
            from lineage_merge.cli.error_handling import print_json

            sides = {each.environment: each.as_json() for each in (found.only_left, found.only_right)}
            print_json({"question": "diff", "environments": list(both), "dag": asked.dag, "only": sides})
        else:
            same = found.only_left.is_empty and found.only_right.is_empty
            note = f"{both[0]} and {both[1]} have the same" if same else ""
            print_answer(Answer(Subgraph(), tables=tables, note=note), asked.format)


@click.command(
    epilog=epilog(
        "lineage-merge layers --layer 'raw=s3://*-raw/*' --layer 'mart=*_marts.*'",
        "lineage-merge layers --config lineage_merge.yml --adjacent --json",
    )
)
@click.option(
    "--layer",
    "pairs",
    multiple=True,
    metavar="NAME=GLOB",
    help="a layer, the first first; given again it has one more glob  [default: query.layers]",
)
@click.option("--adjacent", is_flag=True, help="also edges that leave a layer out")
@asks("table")
def layers(asked: QueryOptions, pairs: tuple[str, ...], adjacent: bool) -> None:
    """List edges that break a declared order of layers, such as raw, staging, lake, mart.

    A dataset is in the first layer with a glob that its path, its name or namespace|name fits. What is in
    no layer breaks no order.
    """
    with asking(asked) as session:
        from lineage_merge.query.layers import Layer, layering, parse_layers

        declared = parse_layers(pairs) or tuple(
            Layer(name, globs) for name, globs in session.config.query.layers.items()
        )
        if len(declared) < 2:
            raise ConfigError("query.layers", "an order needs two layers: give them here or by --layer")
        found = layering(session.graph, declared, session.environment, asked.dag, adjacent=adjacent)

        def tables() -> Iterator[Any]:
            from lineage_merge.cli.answer_tables import layer_tables

            return layer_tables(found)

        told = asked.told("layers", session.environment, datasets=found.datasets)
        told["breaches"] = [
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
        note = "" if found.breaches else "no edge breaks the order"
        print_answer(Answer(found.subgraph, told, tables=tables, note=note), asked.format)


def _nothing(session: Session, asked: QueryOptions, note: str) -> str:
    """Return the note of an empty answer. Raises `NotFound` where environment or DAG are unknown."""
    from lineage_merge.query.names import check_scope

    check_scope(session.graph, session.environment, asked.dag)
    return note


COMMANDS: tuple[click.Command, ...] = (
    upstream,
    downstream,
    path,
    impact,
    datasets,
    jobs,
    unused,
    unfed,
    cycles,
    diff,
    layers,
)
