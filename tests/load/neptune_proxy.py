"""Neptune's additions to a Gremlin Server: checked signatures and errors.

A WebSocket proxy before a real server. `gate` decides on each handshake, `choose_fault` on each request.
"""

import asyncio
import json
import ssl
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from struct import pack
from typing import Literal, NamedTuple

import aiohttp
from aiohttp import WSMsgType, web

from tests.load.sigv4 import Request


class Answer(NamedTuple):
    """An error of Neptune that replaces the server's response."""

    code: str
    status: int = 500


Fault = Answer | Literal["close before", "close after", "cut after", "hang", "late", "text", "foreign"]
# Rejection of a handshake: HTTP status and Neptune's text, or None: the connection is cut.
Refusal = tuple[int, str]
Gate = Callable[[Request], Refusal | None]

LATE_SECONDS = 1.8
DETAIL = "from the proxy"


def open_gate(_: Request) -> None:
    """Accept every handshake."""


def no_fault(_: bytes) -> None:
    """Forward every request."""


class NeptuneProxy:
    """Counts `handshakes` (all), `refused` handshakes, and `requests` on open connections."""

    def __init__(self, server_url: str, gate: Gate, choose_fault: Callable[[bytes], Fault | None]) -> None:
        self._server_url = server_url
        # Request that replaces the client's.
        self.rewritten: Callable[[bytes], bytes] = bytes
        self.gate = gate
        self.choose_fault = choose_fault
        self.url = ""
        self.handshakes = 0
        self.refused = 0
        self.requests = 0

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.handshakes += 1
        refusal = self.gate(Request(request.method, request.path, request.query_string, request.headers))
        if refusal:
            self.refused += 1
            status, words = refusal
            if not status:
                assert request.transport
                request.transport.abort()
                return web.Response()
            body = {"requestId": str(uuid.uuid4()), "code": "AccessDeniedException", "detailedMessage": words}
            return web.json_response(body, status=status)
        client = web.WebSocketResponse(max_msg_size=0)
        await client.prepare(request)
        limits = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(timeout=limits) as session,
            session.ws_connect(self._server_url, max_msg_size=0) as server,
        ):
            await self._pass_on(request, client, server)
        return client

    async def _pass_on(
        self,
        request: web.Request,
        client: web.WebSocketResponse,
        server: aiohttp.ClientWebSocketResponse,
    ) -> None:
        # One request at a time on a connection, as gremlinpython sends them.
        async for message in client:
            self.requests += 1
            fault = self.choose_fault(message.data)
            match fault:
                case Answer():
                    await client.send_bytes(_error(message.data, fault))
                    continue
                case "close before":
                    await client.close()
                    return
            await server.send_bytes(self.rewritten(message.data))
            while True:
                answer = await server.receive()
                if answer.type is not WSMsgType.BINARY:
                    await client.close()
                    return
                if fault == "late":
                    await asyncio.sleep(LATE_SECONDS)
                if fault == "text":
                    await client.send_str("the service is being updated")
                if fault == "foreign":  # of another request
                    await client.send_bytes(answer.data[:2] + uuid.uuid4().bytes + answer.data[18:])
                if fault in (None, "late", "text", "foreign"):
                    await client.send_bytes(answer.data)
                if _status(answer.data) != 206:
                    break
            match fault:
                case "close after":
                    await client.close()
                    return
                case "cut after":
                    assert request.transport
                    request.transport.abort()
                    return
                case "hang":
                    with suppress(TimeoutError):
                        await client.receive(timeout=30)
                    return


def _status(response: bytes) -> int:
    """Of a GraphBinary response: version, id (nullable), status."""
    start = 2 + (0 if response[1] else 16)
    return int.from_bytes(response[start : start + 4], "big")


def _error(request: bytes, answer: Answer) -> bytes:
    """A GraphBinary response to a request, such as Neptune's: its message is JSON."""
    mime = request[0]
    identifier = request[1 + mime + 1 : 1 + mime + 17]
    body = {"detailedMessage": DETAIL, "requestId": str(uuid.UUID(bytes=identifier)), "code": answer.code}
    text = json.dumps(body).encode()
    empty_map, null = pack(">i", 0), b"\xfe\x01"
    head = b"\x81\x00" + identifier + pack(">i", answer.status)
    return head + b"\x00" + pack(">i", len(text)) + text + empty_map + empty_map + null


async def _end(runner: web.AppRunner) -> None:
    await runner.cleanup()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    # A connection that still has something to send would outlive the loop, and warn.
    for transport in list(asyncio.get_running_loop()._transports.values()):  # type: ignore[attr-defined]
        transport.abort()
    await asyncio.sleep(0)


@contextmanager
def neptune_proxy(
    server_url: str,
    gate: Gate = open_gate,
    choose_fault: Callable[[bytes], Fault | None] = no_fault,
    tls: ssl.SSLContext | None = None,
) -> Iterator[NeptuneProxy]:
    """Provide a proxy before the server."""
    proxy = NeptuneProxy(server_url, gate, choose_fault)
    loop = asyncio.new_event_loop()
    application = web.Application()
    application.router.add_get("/gremlin", proxy._serve)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    loop.run_until_complete(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    loop.run_until_complete(site.start())
    scheme, host = ("wss", "localhost") if tls else ("ws", "127.0.0.1")
    proxy.url = f"{scheme}://{host}:{runner.addresses[0][1]}/gremlin"
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(_end(runner), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
