"""The command `html`."""

from typing import Any

import click

from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets
from lineage_merge.cli.error_handling import epilog, print_json
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command


@click.command(
    cls=Command,
    epilog=epilog(
        "lineage-merge html --out lineage.html",
        "lineage-merge html --out lineage.html --focus top_events_by_sales",
        "lineage-merge html --out marts.html --folder lineage --dag tickit_daily",
        "lineage-merge html --out s3://docs/lineage.html -c lineage_merge.yml --environment prod",
    ),
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
@click.option("--title", metavar="TEXT", help="title of the page  [default: the DAG, the focus, or Lineage]")
@query_command("text", formats=("text", "json"))
def html(
    options: QueryOptions, location: str, focus: str | None, depth: int | None, title: str | None
) -> None:
    """Write the lineage as one HTML file that works offline.

    The file contains columns, jobs and expressions, and loads nothing from the network.
    DATASET is a unique short or qualified name, namespace|name, a URI, or an id.
    """
    if depth and not focus:
        raise click.UsageError("--depth requires --focus")
    with open_session(options) as session:
        from datetime import UTC, datetime

        from lineage_merge.exporters.page import Options, render
        from lineage_merge.exporters.page.selection import entire_graph, neighborhood
        from lineage_merge.infra import storage

        start = None
        if focus:
            start, graph = neighborhood(session.graph, focus, depth, session.environment, options.dag)
        else:
            graph = entire_graph(session.graph, session.environment, options.dag)
        page = render(
            graph,
            Options(
                title=title or (start.name if start else options.dag) or "Lineage",
                focus=start.id if start else "",
                source=options.source(session.config),
                made_at=datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M UTC"),
            ),
        )
        storage.write_text(location, page)
        if hint := session.empty_hint():
            click.echo(hint, err=True)
    columns = sum(each.label == "column" for each in graph.vertices.values())
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
