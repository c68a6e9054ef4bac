"""Commands that serve: `mcp` for assistants, `receive` for agents, `serve` for notebooks and consoles."""

import os
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import click

from lineage_merge.cli.command import add_options, command, rare_option
from lineage_merge.cli.error_handling import handle_errors, print_json, progress
from lineage_merge.cli.options import as_json_or_text, with_config_file, without_progress
from lineage_merge.cli.query_options import (
    GRAPH_OPTIONS,
    demo_option,
    graph_file_option,
    history_option,
    is_typed,
    select_graph_file,
    take_selection,
)
from lineage_merge.model.errors import ConfigError
from lineage_merge.query.selection import GraphSelection
from lineage_merge.query.session import require_graph_file

_MEGABYTE = 1 << 20


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
@partial(add_options, options=(*GRAPH_OPTIONS, history_option, with_config_file))
def mcp(
    port: int | None,
    token_env: str | None,
    token_file: Path | None,
    host: str,
    timeout: float,
    answer_size: int,
    **given: Any,
) -> None:
    """Answer questions of assistants over the Model Context Protocol, with tools that only read.

    An assistant starts this command itself: docs/assistants.md has the configuration of clients.
    """
    with handle_errors():
        if find_spec("mcp") is None:
            raise ConfigError("", "a package is missing: install lineage-merge[mcp]")
        if port is None and (token_env or token_file or is_typed("host")):
            raise click.UsageError("--host, --token-env and --token-file need --http PORT")
        selection = GraphSelection(**take_selection(given))
        selection.config()  # report an invalid configuration at the start
        try:
            from lineage_merge.mcp.http_access import read_token, require_loopback
            from lineage_merge.mcp.serving import HttpSettings
            from lineage_merge.mcp.serving import serve as serve_assistants
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            fix = "upgrade lineage-merge[mcp]"
            raise ConfigError("", f"the package mcp has another version than 2: {fix}") from None

        http, is_random = None, False
        if port is not None:
            address = require_loopback(host)
            token, is_random = read_token(token_env, token_file)
            http = HttpSettings(host=address, port=port, token=token)

        def announce(url: str) -> None:
            click.echo(f"serving at {url}", err=True)
            if http and is_random:
                click.echo(f"token: {http.token}", err=True)

        serve_assistants(selection, http, announce, timeout, answer_size)


_LIMITS = [
    rare_option(name, type=click.IntRange(min=minimum), default=default, show_default=True, help=help_text)
    for name, minimum, default, help_text in (
        ("--max-body", 1, 64, "maximum size of a request, uncompressed, in MB"),
        ("--max-connections", 1, 256, "maximum concurrent requests"),
        ("--file-megabytes", 1, 64, "maximum size of a file in MB"),
        ("--file-seconds", 1, 300, "maximum age of an open file in seconds; merges read only finished files"),
        ("--keep-free", 0, 100, "minimum free disk space in MB; below it, requests are rejected"),
    )
]


@command(
    "lineage-merge receive --out received",
    "lineage-merge receive --out received --port 8090 --file-seconds 60",
    "lineage-merge receive --out received --host 10.0.0.5 --token-env RECEIVE_TOKEN",
    "lineage-merge receive --out received --upload s3://lineage/received",
    short_help="Receive lineage from Spline agents and OpenLineage clients.",
)
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="local output folder; a merge reads DIR/spline and DIR/openlineage",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="listen address")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8090,
    show_default=True,
    help="listen port; 0: any free port",
)
@click.option(
    "--token-env",
    "token_names",
    multiple=True,
    metavar="NAME",
    help="environment variable with the token required from senders; repeat it to accept several",
)
@click.option("--no-token", is_flag=True, help="accept all senders on a non-local address")
@partial(add_options, options=_LIMITS)
@click.option("--upload", metavar="s3://BUCKET/PREFIX", help="move finished files to S3")
@as_json_or_text
@without_progress
def receive(
    out: Path,
    host: str,
    port: int,
    token_names: tuple[str, ...],
    no_token: bool,
    upload: str | None,
    as_json: bool,
    quiet: bool,
    **limits: int,
) -> None:
    """Receive lineage from Spline agents and OpenLineage clients, and write it to files for a merge.

    Implements Spline's producer API (/producer) and OpenLineage's (/api/v1/lineage). Each document is on disk
    before the response 201. Stops on SIGTERM or Ctrl-C; SIGHUP finishes the open files.
    """
    with handle_errors(), progress(quiet) as on_progress:
        if find_spec("uvicorn") is None or find_spec("starlette") is None:
            raise ConfigError("", "a package is missing: install lineage-merge[receive]")
        tokens = tuple(_token(name) for name in token_names)
        if not tokens and not no_token and not _is_loopback(host):
            raise ConfigError("--host", f"{host} is not a local address: set --token-env or --no-token")
        if upload is not None and not upload.startswith("s3://"):
            raise ConfigError("--upload", "must be s3://BUCKET/PREFIX")
        from lineage_merge.receiver.journal import Limits
        from lineage_merge.receiver.serving import ReceiverSettings
        from lineage_merge.receiver.serving import receive as serve_agents

        settings = ReceiverSettings(
            root=out,
            host=host,
            port=port,
            tokens=tokens,
            max_bytes=limits["max_body"] * _MEGABYTE,
            most_connections=limits["max_connections"],
            files=Limits(limits["file_megabytes"] * _MEGABYTE, limits["file_seconds"]),
            keep_free=limits["keep_free"] * _MEGABYTE,
            upload=upload or "",
        )
        summary = serve_agents(settings, on_progress)
    if as_json:
        print_json(asdict(summary))
    else:
        click.echo(str(summary))


@command(
    "lineage-merge serve",
    "lineage-merge serve --demo",
    "lineage-merge serve --port 8183 --graph-file lineage",
)
@click.option("--port", type=click.IntRange(1, 65535), default=8182, show_default=True, help="listen port")
@graph_file_option
@demo_option
def serve(port: int, graph_file: Path | None, demo: bool) -> None:
    """Run a Gremlin Server with a copy of the embedded graph, for a notebook or console.

    That is the graph of `run` and `load` with the endpoint `embedded`. The copy is made at the start: it does
    not show later loads, and changes made by clients are not saved. Each start has a new random password. It
    needs Java; the first start downloads and caches the server's jars.
    """
    with handle_errors():
        selected = select_graph_file(graph_file, demo)
        require_graph_file(selected, demo)
        from lineage_merge.infra.embedded.serving import serve as keep_serving
        from lineage_merge.infra.graph_files import default_graph_file

        keep_serving(selected or default_graph_file(), port, lambda line: click.echo(line))


def _token(name: str) -> str:
    token = os.environ.get(name, "").strip()
    if not token:
        raise ConfigError("--token-env", f"the environment variable {name} is not set")
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
