"""The command `serve`."""

from pathlib import Path

import click

from lineage_merge.cli.error_handling import epilog, handle_errors


@click.command(
    epilog=epilog(
        "lineage-merge serve",
        "lineage-merge serve --port 8182 --graph-file lineage.json",
    )
)
@click.option("--port", type=click.IntRange(1, 65535), default=8182, show_default=True, help="listen port")
@click.option(
    "--graph-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="graph file (GraphSON)  [default: that of demo, run and load]",
)
def serve(port: int, graph_file: Path | None) -> None:
    """Run the embedded Gremlin Server for a notebook or console.

    It serves the graph of `demo`, `run` and `load` with the endpoint `embedded`, and prints a new random
    password at each start.
    """
    with handle_errors():
        from lineage_merge.infra.embedded.graph_store import default_graph_file
        from lineage_merge.infra.embedded.serving import serve as keep_serving

        keep_serving(graph_file or default_graph_file(), port, lambda line: click.echo(line))
