"""The command that keeps the embedded graph open."""

from pathlib import Path

import click

from lineage_merge.cli.error_handling import epilog, reported


@click.command(
    epilog=epilog(
        "lineage-merge serve",
        "lineage-merge serve --port 8182 --graph-file lineage.json",
    )
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8182, show_default=True, help="port to listen on"
)
@click.option(
    "--graph-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="the graph, as GraphSON  [default: the one that demo, run and load use]",
)
def serve(port: int, graph_file: Path | None) -> None:
    """Keep the embedded Gremlin Server running, for a notebook or a console.

    The graph is that of `demo`, `run` and `load` with the endpoint `embedded`. Prints the password, which
    is a random one per start.
    """
    with reported():
        from lineage_merge.infra.embedded.graph_store import default_graph_file
        from lineage_merge.infra.embedded.serving import serve as keep_serving

        keep_serving(graph_file or default_graph_file(), port, lambda line: click.echo(line))
