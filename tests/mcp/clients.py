"""Servers of `lineage-merge mcp`, in this process or as processes, and the SDK's client for them.

A process imports two seconds of the SDK: only tests of transports, options and signals start one.
"""

import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from lineage_merge.mcp.graphs import OpenGraphs
from lineage_merge.mcp.paging import DEFAULT_SIZE
from lineage_merge.mcp.server import LineageServer
from lineage_merge.query.selection import GraphSelection
from tests.command_line import clean_environment

TOKEN = "a-token-of-the-tests-0123456789"
Connect = Callable[[], AbstractAsyncContextManager[Client]]


def words(*arguments: str | Path) -> list[str]:
    """The command, as this Python runs it."""
    return [sys.executable, "-m", "lineage_merge", "mcp", *map(str, arguments)]


class InProcess(NamedTuple):
    """A server in this process, whose graphs stay open between clients."""

    graphs: OpenGraphs

    def client(self) -> Connect:
        """A client that exchanges the protocol's messages with it, without a transport."""

        @asynccontextmanager
        async def connect() -> AsyncIterator[Client]:
            server = LineageServer(self.graphs, DEFAULT_SIZE).protocol_server()
            async with Client(server, mode="legacy") as client:
                yield client

        return connect


@contextmanager
def in_process(seconds: float = 50, **selected: Any) -> Iterator[InProcess]:
    """A server of the graph that is selected, in this process."""
    graphs = OpenGraphs(GraphSelection(**selected), seconds)
    try:
        yield InProcess(graphs)
    finally:
        graphs.close()


def inside(seconds: float = 50, **selected: Any) -> Connect:
    """A client of a server in this process, which has its graphs open as long as the client is connected."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Client]:
        with in_process(seconds, **selected) as server:
            async with server.client()() as client:
                yield client

    return connect


def stdio(*arguments: str | Path, mode: str = "auto", **variables: str) -> Connect:
    """A client of a process of its own."""
    command, *rest = words(*arguments)

    @asynccontextmanager
    async def connect() -> AsyncIterator[Client]:
        server = StdioServerParameters(command=command, args=rest, env=clean_environment(**variables))
        # pytest replaces standard error by an object without a file.
        assert sys.__stderr__ is not None
        async with Client(stdio_client(server, errlog=sys.__stderr__), mode=mode) as client:
            yield client

    return connect


class HttpServer(NamedTuple):
    """A running server, with what it prints."""

    url: str
    log: Path
    process: "subprocess.Popen[bytes]"

    def client(self, mode: str = "auto", token: str = TOKEN) -> Connect:
        """A client with the token."""

        @asynccontextmanager
        async def connect() -> AsyncIterator[Client]:
            headers = {"Authorization": f"Bearer {token}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=60) as http,
                Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
            ):
                yield client

        return connect


@contextmanager
def http(folder: Path, *arguments: str | Path, **variables: str) -> Iterator[HttpServer]:
    """A server on a free port, whose output is in `folder`."""
    log = folder / "server.log"
    given = words(*arguments, "--http", "0", "--token-env", "MCP_TOKEN")
    with log.open("wb") as output:
        process = subprocess.Popen(
            given, env=clean_environment(MCP_TOKEN=TOKEN, **variables), stdout=output, stderr=output
        )
    try:
        yield HttpServer(_url(process, log), log, process)
    finally:
        process.terminate()
        assert process.wait(20) == 0


def _url(process: "subprocess.Popen[bytes]", log: Path) -> str:

    for _ in range(600):
        for line in log.read_text().splitlines():
            if line.startswith("serving at "):
                return line.removeprefix("serving at ")
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(f"no server: {log.read_text()}")


def ask(connect: Connect, *questions: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    """The results of questions, one after another."""

    async def run() -> list[CallToolResult]:
        async with connect() as client:
            return [await client.call_tool(name, arguments) for name, arguments in questions]

    return anyio.run(run)


def answer(connect: Connect, name: str, /, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a question, which its text repeats."""
    (result,) = ask(connect, (name, arguments))
    return structured(result)


def structured(result: CallToolResult) -> dict[str, Any]:
    """The structured content of an answer, which its text repeats."""
    assert not result.is_error, result.content
    assert result.structured_content == json.loads(text(result))
    return dict(result.structured_content or {})


def failed(connect: Connect, name: str, /, **arguments: Any) -> dict[str, Any]:
    """The error of a question."""
    (result,) = ask(connect, (name, arguments))
    assert result.is_error
    return dict(json.loads(text(result)))


def text(result: CallToolResult) -> str:
    """The text of a result."""
    (content,) = result.content
    assert content.type == "text"
    return str(content.text)


async def all_rows(client: Client, name: str, /, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of all pages."""
    rows: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = structured(await client.call_tool(name, {**arguments, **cursor}))
        rows += page["rows"]
        if not page.get("truncated"):
            assert len(rows) == page["total"]
            return rows
        cursor = {"cursor": page["next_cursor"]}
