import asyncio
import gc
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from aiohttp import web
from gremlin_python.process.traversal import T

from lineage_merge.load.gremlin.connection import Endpoint, _Transport, check, connect
from lineage_merge.model.errors import GraphRejected, GraphUnreachable


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Provide a port that accepts connections and never responds, like that of a tunnel."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@contextmanager
def serving(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Iterator[str]:
    """Provide the `ws` URL of a web server that is not a Gremlin Server."""
    loop = asyncio.new_event_loop()
    application = web.Application()
    application.router.add_get("/gremlin", answer)
    runner = web.AppRunner(application)
    loop.run_until_complete(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", 0)
    loop.run_until_complete(site.start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{runner.addresses[0][1]}/gremlin"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.jvm
def test_a_running_server_passes_the_check(gremlin_url: str) -> None:
    check(Endpoint(gremlin_url))


def test_a_closed_port_is_reported_at_once(closed_port: int) -> None:
    started = time.monotonic()
    with pytest.raises(GraphUnreachable, match=rf"ws://127.0.0.1:{closed_port}/gremlin: no connection"):
        check(Endpoint(f"ws://127.0.0.1:{closed_port}/gremlin"))
    assert time.monotonic() - started < 10


def test_connecting_without_a_check_also_reports_a_closed_port(closed_port: int) -> None:
    with (
        pytest.raises(GraphUnreachable, match="no connection: "),
        connect(Endpoint(f"ws://127.0.0.1:{closed_port}/gremlin")) as g,
    ):
        g.V().limit(1).to_list()


def test_an_unknown_host_name_is_reported() -> None:
    with pytest.raises(GraphUnreachable, match="no connection"):
        check(Endpoint("ws://graph.invalid:8182/gremlin"))


def test_a_port_that_never_responds_is_a_timeout(silent_port: int) -> None:
    started = time.monotonic()
    with pytest.raises(GraphUnreachable, match="no response in time"):
        check(Endpoint(f"ws://127.0.0.1:{silent_port}/gremlin", timeout_seconds=1))
    assert time.monotonic() - started < 10


def test_another_web_server_is_reported_with_its_status() -> None:
    async def missing(_: web.Request) -> web.StreamResponse:
        return web.Response(status=404)

    with serving(missing) as url, pytest.raises(GraphUnreachable, match="HTTP 404; its address is usually"):
        check(Endpoint(url))


def test_a_server_without_tls_is_reported_with_the_scheme_to_use() -> None:
    async def missing(_: web.Request) -> web.StreamResponse:
        return web.Response(status=404)

    expected = "no secure connection: TLS failed; a server without TLS requires ws://"
    with serving(missing) as url, pytest.raises(GraphUnreachable, match=expected):
        check(Endpoint(url.replace("ws://", "wss://")))


def test_a_server_that_disconnects_before_responding_is_reported() -> None:
    async def leaving(request: web.Request) -> web.StreamResponse:
        websocket = web.WebSocketResponse()
        await websocket.prepare(request)
        await websocket.receive()
        await websocket.close()
        return websocket

    with serving(leaving) as url, pytest.raises(GraphUnreachable, match="closed the connection"):
        check(Endpoint(url))


def test_a_connection_cut_before_the_response_is_reported() -> None:
    async def cut_off(request: web.Request) -> web.StreamResponse:
        websocket = web.WebSocketResponse()
        await websocket.prepare(request)
        await websocket.receive()
        assert request.transport
        request.transport.abort()
        return websocket

    with serving(cut_off) as url, pytest.raises(GraphUnreachable):
        check(Endpoint(url))


@pytest.mark.parametrize(
    "url", ["http://localhost:8182/gremlin", "localhost:8182", "ws://", "ws://host:port/", ""]
)
def test_an_address_of_another_kind_is_explained(url: str) -> None:
    with pytest.raises(GraphUnreachable, match="wss://"):
        check(Endpoint(url))


def test_a_password_in_the_address_is_not_shown(closed_port: int) -> None:
    endpoint = Endpoint(f"ws://someone:s3cret@127.0.0.1:{closed_port}/gremlin?token=s3cret")
    with pytest.raises(GraphUnreachable) as raised:
        check(endpoint)
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(endpoint)


@pytest.mark.jvm
def test_a_rejection_is_one_line_with_the_text_of_the_server(
    gremlin_url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(GraphRejected) as raised, connect(Endpoint(gremlin_url)) as g:
        g.add_v("file").property(T.id, "dev|b|x").add_v("file").property(T.id, "dev|b|x").to_list()
    assert "already exists: dev|b|x" in raised.value.message
    assert "\n" not in raised.value.message
    assert capfd.readouterr().err == ""  # gremlinpython would log the stack trace


@pytest.mark.jvm
def test_an_error_of_the_caller_is_not_translated(gremlin_url: str) -> None:
    with pytest.raises(RuntimeError, match=r"^the caller's own$"), connect(Endpoint(gremlin_url)):
        raise RuntimeError("the caller's own")
    with pytest.raises(FileNotFoundError), connect(Endpoint(gremlin_url)):
        raise FileNotFoundError


@pytest.mark.filterwarnings("error")
def test_a_closed_connection_leaves_no_coroutine_that_is_never_awaited() -> None:
    transport = _Transport(1.0, None)
    transport.close()
    for act in (partial(transport.write, b"\x00\x00" + bytes(16)), transport.read):
        with pytest.raises(RuntimeError, match="Event loop is closed"):
            act()
    gc.collect()
