"""Query commands about late or wrong data: `freshness`, `tests` and `why`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli import time_options
from lineage_merge.cli.answers import Answer, print_answer
from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command

if TYPE_CHECKING:
    from lineage_merge.query.assertions import Check
    from lineage_merge.query.causes import Cause
    from lineage_merge.query.elements import Vertex
    from lineage_merge.query.freshness import Freshness
    from lineage_merge.query.interface.session import Session

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
@time_options.older_than
@click.option("--stale", is_flag=True, help="only stale datasets")
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="maximum number of datasets  [default: all]"
)
@query_command("table", formats=_FORMATS)
def freshness(
    options: QueryOptions, name: str | None, older_than: int | None, stale: bool, limit: int | None
) -> None:
    """List a dataset with its upstream, or all datasets, by last update: oldest first, unknown last.

    A dataset is stale if it is older than --older-than, if its freshness check failed or warned, if an input
    was updated after it, or if an upstream dataset is stale. "because of" names the nearest one.
    """
    now = time_options.now_ms()
    with open_session(options) as session:
        from lineage_merge.query.elements import subgraph
        from lineage_merge.query.formats.freshness_tables import freshness_counts, freshness_tables
        from lineage_merge.query.freshness import freshness as assess

        start = _resolve(session, options, name)
        found = assess(
            session.graph,
            start,
            now=now,
            older_than_ms=older_than,
            environment=session.environment,
            dag=options.dag,
        )
        shown = [each for each in found if not stale or each.status == "stale"][:limit]
        header = options.header(
            "freshness",
            session.environment,
            of=start.id if start else None,
            now=now,
            older_than_ms=older_than,
            counts=freshness_counts(found),
            datasets=[_freshness_json(each) for each in shown],
        )
        note = "" if found else session.empty_note("no datasets")

        def tables() -> Iterator[Any]:
            return freshness_tables(shown, found)

        graph = subgraph(each.dataset for each in shown)
        print_answer(Answer(graph, header, tables=tables, note=note), options.format)


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
    with open_session(options) as session:
        from dataclasses import replace

        from lineage_merge.query.assertions import all_checks, checks_upstream
        from lineage_merge.query.elements import subgraph
        from lineage_merge.query.formats.freshness_tables import check_tables

        start = _resolve(session, options, name)
        if start is None:
            found, scope = all_checks(session.graph, session.environment, options.dag), ""
        else:
            found = checks_upstream(session.graph, start, depth=depth, dag=options.dag)
            scope = f" of {start.title} and upstream"
        shown = replace(found, checks=found.failed()) if failed else found
        header = options.header(
            "tests",
            session.environment,
            of=start.id if start else None,
            depth=depth,
            tests=[_check_json(each) for each in shown.checks],
            datasets_without_tests=[each.id for each in found.unchecked] if start else None,
        )
        note = ""
        if not shown.checks:
            note = "no failed tests" if failed and found.checks else f"no tests{scope}"
            note = session.empty_note(note)

        def tables() -> Iterator[Any]:
            return check_tables(found, shown, scope)

        graph = subgraph(vertex for each in shown.checks for vertex in (each.assertion, each.checked))
        print_answer(Answer(graph, header, tables=tables, note=note), options.format)


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
@time_options.older_than
@_DEPTH
@query_command("table", formats=_FORMATS)
def why(options: QueryOptions, name: str, older_than: int | None, depth: int | None) -> None:
    """Find the nearest causes, at a dataset and upstream of it, why its data may be late or wrong.

    Causes are failed and missing runs, stale sources, inputs that were updated after the dataset, and failed
    tests. For a column: at the datasets of the columns from which it is computed.
    """
    now = time_options.now_ms()
    with open_session(options) as session:
        from lineage_merge.query.causes import diagnose
        from lineage_merge.query.elements import subgraph
        from lineage_merge.query.formats.freshness_tables import cause_lines, cause_table
        from lineage_merge.query.names import resolve_dataset_or_column

        start = resolve_dataset_or_column(session.graph, name, session.environment, options.dag)
        found = diagnose(
            session.graph, start, now=now, depth=depth, older_than_ms=older_than, dag=options.dag
        )
        scope = ("--environment", session.environment) if session.environment else ()
        header = options.header(
            "why",
            session.environment,
            of=start.id,
            depth=depth,
            now=now,
            older_than_ms=older_than,
            causes=[_cause_json(each, scope) for each in found.causes],
            checked=found.counts,
        )
        known = found.situation.upstream.datasets
        vertices = [each.finding.element for each in found.causes]
        vertices += [known[each] for cause in found.causes for each in cause.path if each in known]

        def tables() -> Iterator[Any]:
            return cause_lines(start.title, found, scope)

        def rows() -> Iterator[Any]:
            yield cause_table(found, scope)

        note = "" if found.causes else f"{start.title}: no cause found"
        print_answer(Answer(subgraph(vertices), header, tables=tables, rows=rows, note=note), options.format)


def _resolve(session: "Session", options: QueryOptions, name: str | None) -> "Vertex | None":
    from lineage_merge.query.names import resolve_dataset_or_column

    if name is None:
        return None
    return resolve_dataset_or_column(session.graph, name, session.environment, options.dag)


def _freshness_json(found: "Freshness") -> dict[str, Any]:
    update, cause = found.update, found.because_of
    check = update.check
    return {
        "dataset": found.dataset.id,
        "status": found.status,
        "reasons": list(found.reasons),
        "age_ms": found.age_ms,
        "updated_at": update.updated_at,
        "written_at": update.written_at,
        "failed_at": update.failed_at,
        "max_loaded_at": update.loaded_at,
        "freshness_check": {
            "assertion": check.id,
            "status": check.properties.get("status"),
            "checked_at": check.properties.get("last_run_at"),
        }
        if check
        else None,
        "jobs": [each.id for each in update.jobs],
        "because_of": {"dataset": cause.dataset, "distance": cause.distance} if cause else None,
    }


def _check_json(found: "Check") -> dict[str, Any]:
    held = found.assertion.properties
    return {
        "assertion": found.assertion.id,
        "name": found.assertion.name,
        "type": held.get("assertion_type"),
        "dataset": found.dataset,
        "checked": found.checked.id,
        "column": found.column or None,
        "distance": found.distance,
        "severity": held.get("severity"),
        "status": found.status or None,
        "failures": held.get("failures"),
        "last_run_at": held.get("last_run_at"),
    }


def _cause_json(found: "Cause", scope: tuple[str, ...]) -> dict[str, Any]:
    from lineage_merge.query.formats.freshness_tables import command_text

    finding = found.finding
    return {
        "kind": found.kind,
        "distance": found.distance,
        "dataset": found.dataset,
        "element": finding.element.id,
        "evidence": finding.evidence,
        "at": finding.at,
        "status": finding.status or None,
        "failures": finding.failures,
        "other": finding.other,
        "other_at": finding.other_at,
        "path": list(found.path),
        "next": command_text(finding.next, scope),
    }


COMMANDS: tuple[click.Command, ...] = (freshness, tests, why)
