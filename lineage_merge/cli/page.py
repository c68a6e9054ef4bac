"""The command that writes the page."""

from typing import Any

import click

from lineage_merge.cli.error_handling import epilog, print_json
from lineage_merge.cli.query_options import QueryOptions, asking, asks


@click.command(
    epilog=epilog(
        "lineage-merge html --out lineage.html",
        "lineage-merge html --out lineage.html --focus top_events_by_sales",
        "lineage-merge html --out marts.html --folder lineage --dag tickit_daily",
        "lineage-merge html --out s3://docs/lineage.html -c lineage_merge.yml --environment prod",
    )
)
@click.option("--out", "location", required=True, metavar="FILE", help="where the page goes; s3:// too")
@click.option("--focus", metavar="DATASET", help="only what this dataset comes from and goes to")
@click.option(
    "--depth", type=click.IntRange(1), metavar="N", help="with --focus: so many hops  [default: to the ends]"
)
@click.option("--title", metavar="TEXT", help="what stands above  [default: the DAG, the focus, or Lineage]")
@asks("text", formats=("text", "json"))
def html(asked: QueryOptions, location: str, focus: str | None, depth: int | None, title: str | None) -> None:
    """Write the lineage as one HTML file that works offline.

    Columns, jobs and expressions are in it; it loads nothing from the network when it is opened.
    DATASET is a short or qualified name that is unique, namespace|name, a URI, or an id.
    """
    if depth and not focus:
        raise click.UsageError("--depth counts from a dataset: give --focus too")
    with asking(asked) as session:
        from datetime import UTC, datetime

        from lineage_merge.exporters.page import Options, render
        from lineage_merge.exporters.page.selection import entire_graph, neighborhood
        from lineage_merge.infra import storage

        start = None
        if focus:
            start, graph = neighborhood(session.graph, focus, depth, session.environment, asked.dag)
        else:
            graph = entire_graph(session.graph, session.environment, asked.dag)
        page = render(
            graph,
            Options(
                title=title or (start.name if start else asked.dag) or "Lineage",
                focus=start.id if start else "",
                source=asked.folder or session.config.gremlin.endpoint,
                made_at=datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M UTC"),
            ),
        )
        storage.write_text(location, page)
    columns = sum(each.label == "column" for each in graph.vertices.values())
    told: dict[str, Any] = {
        "out": location,
        "datasets": len(graph.datasets),
        "columns": columns,
        "bytes": len(page.encode()),
    }
    if asked.format == "json":
        print_json(told)
    else:
        click.echo(f"{location}: {told['datasets']:,} datasets, {columns:,} columns, {told['bytes']:,} bytes")
