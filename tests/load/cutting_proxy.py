"""Proxy that stops after a number of requests, as if the client had been killed."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO
from urllib.parse import urlsplit


class CuttingProxy:
    """Forwards to a server until `cut_after` requests have passed; then it cuts all connections.

    Whether the request at which it happens still reaches the server is set by `last_arrives`; its
    answer is lost in any case. `requests` counts what clients sent after their handshakes.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "", parts.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        login = f"{parts.username}:{parts.password}@" if parts.password else ""
        self.url = f"ws://{login}127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self.requests = 0
        self._cut_after: int | None = None
        self._last_arrives = True
        self.cut = False

    def arm(self, cut_after: int | None, *, last_arrives: bool = True) -> None:
        """Reset the count; None: never cut."""
        with self._lock:
            self.requests, self._cut_after, self._last_arrives = 0, cut_after, last_arrives
            self.cut = False

    def serve(self) -> None:
        """Accept connections until closed."""
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.cut:
                client.close()
                continue
            server = socket.create_connection(self._server)
            with self._lock:
                self._sockets |= {client, server}
            threading.Thread(target=self._upstream, args=(client, server), daemon=True).start()
            threading.Thread(target=self._downstream, args=(server, client), daemon=True).start()

    def close(self) -> None:
        """Close the proxy."""
        self._listener.close()
        self._end_all()

    def _upstream(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError), client.makefile("rb") as stream:
            while (line := stream.readline()).strip():  # the handshake ends with an empty line
                server.sendall(line)
            server.sendall(line)
            while sent := frame(stream):
                if sent[0] & 0x0F in MESSAGES and self._counts_to_the_cut():
                    if self._last_arrives:
                        server.sendall(sent)
                    self._end_all()
                    return
                server.sendall(sent)
        self._end(client, server)

    def _downstream(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 20):
                if not self.cut:
                    client.sendall(data)
        self._end(client, server)

    def _counts_to_the_cut(self) -> bool:
        with self._lock:
            self.requests += 1
            if self._cut_after is not None and self.requests >= self._cut_after:
                self.cut = True
            return self.cut

    def _end_all(self) -> None:
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        self._end(*sockets)

    def _end(self, *sockets: socket.socket) -> None:
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def cutting_proxy(url: str) -> Iterator[CuttingProxy]:
    """Provide a proxy to the server at `url`."""
    proxy = CuttingProxy(url)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()


# Opcodes of the first frame of a text and of a binary message.
MESSAGES = (0x1, 0x2)


def frame(stream: BinaryIO) -> bytes:
    """Return the next (masked) WebSocket frame of a client; b"" at the end."""
    head = stream.read(2)
    if len(head) < 2:
        return b""
    length = head[1] & 0x7F
    more = stream.read({126: 2, 127: 8}.get(length, 0))
    if more:
        length = int.from_bytes(more, "big")
    return head + more + stream.read(4 + length)
