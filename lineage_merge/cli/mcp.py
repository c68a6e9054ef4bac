"""The command `mcp`: questions of assistants over the Model Context Protocol."""

from importlib.util import find_spec
from pathlib import Path

import click

from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.error_handling import handle_errors
from lineage_merge.cli.graph_options import history_option, is_typed, select_config, select_graph_file
from lineage_merge.cli.options import with_config_file
from lineage_merge.cli.query_options import environment_option, graph_options
from lineage_merge.model.errors import ConfigError
from lineage_merge.query.selection import EMBEDDED, GraphSelection


@command(
    "lineage-merge mcp",
    "lineage-merge mcp --config lineage_merge.yml --environment prod",
    "lineage-merge mcp --folder s3://lineage/built",
    "lineage-merge mcp --demo --http 8765",
    short_help="Answer questions of assistants (Model Context Protocol).",
)
@click.option(
    "--http",
    "port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="serve over HTTP on this machine only  [default: standard input and output; 0: any free port]",
)
@click.option(
    "--token-env",
    metavar="NAME",
    help="environment variable with the token that HTTP clients send  [default: a random one, printed]",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="file with this token, which only you can read",
)
@rare_option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="loopback address to listen on: 127.0.0.1 or ::1",
)
@rare_option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=50,
    show_default=True,
    metavar="SECONDS",
    help="time limit of a question",
)
@rare_option(
    "--answer-size",
    type=click.IntRange(min=4_000),
    default=8_000,
    show_default=True,
    metavar="N",
    help="maximum characters of an answer; longer ones have several pages",
)
@environment_option
@graph_options
@history_option
@with_config_file
def mcp(
    port: int | None,
    token_env: str | None,
    token_file: Path | None,
    host: str,
    timeout: float,
    answer_size: int,
    environment: str | None,
    dag: str | None,
    folder: str | None,
    endpoint: str | None,
    graph_file: Path | None,
    demo: bool,
    history: str,
    config_file: Path | None,
) -> None:
    """Answer questions of assistants over the Model Context Protocol, with tools that only read.

    An assistant starts this command itself: docs/assistants.md has the configuration of clients.
    """
    with handle_errors():
        if find_spec("mcp") is None:
            raise ConfigError("", "a package is missing: pip install 'lineage-merge[mcp]'")
        if port is None and (token_env or token_file or is_typed("host")):
            raise click.UsageError("--host, --token-env and --token-file need --http PORT")
        selected = select_graph_file(graph_file, demo, endpoint, folder)
        selection = GraphSelection(
            file=select_config(config_file, demo),
            endpoint=EMBEDDED if selected else endpoint,
            folder=folder,
            environment=None if demo and not is_typed("environment") else environment,
            dag=dag,
            graph_file=selected,
            demo=demo,
            history=history,
        )
        selection.config()  # report an invalid configuration at the start
        _serve(selection, port, host, token_env, token_file, timeout, answer_size)


def _serve(
    selection: GraphSelection,
    port: int | None,
    host: str,
    token_env: str | None,
    token_file: Path | None,
    timeout: float,
    answer_size: int,
) -> None:
    try:
        from lineage_merge.mcp.demo_graph import DemoGraph
        from lineage_merge.mcp.graphs import OpenGraphs
        from lineage_merge.mcp.http_access import read_token, require_loopback
        from lineage_merge.mcp.serving import HttpSettings, serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        fix = "pip install --upgrade 'lineage-merge[mcp]'"
        raise ConfigError("", f"the package mcp has another version than 2: {fix}") from None

    http, is_random = None, False
    if port is not None:
        address = require_loopback(host)
        token, is_random = read_token(token_env, token_file)
        http = HttpSettings(host=address, port=port, token=token)

    def started(url: str) -> None:
        click.echo(f"serving at {url}", err=True)
        if http and is_random:
            click.echo(f"token: {http.token}", err=True)

    if not (selection.demo and selection.graph_file):
        serve(OpenGraphs(selection, timeout), http, started, answer_size)
        return
    demo = DemoGraph(selection.graph_file)
    demo.start()
    serve(OpenGraphs(selection, timeout, demo.wait), http, started, answer_size, demo.stop)
