"""The command `html`."""

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lineage_merge.cli import question_commands
from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.completion import complete_datasets
from lineage_merge.cli.error_handling import handle_errors, print_json, progress
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command

if TYPE_CHECKING:
    from lineage_merge.exporters.page import Options
    from lineage_merge.graph_format.elements import Subgraph, Vertex


@command(
    "lineage-merge html --out lineage.html",
    "lineage-merge html --out lineage.html --focus top_events_by_sales",
    "lineage-merge html --out marts.html --folder lineage --dag tickit_daily",
    "lineage-merge html --out s3://docs/lineage.html -c lineage_merge.yml --environment prod",
    "lineage-merge html --out changes.html --moment 7d",
)
@click.option("--out", "location", required=True, metavar="FILE", help="output file, local or s3://")
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
    """Write the lineage as one HTML file that works offline.

    The file contains columns, jobs and expressions, and loads nothing from the network. Ages and freshness
    are as of its creation.
    DATASET is a unique short or qualified name, namespace|name, a URI, or an id.
    """
    if depth and not focus:
        raise click.UsageError("--depth requires --focus")
    if moments and options.folder:
        raise click.UsageError("--folder has no history: omit it with --moment")
    make = _page_of_moments if moments else _page
    now = question_commands.now_ms()
    page, graph = make(_Content(options, focus, depth, title, moments, older_than, now))
    columns = sum(vertex.label == "column" for vertex in graph.vertices.values())
    from lineage_merge.infra import storage

    with handle_errors():
        storage.write_text(location, page)
    header: dict[str, Any] = {
        "out": location,
        "datasets": len(graph.datasets),
        "columns": columns,
        "bytes": len(page.encode()),
    }
    if options.format == "json":
        print_json(header)
    else:
        click.echo(
            f"{location}: {header['datasets']:,} datasets, {columns:,} columns, {header['bytes']:,} bytes"
        )


class _Content(NamedTuple):
    """What the page shows, as options; `now`: its time in ms since 1970."""

    options: QueryOptions
    focus: str | None
    depth: int | None
    title: str | None
    moments: tuple[str, ...]
    older_than_ms: int | None
    now: int


def _page(content: _Content) -> "tuple[str, Subgraph]":
    """Return the page, and what it shows."""
    options, focus, depth = content.options, content.focus, content.depth
    with open_session(options) as session:
        from lineage_merge.exporters.page import render
        from lineage_merge.exporters.page.selection import entire_graph, neighborhood
        from lineage_merge.questions.expectations import Expectations
        from lineage_merge.questions.staleness import freshness_within

        start = None
        if focus:
            start, graph = neighborhood(session.graph, focus, depth, session.environment, options.dag)
        else:
            graph = entire_graph(session.graph, session.environment, options.dag)
        freshness = freshness_within(
            session.graph,
            (dataset.id for dataset in graph.datasets),
            Expectations(content.now, content.older_than_ms, session.config.policies),
            environment=session.environment,
            dag=options.dag,
        )
        page = render(graph, _options(content, start, options.source(session.config)), freshness)
        if hint := session.empty_hint():
            click.echo(hint, err=True)
    return page, graph


def _page_of_moments(content: _Content) -> "tuple[str, Subgraph]":
    """Return the page of several moments from the history, and what it shows of the newest."""
    options = content.options
    with handle_errors(), progress(True) as on_progress:
        config, environment = options.config()
        from lineage_merge.cli.page_moments import read_moments
        from lineage_merge.exporters.page import render_moments
        from lineage_merge.infra import storage
        from lineage_merge.query.session import require_history
        from lineage_merge.questions.expectations import Expectations

        history = require_history(options.history, config, options.graph_file)
        moments = read_moments(
            history,
            content.moments,
            options.as_of or "now",
            environment,
            options.dag,
            content.focus,
            content.depth,
            Expectations(content.now, content.older_than_ms, config.policies),
            on_progress,
        )
        source = f"history {storage.shown(history)}"
        page = render_moments(moments.moments, moments.changes, _options(content, moments.start, source))
    return page, moments.moments[-1].graph


def _options(content: _Content, start: "Vertex | None", source: str) -> "Options":
    from lineage_merge.exporters.page import Options
    from lineage_merge.model.times import utc_time

    return Options(
        title=content.title or (start.name if start else content.options.dag) or "Lineage",
        focus=start.id if start else "",
        source=source,
        made_at=utc_time(content.now),
    )
