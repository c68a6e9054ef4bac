"""The command `receive`: an HTTP endpoint for Spline plans and OpenLineage events."""

import os
from dataclasses import asdict
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path

import click

from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.error_handling import handle_errors, print_json, progress
from lineage_merge.cli.options import as_json_or_text, without_progress
from lineage_merge.model.errors import ConfigError

_MEGABYTE = 1 << 20
_POSITIVE = click.IntRange(min=1)


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
@rare_option(
    "--max-body",
    type=_POSITIVE,
    default=64,
    show_default=True,
    help="maximum size of a request, uncompressed, in MB",
)
@rare_option(
    "--max-connections",
    type=_POSITIVE,
    default=256,
    show_default=True,
    help="maximum concurrent requests",
)
@rare_option(
    "--file-megabytes",
    type=_POSITIVE,
    default=64,
    show_default=True,
    help="maximum size of a file in MB",
)
@rare_option(
    "--file-seconds",
    type=_POSITIVE,
    default=300,
    show_default=True,
    help="maximum age of an open file in seconds; merges read only finished files",
)
@rare_option(
    "--keep-free",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="minimum free disk space in MB; below it, requests are rejected",
)
@click.option("--upload", metavar="s3://BUCKET/PREFIX", help="move finished files to S3")
@as_json_or_text
@without_progress
def receive(
    out: Path,
    host: str,
    port: int,
    token_names: tuple[str, ...],
    no_token: bool,
    max_body: int,
    max_connections: int,
    file_megabytes: int,
    file_seconds: int,
    keep_free: int,
    upload: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Receive lineage from Spline agents and OpenLineage clients, and write it to files for a merge.

    Implements Spline's producer API (/producer) and OpenLineage's (/api/v1/lineage). Each document is on disk
    before the response 201. Stops on SIGTERM or Ctrl-C; SIGHUP finishes the open files.
    """
    with handle_errors(), progress(quiet) as on_progress:
        if find_spec("uvicorn") is None or find_spec("starlette") is None:
            raise ConfigError("", "a package is missing: pip install 'lineage-merge[receive]'")
        tokens = tuple(_token(name) for name in token_names)
        if not tokens and not no_token and not _is_loopback(host):
            raise ConfigError("--host", f"{host} is not a local address: set --token-env or --no-token")
        if upload is not None and not upload.startswith("s3://"):
            raise ConfigError("--upload", "must be s3://BUCKET/PREFIX")
        from lineage_merge.receiver.journal import Limits
        from lineage_merge.receiver.serving import ReceiverSettings
        from lineage_merge.receiver.serving import receive as serve

        settings = ReceiverSettings(
            root=out,
            host=host,
            port=port,
            tokens=tokens,
            max_bytes=max_body * _MEGABYTE,
            most_connections=max_connections,
            files=Limits(file_megabytes * _MEGABYTE, file_seconds),
            keep_free=keep_free * _MEGABYTE,
            upload=upload or "",
        )
        summary = serve(settings, on_progress)
    if as_json:
        print_json(asdict(summary))
    else:
        click.echo(str(summary))


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
