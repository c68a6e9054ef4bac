"""Proxy before a graph that delays each response like a network."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

_CHUNK = 1 << 20


@contextmanager
def delaying(url: str, milliseconds: float) -> Iterator[str]:
    """Provide the URL of a proxy to a Gremlin server."""
    parts = urlsplit(url)
    target = parts.hostname or "", parts.port or 8182
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(_serve(target, milliseconds / 1000))
    port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, name="delaying proxy", daemon=True)
    thread.start()
    try:
        user = parts.netloc.rpartition("@")[0]
        yield f"ws://{user + '@' if user else ''}127.0.0.1:{port}{parts.path}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _serve(target: tuple[str, int], seconds: float) -> asyncio.Server:
    async def connected(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(*target)
        await asyncio.gather(_pump(client, to_server, 0), _pump(server, to_client, seconds))

    return await asyncio.start_server(connected, "127.0.0.1", 0)


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, seconds: float) -> None:
    try:
        while data := await source.read(_CHUNK):
            await asyncio.sleep(seconds)
            target.write(data)
            await target.drain()
    except ConnectionError:
        pass
    finally:
        target.close()
