"""The command `serve`."""

from pathlib import Path

import click

from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import handle_errors
from lineage_merge.cli.graph_options import (
    demo_option,
    graph_file_option,
    select_graph_file,
)
from lineage_merge.query.session import require_graph_file


@command(
    "lineage-merge serve",
    "lineage-merge serve --demo",
    "lineage-merge serve --port 8182 --graph-file lineage.json",
)
@click.option("--port", type=click.IntRange(1, 65535), default=8182, show_default=True, help="listen port")
@graph_file_option
@demo_option
def serve(port: int, graph_file: Path | None, demo: bool) -> None:
    """Run the embedded Gremlin Server for a notebook or console.

    It serves the graph of `run` and `load` with the endpoint `embedded`, and prints a new random password at
    each start.
    """
    with handle_errors():
        selected = select_graph_file(graph_file, demo)
        if demo:
            require_graph_file(selected, demo)
        from lineage_merge.infra.embedded.serving import serve as keep_serving
        from lineage_merge.infra.graph_files import default_graph_file

        keep_serving(selected or default_graph_file(), port, lambda line: click.echo(line))
