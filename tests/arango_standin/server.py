"""The HTTP API as python-arango uses it, on a port of 127.0.0.1, with faults and a record of requests."""

import base64
import itertools
import json
import secrets
import socket
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs, unquote, urlsplit

import jwt

from .aql import Query
from .store import DOCUMENT_TYPE, EDGE_TYPE, SPLINE_INDEXES, Collection, Database, Document, ServerError

INTERNAL: Final = 4
FORBIDDEN: Final = 11
HTTP_UNAUTHORIZED: Final = 401
HTTP_NOT_FOUND: Final = 404
DATABASE_NOT_FOUND: Final = 1228
CURSOR_NOT_FOUND: Final = 1600
# The HTTP status of an `errorNum`; 400 for all others that are answered here.
_STATUS: Final = {
    INTERNAL: 500,
    FORBIDDEN: 401,
    HTTP_UNAUTHORIZED: 401,
    HTTP_NOT_FOUND: 404,
    1203: 404,
    DATABASE_NOT_FOUND: 404,
    1568: 500,
    1574: 500,
    CURSOR_NOT_FOUND: 404,
}
_VERSION: Final = "3.11.8"
_SYSTEM: Final = "_system"

Answer = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it came in, and what became of it.

    `path` is without `/_db/...`; `body` the parsed JSON, None where there was none. `returned` is the
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


@dataclass(frozen=True)
class _Fault:
    """What happens to a request: it is refused with `error`, delayed, or done and not answered.

    `method` and `path` (a part of it, without the database) say which requests it may hit; None: any.
    """

    method: str | None
    path: str | None
    error: tuple[int, int] | None = None
    seconds: float = 0.0
    is_dropped: bool = False

    def fits(self, method: str, path: str) -> bool:
        return self.method in {None, method} and (self.path is None or self.path in path)


@dataclass
class _Cursor:
    """Results that wait on the server; `latest` is the last batch, which `allow_retry` gives once more."""

    number: str
    waiting: list[Any]
    size: int
    allow_retry: bool
    repeated: Mapping[str, Any]
    batch: int = 0
    latest: dict[str, Any] = field(default_factory=dict)

    def advance(self) -> dict[str, Any]:
        values, self.waiting = self.waiting[: self.size], self.waiting[self.size :]
        self.batch += 1
        self.latest = {"result": values, "hasMore": bool(self.waiting), **self.repeated}
        if self.waiting or self.allow_retry:
            self.latest["id"] = self.number
        if self.waiting:
            self.latest["nextBatchId"] = str(self.batch + 1)
        return self.latest


