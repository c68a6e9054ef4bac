"""Serving over stdio, or over HTTP on a loopback address."""

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server

from lineage_merge.infra.http_connections import limit_requests, protocol
from lineage_merge.mcp.graphs import OpenGraphs
from lineage_merge.mcp.http_access import BearerToken, allow_names
from lineage_merge.mcp.server import LineageServer
from lineage_merge.mcp.tool_errors import DemoMissing
from lineage_merge.model.errors import ConfigError
from lineage_merge.naming import redact
from lineage_merge.query.selection import GraphSelection

PATH = "/mcp"
_MAX_BODY = 1 << 20
# Requests in progress, and connections without one.
_MAX_CONNECTIONS = 64
_HEAD_SECONDS = 10
_STOP_SECONDS = 2
_INTERRUPTED = 130
_TRACEBACK = "LINEAGE_MERGE_TRACEBACK"
_DEMO_SECONDS = 600
_DEMO_FAILED = "the graph of the demo cannot be built. Fix: lineage-merge demo"


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
        line = "".join(character if character.isprintable() else "?" for character in line)
        if record.exc_info and os.environ.get(_TRACEBACK):
            return f"{line}\n{redact(self.formatException(record.exc_info))}"
        return line


class DemoGraph:
    """Builds the graph of the demo by a process of its own, while the server already answers the protocol."""

    def __init__(self, graph_file: Path | None) -> None:
        """Prepare to build a file; None: nothing."""
        self._file = graph_file
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start to build it, if it is missing."""
        if self._file is None or self._file.exists() or self._process is not None:
            return
        # -P: no modules of the folder in which a client starts the server.
        command = [sys.executable, "-P", "-m", "lineage_merge", "demo", "--quiet"]
        self._process = subprocess.Popen(  # noqa: S603 - this program
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    def wait(self) -> None:
        """Wait until it is built. Raises `DemoMissing`; the next call starts again."""
        self.start()
        if self._process is None:
            return
        try:
            code = self._process.wait(_DEMO_SECONDS)
        except subprocess.TimeoutExpired:
            self.stop()
            raise DemoMissing(_DEMO_FAILED) from None
        self._process = None
        if code != 0 or not (self._file and self._file.exists()):
            raise DemoMissing(_DEMO_FAILED)

    def stop(self) -> None:
        """End the process that builds it."""
        if self._process is not None:
            self._process.terminate()
            self._process = None


def serve(
    selection: GraphSelection,
    http: HttpSettings | None,
    on_start: Callable[[str], None],
    seconds: float,
    size: int,
) -> None:
    """Serve until standard input ends (stdio), or until SIGINT or SIGTERM. `on_start` gets the URL.

    `seconds`: time limit of a question; `size`: characters of an answer.
    """
    log_to_stderr()
    demo = DemoGraph(selection.graph_file if selection.demo else None)
    demo.start()
    graphs = OpenGraphs(selection, seconds, demo.wait)
    server = LineageServer(graphs, size).protocol_server()
    try:
        if http is None:
            anyio.run(_serve_stdio, server, demo.stop)
        else:
            anyio.run(_serve_http, server, http, on_start)
    finally:
        demo.stop()
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
        transport_security=allow_names(port),
        host=http.host,
    )
    config = uvicorn.Config(
        limit_requests(BearerToken(app, http.token), _MAX_CONNECTIONS),
        # Stubs want a class, but uvicorn only calls it.
        http=protocol(_MAX_CONNECTIONS, _HEAD_SECONDS),  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
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
