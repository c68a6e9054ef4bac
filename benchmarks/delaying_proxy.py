"""Proxy before a graph that delays each response like a network."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

_CHUNK = 1 << 20


@dataclass
class RoundTrips:
    """The round trips in sequence so far: handshakes, and requests that were sent after another's response.

    Of requests that are sent while others are in flight, one counts.
    """

    number: int = 0


@contextmanager
def delaying(url: str, milliseconds: float, trips: RoundTrips | None = None) -> Iterator[str]:
    """Provide the URL of a proxy to a Gremlin server; `trips` counts what passes it."""
    parts = urlsplit(url)
    target = parts.hostname or "", parts.port or 8182
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(_serve(target, milliseconds / 1000, trips or RoundTrips()))
    port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, name="delaying proxy", daemon=True)
    thread.start()
    try:
        user = parts.netloc.rpartition("@")[0]
        yield f"ws://{user + '@' if user else ''}127.0.0.1:{port}{parts.path}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _serve(target: tuple[str, int], seconds: float, trips: RoundTrips) -> asyncio.Server:
    async def connected(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(*target)
        own = RoundTrips()

        def sent() -> None:
            own.number = trips.number + 1

        def answered() -> None:
            trips.number = max(trips.number, own.number)

        await asyncio.gather(_pump(client, to_server, 0, sent), _pump(server, to_client, seconds, answered))

    return await asyncio.start_server(connected, "127.0.0.1", 0)


async def _pump(
    source: asyncio.StreamReader,
    target: asyncio.StreamWriter,
    seconds: float,
    forwarded: Callable[[], None],
) -> None:
    """Forward all data, each part `seconds` after it arrived; calls `forwarded` before each."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def receive() -> None:
        with suppress(ConnectionError):
            while data := await source.read(_CHUNK):
                await arrived.put((loop.time() + seconds, data))
        await arrived.put((loop.time() + seconds, b""))

    receiving = loop.create_task(receive())
    try:
        while (part := await arrived.get())[1]:
            await asyncio.sleep(max(0.0, part[0] - loop.time()))
            forwarded()
            target.write(part[1])
            await target.drain()
    except ConnectionError:
        pass
    finally:
        receiving.cancel()
        target.close()
