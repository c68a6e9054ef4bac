"""Serving over stdio, or over HTTP on a loopback address."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server

from lineage_merge.mcp.graphs import OpenGraphs
from lineage_merge.mcp.http_access import BearerToken, allowed_names
from lineage_merge.mcp.paging import DEFAULT_SIZE
from lineage_merge.mcp.server import LineageServer
from lineage_merge.model.errors import ConfigError
from lineage_merge.naming import redact

PATH = "/mcp"
_MAX_BODY = 1 << 20
_MAX_CONNECTIONS = 64
_STOP_SECONDS = 2
_INTERRUPTED = 130
_TRACEBACK = "LINEAGE_MERGE_TRACEBACK"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Where to listen (port 0: any free one), and the token that clients send."""

    host: str
    port: int
    token: str


class _OneLine(logging.Formatter):
    """Log lines without secrets and control characters; tracebacks on request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and the traceback if the variable asks for it."""
        message = " ".join(redact(record.getMessage()).split())
        line = f"{record.levelname.lower()}: {message}"
        line = "".join(each if each.isprintable() else "?" for each in line)
        if record.exc_info and os.environ.get(_TRACEBACK):
            return f"{line}\n{redact(self.formatException(record.exc_info))}"
        return line


def serve(
    graphs: OpenGraphs,
    http: HttpSettings | None,
    on_start: Callable[[str], None],
    size: int = DEFAULT_SIZE,
    on_end: Callable[[], None] = lambda: None,
) -> None:
    """Serve until standard input ends (stdio), or until SIGINT or SIGTERM. `on_start` gets the URL."""
    log_to_stderr()
    server = LineageServer(graphs, size).protocol_server()
    try:
        if http is None:
            anyio.run(_serve_stdio, server, on_end)
        else:
            anyio.run(_serve_http, server, http, on_start)
    finally:
        on_end()
        graphs.close()


def log_to_stderr() -> None:
    """Log warnings to standard error: standard output carries the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    # The message of a failed request is in the answer.
    logging.getLogger("gremlinpython").setLevel(logging.CRITICAL)


async def _serve_stdio(server: Server[Any], on_end: Callable[[], None]) -> None:
    def end(number: int, _frame: object) -> None:
        # A thread waits for standard input and cannot be interrupted; nothing needs to be saved.
        on_end()
        os._exit(_INTERRUPTED if number == signal.SIGINT else 0)

    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


async def _serve_http(server: Server[Any], http: HttpSettings, on_start: Callable[[str], None]) -> None:
    with suppress(ValueError):  # uvicorn stops first, and then raises the signal again
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = _listen(http)
    port = int(listener.getsockname()[1])
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=_MAX_BODY,
        transport_security=allowed_names(port),
        host=http.host,
    )
    config = uvicorn.Config(
        BearerToken(app, http.token),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    name = f"[{http.host}]" if ":" in http.host else http.host
    on_start(f"http://{name}:{port}{PATH}")
    await uvicorn.Server(config).serve(sockets=[listener])


def _listen(http: HttpSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    try:
        return socket.create_server((http.host, http.port), family=family)
    except OSError as error:
        raise ConfigError("--http", f"cannot listen on port {http.port}: {error.strerror}") from None