class _Server(ThreadingHTTPServer):
    daemon_threads = True
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
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log nothing: `requests` records what was received."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.owner.handle(
            self.command, self.path, self.headers.get("Authorization", ""), json.loads(body) if body else None
        )
        if answer is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        status, content = answer
        payload = json.dumps(content, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_POST = do_DELETE = do_GET  # noqa: N815


class ArangoStandin:
    """A server with databases of documents; a context manager that starts and stops it.

    `databases` maps names to collections to documents; `indexes` says which attributes of a
    collection count as indexed, beside keys and the ends of edges. `port` 0 takes a free one.
    """

    def __init__(
        self,
        databases: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
        *,
        username: str = "root",
        password: str = "secret",
        indexes: Mapping[str, Sequence[str]] = SPLINE_INDEXES,
        port: int = 0,
    ) -> None:
        self.username = username
        self.password = password
        self.requests: list[RecordedRequest] = []
        self.failures: list[str] = []
        self._indexes = indexes
        self._port = port
        self._databases = {_SYSTEM: Database(_SYSTEM)}
        self._cursors: dict[str, _Cursor] = {}
        self._numbers = itertools.count(100001)
        self._faults: list[_Fault] = []
        self._lock = threading.Lock()
        claims = {"preferred_username": username, "iss": "arangodb", "exp": int(time.time()) + 3600}
        self._token = jwt.encode(claims, secrets.token_hex(32), algorithm="HS256")
        self._basic = base64.b64encode(f"{username}:{password}".encode()).decode()
        for name, contents in databases.items():
            self.load(name, contents)
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def open_cursors(self) -> int:
        """Cursors that are not read to the end and not closed."""
        return len(self._cursors)

    def load(self, name: str, contents: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Put a database with these collections in place of one of that name."""
        database = Database(name, self._indexes)
        for collection, documents in contents.items():
            kind = EDGE_TYPE if any("_from" in document for document in documents) else DOCUMENT_TYPE
            database.create(collection, kind).add(documents)
        self._databases[name] = database

    def start(self) -> None:
        """Listen; after a `stop`, on the same port as before."""
        self._server = _Server(("127.0.0.1", self._port), self)
        self._port = self._server.server_address[1]
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Close the port, every connection and every cursor; the documents stay."""
        if self._server is not None:
            self._server.shutdown()
            self._server.cut_connections()
            self._server.server_close()
            self._cursors.clear()
            self._server = None

    # Faults.

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
        self._faults += [_Fault(method, path, (status, error_num))] * times

    def drop_next(self, *, method: str | None = None, path: str | None = None) -> None:
        """The next request is done, and the connection ends before a single byte of the answer."""
        self._faults.append(_Fault(method, path, is_dropped=True))

    def delay_next(self, seconds: float, *, method: str | None = None, path: str | None = None) -> None:
        """The next request is answered `seconds` later."""
        self._faults.append(_Fault(method, path, seconds=seconds))

    # Requests.

    def handle(self, method: str, url: str, authorization: str, body: Any) -> Answer | None:
        """Answer a request and note it; None for an answer that gets lost."""
        split = urlsplit(url)
        database, path = _SYSTEM, unquote(split.path)
        if path.startswith("/_db/"):
            database, _, path = path.removeprefix("/_db/").partition("/")
            path = f"/{path}"
        with self._lock:
            fault = next((each for each in self._faults if each.fits(method, path)), _Fault(None, None))
            if fault in self._faults:
                self._faults.remove(fault)
        time.sleep(fault.seconds)
        parameters = {name: values[-1] for name, values in parse_qs(split.query).items()}
        if fault.error:
            answer = _failure(*fault.error, "refused on purpose")
        else:
            answer = self._answer(method, database, path, parameters, authorization, body)
        returned = len(answer[1].get("result", ())) if path.startswith("/_api/cursor") else 0
        scanned = answer[1].get("extra", {}).get("stats", {}).get("scannedFull", 0)
        # The log-in is the one request whose body has a password.
        body = None if path == "/_open/auth" else body
        status = 0 if fault.is_dropped else answer[0]
        self.requests.append(RecordedRequest(method, database, path, body, status, returned, scanned))
        return None if fault.is_dropped else answer

    def _answer(
        self, method: str, database: str, path: str, parameters: dict[str, str], authorization: str, body: Any
    ) -> Answer:
        try:
            if path == "/_open/auth":
                return self._log_in(body)
            return self._route(method, self._database(database, authorization), path, parameters, body)
        except ServerError as error:
            return _failure(_STATUS.get(error.number, 400), error.number, error.message)
        except Exception:  # noqa: BLE001 - a defect must reach the test, not die in a request's thread
            self.failures.append(traceback.format_exc())
            return _failure(500, INTERNAL, "internal error of the stand-in")

    def _log_in(self, body: Any) -> Answer:
        if body != {"username": self.username, "password": self.password}:
            raise ServerError(HTTP_UNAUTHORIZED, "Wrong credentials")
        return 200, {"jwt": self._token}

    def _database(self, name: str, authorization: str) -> Database:
        kind, _, credentials = authorization.partition(" ")
        if (kind.lower(), credentials) not in {("basic", self._basic), ("bearer", self._token)}:
            raise ServerError(FORBIDDEN, "not authorized to execute this request")
        if name not in self._databases:
            raise ServerError(DATABASE_NOT_FOUND, "database not found")
        return self._databases[name]

    def _route(
        self, method: str, database: Database, path: str, parameters: dict[str, str], body: Any
    ) -> Answer:
        match method, *path.removeprefix("/_api/").split("/"):
            case "GET", "version":
                return 200, {"server": "arango", "license": "community", "version": _VERSION}
            case "GET", "database", *_:
                return _success(result=sorted(self._databases))
            case "POST", "database":
                self._databases[body["name"]] = Database(body["name"])
                return _success(201, result=True)
            case "DELETE", "database", name:
                return _success(result=bool(self._databases.pop(name)))
            case "GET", "collection":
                return _success(result=[_describe(each) for each in database.collections.values()])
            case "GET", "collection", name, "count":
                collection = database.collection(name)
                return _success(**_describe(collection), count=len(collection))
            case "POST", "collection":
                return _success(**_describe(database.create(body["name"], body["type"])))
            case "POST", "import":
                database.collection(parameters["collection"]).add(body)
                return _success(201, created=len(body), errors=0, empty=0, updated=0, ignored=0)
            case "GET", "index":
                return _success(indexes=_indexes(database.collection(parameters["collection"])))
            case "POST", "cursor":
                return self._open_cursor(database, body)
            case "POST", "cursor", number, *batch:
                return _success(**self._advance_cursor(number, *batch))
            case "DELETE", "cursor", number:
                with self._lock:
                    self._cursor(number)
                    del self._cursors[number]
                return _success(202, id=number)
        raise ServerError(HTTP_NOT_FOUND, f"unknown path '{path}'")

    def _open_cursor(self, database: Database, body: dict[str, Any]) -> Answer:
        query = Query(database, body["query"], body.get("bindVars") or {})
        values = query.run()
        count = {"count": len(values)} if body.get("count") else {}
        may_retry = bool(body.get("options", {}).get("allowRetry"))
        with self._lock:
            number = str(next(self._numbers))
            cursor = _Cursor(number, values, body.get("batchSize", 1000), may_retry, count)
            first = cursor.advance()
            if cursor.waiting or may_retry:
                self._cursors[number] = cursor
        extra = {"warnings": [], "stats": {"scannedFull": query.scanned_full}}
        return _success(201, **first, extra=extra)

    def _advance_cursor(self, number: str, batch: str | None = None) -> dict[str, Any]:
        """Return the next batch; the latest once more when it is asked for by its id."""
        with self._lock:
            cursor = self._cursor(number)
            if cursor.allow_retry and batch == str(cursor.batch):
                return cursor.latest
            if not cursor.waiting or batch not in {None, str(cursor.batch + 1)}:
                raise ServerError(CURSOR_NOT_FOUND, "cursor not found")
            latest = cursor.advance()
            if not cursor.waiting and not cursor.allow_retry:
                # The last batch takes the cursor with it: a later close() finds nothing.
                del self._cursors[number]
            return latest

    def _cursor(self, number: str) -> _Cursor:
        if number not in self._cursors:
            raise ServerError(CURSOR_NOT_FOUND, "cursor not found")
        return self._cursors[number]


def _success(status: int = 200, /, **body: Any) -> Answer:
    # Positional, for `status` is also a property of a collection.
    return status, {"error": False, "code": status, **body}


def _failure(status: int, number: int, message: str) -> Answer:
    return status, {"error": True, "code": status, "errorNum": number, "errorMessage": message}


def _describe(collection: Collection) -> Document:
    name = collection.name
    return {"id": name, "name": name, "status": 3, "type": collection.kind, "isSystem": name.startswith("_")}


def _indexes(collection: Collection) -> list[Document]:
    kinds = {"_key": "primary", "_from": "edge", "_to": "edge"}
    return [
        {
            "id": f"{collection.name}/{position}",
            "type": kinds.get(path[0], "persistent"),
            "name": f"idx_{position}",
            "fields": [".".join(path)],
            "unique": path == ("_key",),
            "sparse": False,
        }
        for position, path in enumerate(sorted(collection.indexed - {("_id",)}))
    ]
