"""The command `html`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_merge.cli import question_commands
from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.completion import complete_datasets
from lineage_merge.cli.error_handling import handle_errors, print_json, progress
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command

if TYPE_CHECKING:
    from lineage_merge.graph_format.elements import Vertex


@command(
    "lineage-merge html --out lineage.html",
    "lineage-merge html --out lineage.html --focus top_events_by_sales",
    "lineage-merge html --out lineage/ --folder lineage_build",
    "lineage-merge html --out marts.html --folder lineage --dag tickit_daily",
    "lineage-merge html --out s3://docs/lineage.html -c lineage_merge.yml --environment prod",
    "lineage-merge html --out changes.html --moment 7d",
)
@click.option(
    "--out",
    "location",
    required=True,
    metavar="FILE",
    help="output file, or a folder/ for graphs of any size; local or s3://",
)
@click.option(
    "--focus",
    metavar="DATASET",
    shell_complete=complete_datasets,
    help="only the lineage of this dataset",
)
@click.option(
    "--depth", type=click.IntRange(1), metavar="N", help="maximum hops from --focus  [default: unlimited]"
)
@click.option(
    "--moment",
    "moments",
    metavar="TIME",
    multiple=True,
    help="also embed the lineage of then, to compare (repeatable)",
)
@rare_option(
    "--older-than",
    callback=question_commands.parse_age,
    metavar="DURATION",
    help="age from which any dataset is stale: 90m, 36h, 1d, 2w  [default: that of checks and policies]",
)
@rare_option("--title", metavar="TEXT", help="title of the page  [default: the DAG, the focus, or Lineage]")
@query_command("text", formats=("text", "json"))
def html(
    options: QueryOptions,
    location: str,
    focus: str | None,
    depth: int | None,
    moments: tuple[str, ...],
    older_than: int | None,
    title: str | None,
) -> None:
    """Write the lineage as an HTML page, a file or a folder.

    The file contains columns, jobs and expressions, and loads nothing from the network. Ages and freshness
    are as of its creation. FILE with a slash at its end (lineage/) is a folder with index.html, which loads
    what a view needs: it has no limit of 20,000 datasets.
    DATASET is a unique short or qualified name, namespace|name, a URI, or an id.
    """
    if depth and not focus:
        raise click.UsageError("--depth requires --focus")
    # A name that ends in a slash, or a folder that exists.
    writes_folder = location.endswith("/") or Path(location).expanduser().is_dir()
    # The company of the demo has a history; without its graph, the session says what to do.
    is_complete = options.demo and not moments and not writes_folder
    if is_complete and options.graph_file and options.graph_file.exists():
        moments = ("7d",)
    if moments and options.folder:
        raise click.UsageError("--folder has no history: omit it with --moment")
    if writes_folder:
        _write_folder(options, location, focus, moments, older_than, title)
        return
    now = question_commands.now_ms()
    with handle_errors(), progress(True) as on_progress:
        from lineage_merge.cli.page_topics import read_topics
        from lineage_merge.exporters.page import Options, render, render_moments
        from lineage_merge.exporters.page.selection import entire_graph, neighborhood
        from lineage_merge.infra import storage
        from lineage_merge.model.times import utc_time
        from lineage_merge.questions.traversal.staleness import Expectations, freshness_within

        start: Vertex | None = None
        if moments:
            from lineage_merge.cli.page_moments import read_moments
            from lineage_merge.query.session import require_history

            config, environment = options.config()
            history = require_history(options.history, config, options.graph_file)
            source = f"history {storage.redact_location(history)}"
            expectations = Expectations(now, older_than, config.policies)
            newest, scope = options.as_of or "now", (environment, options.dag)
            shown = read_moments(history, moments, newest, *scope, focus, depth, expectations, on_progress)
            start, graph = shown.start, shown.moments[-1].graph
            topics, usage, near_misses = read_topics(shown.graph, graph, config, *scope, now)
            write = partial(render_moments, shown.moments, shown.changes)
        else:
            with open_session(options) as session:
                scope = (session.environment, session.dag)
                source = options.source(session.config)
                if focus:
                    start, graph = neighborhood(session.graph, focus, depth, *scope)
                else:
                    graph = entire_graph(session.graph, *scope)
                ids = (dataset.id for dataset in graph.datasets)
                expectations = Expectations(now, older_than, session.config.policies)
                freshness = freshness_within(
                    session.graph, ids, expectations, environment=session.environment, dag=session.dag
                )
                topics, usage, near_misses = read_topics(session.graph, graph, session.config, *scope, now)
                write = partial(render, graph, freshness=freshness)
                if hint := session.empty_hint():
                    click.echo(hint, err=True)
        default_title = (start.name if start else options.dag) or "Lineage"
        page = write(
            options=Options(
                title=title or default_title,
                focus=start.id if start else "",
                source=source,
                made_at=utc_time(now),
            ),
            usage=usage,
            near_misses=near_misses,
            topics=topics,
        )
        storage.write_text(location, page)
    counts = {
        "datasets": len(graph.datasets),
        "columns": sum(vertex.label == "column" for vertex in graph.vertices.values()),
        "bytes": len(page.encode()),
    }
    _print_counts(options, location, counts)


def _write_folder(
    options: QueryOptions,
    location: str,
    focus: str | None,
    moments: tuple[str, ...],
    older_than: int | None,
    title: str | None,
) -> None:
    with handle_errors(), progress(False) as on_progress:
        from lineage_merge.cli.page_folder import check_options, write_folder
        from lineage_merge.exporters.page import Options
        from lineage_merge.model.times import utc_time
        from lineage_merge.questions.traversal.staleness import Expectations

        check_options({"--focus": bool(focus), "--moment": bool(moments)})
        now = question_commands.now_ms()
        with open_session(options) as session:
            described = Options(
                title=title or options.dag or "Lineage",
                source=options.source(session.config),
                made_at=utc_time(now),
            )
            expectations = Expectations(now, older_than, session.config.policies)
            counts = write_folder(session, location, described, expectations, on_progress)
            if hint := session.empty_hint():
                click.echo(hint, err=True)
    _print_counts(options, location, counts)


def _print_counts(options: QueryOptions, location: str, counts: dict[str, int]) -> None:
    if options.format == "json":
        print_json({"out": location, **counts})
    else:
        click.echo(f"{location}: {', '.join(f'{number:,} {noun}' for noun, number in counts.items())}")
