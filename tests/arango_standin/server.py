"""The server as a process-local thing on a port of 127.0.0.1: sockets, keep-alive, faults, what was asked."""

import json
import socket
import threading
import time
import traceback
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from .api import Answer, Api, Request, failure
from .errors import DATABASE_NOT_FOUND, INTERNAL, ServerError
from .faults import Fault, Faults, Kind
from .store import SPLINE_INDEXES, Database

_BATCH_PATH: Final = "/_api/cursor"


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it came in, and what became of it.

    `path` is without `/_db/...`; `body` the parsed object, None where there was none. `returned` is the
    number of documents in the answer, `scanned_full` how many a query read without an index.
    `status` 0 means that a fault cut the answer off.
    """

    method: str
    database: str
    path: str
    body: Any
    status: int
    returned: int = 0
    scanned_full: int = 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: "ArangoStandin") -> None:
        self.owner = owner
        self._connections: set[socket.socket] = set()
        self._connections_lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._connections_lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._connections_lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        """Close the keep-alive connections when the server stops."""
        with self._connections_lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect; defects are recorded where they happen."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "ArangoDB"
    sys_version = ""
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log nothing: `requests` records what was received."""

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_GET  # noqa: N815
    do_POST = do_GET  # noqa: N815
    do_PUT = do_GET  # noqa: N815
    do_PATCH = do_GET  # noqa: N815
    do_DELETE = do_GET  # noqa: N815

    def _serve(self) -> None:
        split = urlsplit(self.path)
        database, path = "_system", unquote(split.path)
        if path.startswith("/_db/"):
            database, _, rest = path[len("/_db/") :].partition("/")
            path = f"/{rest}"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "deflate":
            body = zlib.decompress(body)
        request = Request(
            self.command,
            database,
            path,
            dict(parse_qsl(split.query)),
            dict(self.headers.items()),
            body.decode("utf-8"),
        )
        self._send(request, *self.server.owner.handle(request))

    def _send(self, request: Request, answer: Answer, fault: Fault | None) -> None:
        payload = json.dumps(answer.body, ensure_ascii=False, allow_nan=False).encode()
        if fault is not None and fault.kind is Kind.DROP:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("X-Arango-Queue-Time-Seconds", "0.000000")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if fault is not None and fault.kind is Kind.CUT:
            self.wfile.write(payload[: len(payload) // 2])
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if request.method != "HEAD":
            self.wfile.write(payload)
        self.wfile.flush()


class ArangoStandin:
    """A server with databases of documents; a context manager that starts and stops it.

    `databases` maps names to collections to documents; `indexes` says which attributes of a
    collection count as indexed, beside keys and the ends of edges. `cursor_ttl_default` is in seconds.
    `port` 0 takes a free one.
    """

    def __init__(
        self,
        databases: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
        *,
        username: str = "root",
        password: str = "secret",
        cursor_ttl_default: float = 30.0,
        indexes: Mapping[str, Sequence[str]] = SPLINE_INDEXES,
        port: int = 0,
    ) -> None:
        self.username = username
        self.password = password
        self.requests: list[RecordedRequest] = []
        self.failures: list[str] = []
        self._indexes = indexes
        self._faults = Faults()
        self._lock = threading.Lock()
        self._api = Api([], username, password, cursor_ttl_default)
        for name, contents in databases.items():
            self.load(name, contents)
        self._port = port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def open_cursors(self) -> int:
        """Cursors that are not read to the end, not closed and not expired."""
        return len(self._api.cursors)

    def load(self, name: str, contents: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """A database with these collections, in place of one of that name."""
        database = Database(name, self._indexes)
        database.load(contents)
        self._api.databases[name] = database

    def drop(self, name: str) -> None:
        if self._api.databases.pop(name, None) is None:
            raise ServerError(DATABASE_NOT_FOUND, "database not found")

    def start(self) -> None:
        """Listens; after a `stop`, on the same port as before."""
        server = _Server(("127.0.0.1", self._port), self)
        self._port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self._server, self._thread = server, thread

    def stop(self) -> None:
        """Closes the port, every connection and every cursor; the documents stay."""
        server, thread = self._server, self._thread
        if server is None or thread is None:
            return
        server.shutdown()
        server.cut_connections()
        server.server_close()
        thread.join()
        self._api.cursors.clear()
        self._server = self._thread = None

    def refuse_next(
        self,
        status: int,
        error_num: int,
        times: int = 1,
        *,
        method: str | None = None,
        path: str | None = None,
    ) -> None:
        """The next requests are answered with this error, and nothing is done."""
        self._faults.add(Fault(Kind.REFUSE, status, error_num, method=method, path=path), times)

    def cut_next(self, times: int = 1, *, method: str | None = None, path: str | None = None) -> None:
        """The next requests are done, and the connection ends in the middle of the answer's body."""
        self._faults.add(Fault(Kind.CUT, method=method, path=path), times)

    def drop_next(self, times: int = 1, *, method: str | None = None, path: str | None = None) -> None:
        """The next requests are done, and the connection ends before a single byte of the answer."""
        self._faults.add(Fault(Kind.DROP, method=method, path=path), times)

    def delay_next(
        self, seconds: float, times: int = 1, *, method: str | None = None, path: str | None = None
    ) -> None:
        """The next requests are answered `seconds` later."""
        self._faults.add(Fault(Kind.SLOW, seconds=seconds, method=method, path=path), times)

    def forget(self) -> None:
        """Empties `requests` and takes back faults that have not happened yet."""
        self._faults.clear()
        with self._lock:
            self.requests.clear()

    def handle(self, request: Request) -> tuple[Answer, Fault | None]:
        """Answers one request and notes it; the fault is what is left for the socket to do."""
        fault = self._faults.take(request.method, request.path)
        if fault is not None and fault.kind is Kind.REFUSE:
            answer = failure(fault.status, fault.error_num, "refused on purpose")
        else:
            if fault is not None and fault.kind is Kind.SLOW:
                time.sleep(fault.seconds)
            answer = self._answer(request)
        cut = fault is not None and fault.kind in {Kind.CUT, Kind.DROP}
        self._record(request, answer, 0 if cut else answer.status)
        return answer, fault

    def _answer(self, request: Request) -> Answer:
        try:
            return self._api.answer(request)
        except Exception:  # noqa: BLE001 - a defect must reach the test, not die in a request's thread
            self.failures.append(traceback.format_exc())
            return failure(500, INTERNAL, "internal error of the stand-in")

    def _record(self, request: Request, answer: Answer, status: int) -> None:
        try:
            body = json.loads(request.body) if request.body else None
        except json.JSONDecodeError:
            body = None
        if request.path == "/_open/auth":
            body = None  # the one request that carries a password
        returned = 0
        if request.path.startswith(_BATCH_PATH) and isinstance(answer.body, dict):
            returned = len(answer.body.get("result", ()))
        recorded = RecordedRequest(
            request.method, request.database, request.path, body, status, returned, answer.scanned_full
        )
        with self._lock:
            self.requests.append(recorded)
