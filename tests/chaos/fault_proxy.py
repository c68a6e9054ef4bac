"""Proxy before a server that counts requests, calls functions at given requests, and can cut connections."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import BinaryIO, NamedTuple

# Opcodes of the first frame of a text and of a binary message.
_MESSAGES = (0x1, 0x2)

Reader = Callable[[BufferedReader], Iterator[tuple[bytes, bool]]]


class Watch(NamedTuple):
    """Calls `act` at request number `at`: before it is forwarded, or after (`arrives`)."""

    at: int
    act: Callable[[], object]
    arrives: bool


def websocket(stream: BufferedReader) -> Iterator[tuple[bytes, bool]]:
    """Yield the data that a Gremlin client sends, in pieces, with whether each starts a request."""
    while (line := stream.readline()).strip():  # the handshake ends with an empty line
        yield line, False
    yield line, False
    while piece := _frame(stream):
        yield piece, piece[0] & 0x0F in _MESSAGES


def _frame(stream: BinaryIO) -> bytes:
    """Return the next (masked) WebSocket frame of a client; b"" at the end."""
    head = stream.read(2)
    if len(head) < 2:
        return b""
    length = head[1] & 0x7F
    more = stream.read({126: 2, 127: 8}.get(length, 0))
    if more:
        length = int.from_bytes(more, "big")
    return head + more + stream.read(4 + length)


def http(stream: BufferedReader) -> Iterator[tuple[bytes, bool]]:
    """Yield the data that an ArangoDB client sends, with whether each piece starts a request."""
    while piece := stream.read1(1 << 16):
        yield piece, piece.startswith((b"GET ", b"POST ", b"PUT ", b"DELETE ", b"HEAD "))


class FaultProxy:
    """Forwards connections to a local port until it is closed."""

    def __init__(self, server_port: int, read: Reader) -> None:
        self.server_port = server_port
        self._read = read
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._shut = False
        self._watches: list[Watch] = []
        self.requests = 0
        threading.Thread(target=self._serve, name="fault proxy", daemon=True).start()

    @property
    def connections(self) -> int:
        """Return the number of open connections."""
        return len(self._pairs)

    def begin(self, watches: list[Watch]) -> None:
        """Reset the count, and set the watches."""
        with self._lock:
            self.requests, self._watches = 0, list(watches)

    def forget(self) -> None:
        """Remove all watches."""
        with self._lock:
            self._watches = []

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            _end(*pair)

    def shut(self) -> None:
        """Cut all connections and reject new ones."""
        self._shut = True
        self.cut()

    def open(self) -> None:
        """Accept connections again."""
        self._shut = False

    def close(self) -> None:
        """Close the proxy and all connections."""
        self._listener.close()
        self.shut()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.server_port), 5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
            if self._shut:
                self.cut()
                continue
            threading.Thread(target=self._upstream, args=pair, daemon=True).start()
            threading.Thread(target=self._downstream, args=pair, daemon=True).start()

    def _upstream(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client.makefile("rb") as stream:
            for piece, is_request in self._read(stream):
                due = self._due() if is_request else []
                for watch in due:
                    if not watch.arrives:
                        watch.act()
                server.sendall(piece)
                for watch in due:
                    if watch.arrives:
                        watch.act()
        self._leave(client, server)

    def _downstream(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 20):
                client.sendall(data)
        self._leave(client, server)

    def _due(self) -> list[Watch]:
        with self._lock:
            self.requests += 1
            due = [watch for watch in self._watches if watch.at <= self.requests]
            self._watches = [watch for watch in self._watches if watch.at > self.requests]
        return due

    def _leave(self, client: socket.socket, server: socket.socket) -> None:
        with self._lock:
            self._pairs.discard((client, server))
        _end(client, server)


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
