"""The HTTP API as python-arango uses it: a request in, a status and a JSON body out. No sockets here."""

import base64
import binascii
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jwt

from . import errors
from .cursors import Cursors
from .errors import ServerError
from .evaluate import execute
from .store import DOCUMENT_TYPE, EDGE_TYPE, Collection, Database
from .syntax import Bind, SourceBind, parse

VERSION: Final = "3.11.8"
DEFAULT_BATCH_SIZE: Final = 1000
_TOKEN_SECONDS: Final = 3600
_SYSTEM: Final = "_system"


@dataclass(frozen=True)
class Request:
    """`path` is without `/_db/...` and without the query string, unquoted; `body` is the text."""

    method: str
    database: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: str

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except json.JSONDecodeError as problem:
            raise ServerError(errors.CORRUPTED_JSON, f"VPackError error: {problem.msg}") from None

    def object(self) -> dict[str, Any]:
        parsed = self.json()
        if not isinstance(parsed, dict):
            raise ServerError(errors.HTTP_BAD_PARAMETER, "expecting JSON object body")
        return parsed


@dataclass
class Answer:
    """`scanned_full` is the query's count of documents that no index led to."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)
    scanned_full: int = 0


def error_answer(problem: ServerError) -> Answer:
    return failure(problem.status, problem.number, problem.message)


def failure(status: int, number: int, message: str) -> Answer:
    """An error in the one form that all of the server's errors have."""
    return Answer(status, {"error": True, "code": status, "errorNum": number, "errorMessage": message})


def _success(status: int = 200, /, **body: Any) -> Answer:
    # Positional, for `status` is also a property of a collection.
    return Answer(status, {"error": False, "code": status, **body})


Handler = Callable[..., Answer]


class Api:
    """Databases, users and cursors of one server."""

    def __init__(
        self, databases: Iterable[Database], username: str, password: str, cursor_ttl: float
    ) -> None:
        self.databases = {_SYSTEM: Database(_SYSTEM)} | {each.name: each for each in databases}
        self.cursors = Cursors()
        self._username = username
        self._password = password
        self._cursor_ttl = cursor_ttl
        self._key = secrets.token_hex(32)
        self._lock = threading.Lock()
        # The first pattern that fits decides; the methods behind it are those it allows.
        routes: dict[str, dict[str, Handler]] = {
            r"/_api/version": {"GET": self._version},
            r"/_admin/server/availability": {"GET": self._availability},
            r"/_api/database": {"GET": self._list_databases, "POST": self._create_database},
            r"/_api/database/current": {"GET": self._current_database},
            r"/_api/database/user": {"GET": self._list_own_databases},
            r"/_api/database/(?P<name>[^/]+)": {"DELETE": self._drop_database},
            r"/_api/collection": {"GET": self._list_collections, "POST": self._create_collection},
            r"/_api/collection/(?P<name>[^/]+)": {
                "GET": self._describe_collection,
                "DELETE": self._drop_collection,
            },
            r"/_api/collection/(?P<name>[^/]+)/count": {"GET": self._count_collection},
            r"/_api/collection/(?P<name>[^/]+)/properties": {"GET": self._describe_collection},
            r"/_api/index": {"GET": self._list_indexes},
            r"/_api/document/(?P<name>[^/]+)": {"PUT": self._read_many},
            r"/_api/document/(?P<name>[^/]+)/(?P<key>.+)": {
                "GET": self._read_document,
                "HEAD": self._read_document,
            },
            r"/_api/import": {"POST": self._import},
            r"/_api/query": {"POST": self._validate_query},
            r"/_api/cursor": {"POST": self._open_cursor},
            r"/_api/cursor/(?P<number>[^/]+)": {
                "POST": self._advance_cursor,
                "PUT": self._advance_cursor,
                "DELETE": self._close_cursor,
            },
            r"/_api/cursor/(?P<number>[^/]+)/(?P<batch>[^/]+)": {"POST": self._advance_cursor},
        }
        self._routes = [(re.compile(pattern), methods) for pattern, methods in routes.items()]

    def answer(self, request: Request) -> Answer:
        """Whatever is asked; errors come back as answers, too."""
        try:
            if request.path == "/_open/auth":
                return self._token(request)
            self._authorise(request)
            return self._route(request)
        except ServerError as problem:
            return error_answer(problem)

    def _route(self, request: Request) -> Answer:
        if request.database not in self.databases:
            raise ServerError(errors.DATABASE_NOT_FOUND, "database not found")
        for pattern, methods in self._routes:
            if match := pattern.fullmatch(request.path):
                handler = methods.get(request.method)
                if handler is None:
                    raise ServerError(errors.HTTP_METHOD_NOT_ALLOWED, "method not supported")
                return handler(request, **match.groupdict())
        raise ServerError(errors.HTTP_NOT_FOUND, f"unknown path '{request.path}'")

    # Who asks.

    def _token(self, request: Request) -> Answer:
        if request.method != "POST":
            raise ServerError(errors.HTTP_METHOD_NOT_ALLOWED, "method not supported")
        given = request.object()
        if (given.get("username"), given.get("password")) != (self._username, self._password):
            raise ServerError(errors.HTTP_UNAUTHORIZED, "Wrong credentials")
        now = int(time.time())
        claims = {
            "preferred_username": self._username,
            "iss": "arangodb",
            "iat": now,
            "exp": now + _TOKEN_SECONDS,
        }
        return Answer(200, {"jwt": jwt.encode(claims, self._key, algorithm="HS256")})

    def _authorise(self, request: Request) -> None:
        kind, _, value = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "basic" and self._basic_fits(value):
            return
        if kind.lower() == "bearer" and self._token_fits(value):
            return
        raise ServerError(errors.FORBIDDEN, "not authorized to execute this request")

    def _basic_fits(self, value: str) -> bool:
        try:
            given = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return False
        return given == f"{self._username}:{self._password}"

    def _token_fits(self, value: str) -> bool:
        try:
            claims = jwt.decode(value, self._key, algorithms=["HS256"], issuer="arangodb")
        except jwt.InvalidTokenError:
            return False
        return bool(claims.get("preferred_username") == self._username)

    # The server and its databases.

    def _version(self, request: Request) -> Answer:
        body: dict[str, Any] = {"server": "arango", "license": "community", "version": VERSION}
        if request.query.get("details", "").lower() in {"1", "true"}:
            body["details"] = {"mode": "server", "server-version": VERSION}
        return Answer(200, body)

    def _availability(self, request: Request) -> Answer:
        return _success(mode="default")

    def _only_system(self, request: Request) -> None:
        if request.database != _SYSTEM:
            raise ServerError(errors.USE_SYSTEM_DATABASE, "operation only allowed in system database")

    def _list_databases(self, request: Request) -> Answer:
        self._only_system(request)
        return _success(result=sorted(self.databases))

    def _list_own_databases(self, request: Request) -> Answer:
        return _success(result=sorted(self.databases))

    def _current_database(self, request: Request) -> Answer:
        name = request.database
        return _success(result={"id": "1", "name": name, "path": "", "isSystem": name == _SYSTEM})

    def _create_database(self, request: Request) -> Answer:
        self._only_system(request)
        name = request.object().get("name")
        if not isinstance(name, str):
            raise ServerError(errors.HTTP_BAD_PARAMETER, "missing database name")
        with self._lock:
            if name in self.databases:
                raise ServerError(errors.DUPLICATE_NAME, "duplicate database name")
            self.databases[name] = Database(name)
        return _success(201, result=True)

    def _drop_database(self, request: Request, name: str) -> Answer:
        self._only_system(request)
        with self._lock:
            if name not in self.databases:
                raise ServerError(errors.DATABASE_NOT_FOUND, "database not found")
            del self.databases[name]
        return _success(result=True)

    # Collections.

    def _collection(self, request: Request, name: str) -> Collection:
        found = self.databases[request.database].collections.get(name)
        if found is None:
            raise ServerError(errors.DATA_SOURCE_NOT_FOUND, f"collection or view not found: {name}")
        return found

    def _list_collections(self, request: Request) -> Answer:
        collections = self.databases[request.database].collections.values()
        hide = request.query.get("excludeSystem", "").lower() in {"1", "true"}
        described = [_describe(each) for each in collections if not (hide and each.name.startswith("_"))]
        return _success(result=described)

    def _describe_collection(self, request: Request, name: str) -> Answer:
        return _success(**_describe(self._collection(request, name)))

    def _count_collection(self, request: Request, name: str) -> Answer:
        collection = self._collection(request, name)
        return _success(**_describe(collection), count=len(collection))

    def _create_collection(self, request: Request) -> Answer:
        given = request.object()
        name, kind = given.get("name"), given.get("type", DOCUMENT_TYPE)
        if not isinstance(name, str) or kind not in {DOCUMENT_TYPE, EDGE_TYPE}:
            raise ServerError(errors.HTTP_BAD_PARAMETER, "bad collection properties")
        database = self.databases[request.database]
        with self._lock:
            if name in database.collections:
                raise ServerError(errors.DUPLICATE_NAME, "duplicate name")
            return _success(**_describe(database.create(name, kind)))

    def _drop_collection(self, request: Request, name: str) -> Answer:
        number = self._collection(request, name).number
        del self.databases[request.database].collections[name]
        return _success(id=number)

    def _list_indexes(self, request: Request) -> Answer:
        collection = self._collection(request, request.query.get("collection", ""))
        indexes = []
        for position, path in enumerate(sorted(collection.indexed)):
            kind = {"_key": "primary", "_from": "edge", "_to": "edge"}.get(path[0], "persistent")
            if path != ("_id",):
                indexes.append(
                    {
                        "id": f"{collection.name}/{position}",
                        "type": kind,
                        "name": f"idx_{position}",
                        "fields": [".".join(path)],
                        "unique": kind == "primary",
                        "sparse": False,
                    }
                )
        return _success(indexes=indexes, identifiers={each["id"]: each for each in indexes})

    # Documents.

    def _read_document(self, request: Request, name: str, key: str) -> Answer:
        document = self._collection(request, name).get(key)
        if document is None:
            raise ServerError(errors.DOCUMENT_NOT_FOUND, "document not found")
        wanted = request.headers.get("If-Match")
        if wanted is not None and wanted.strip('"') != document["_rev"]:
            raise ServerError(errors.CONFLICT, "conflict, _rev values do not match")
        return Answer(200, document, {"ETag": f'"{document["_rev"]}"'})

    def _read_many(self, request: Request, name: str) -> Answer:
        if request.query.get("onlyget", "").lower() not in {"1", "true"}:
            raise ServerError(errors.HTTP_METHOD_NOT_ALLOWED, "method not supported")
        collection = self._collection(request, name)
        found: list[Any] = []
        for each in request.json():
            handle = str(each.get("_id") or each.get("_key")) if isinstance(each, dict) else str(each)
            document = collection.get(handle.rpartition("/")[2])
            missing = {
                "error": True,
                "errorNum": errors.DOCUMENT_NOT_FOUND,
                "errorMessage": "document not found",
            }
            found.append(document if document is not None else missing)
        return Answer(200, found)

    def _import(self, request: Request) -> Answer:
        collection = self._collection(request, request.query.get("collection", ""))
        if request.query.get("type") not in {"array", "list", "auto"}:
            raise ServerError(errors.HTTP_BAD_PARAMETER, "invalid value for type")
        created = refused = 0
        for document in request.json():
            if collection.kind == EDGE_TYPE and not {"_from", "_to"} <= set(document):
                refused += 1
                continue
            try:
                collection.add(document, replace=request.query.get("onDuplicate") == "replace")
            except ServerError:
                refused += 1
            else:
                created += 1
        return _success(201, created=created, errors=refused, empty=0, updated=0, ignored=0)

    # Queries.

    def _validate_query(self, request: Request) -> Answer:
        query = parse(_query_text(request.object()))
        binds = {node.name for node in query.walk() if isinstance(node, Bind | SourceBind)}
        return _success(parsed=True, collections=[], bindVars=sorted(binds), ast=[])

    def _open_cursor(self, request: Request) -> Answer:
        given = request.object()
        text = _query_text(given)
        options = given.get("options") or {}
        binds = given.get("bindVars")
        if binds is not None and not isinstance(binds, dict):
            raise ServerError(errors.TYPE_ERROR, "expecting object for 'bindVars'")
        batch_size = given.get("batchSize", DEFAULT_BATCH_SIZE)
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ServerError(errors.TYPE_ERROR, "expecting non-zero value for 'batchSize'")
        started = time.monotonic()
        result = execute(self.databases[request.database], text, binds or {}, options)
        stats: dict[str, Any] = {
            "writesExecuted": 0,
            "writesIgnored": 0,
            "scannedFull": result.scanned_full,
            "scannedIndex": result.scanned_index,
            "filtered": 0,
            "httpRequests": 0,
            "executionTime": time.monotonic() - started,
            "peakMemoryUsage": 0,
            "intermediateCommits": 0,
        }
        stream = bool(options.get("stream"))
        if result.full_count is not None and not stream:
            stats["fullCount"] = result.full_count
        body: dict[str, Any] = {"cached": False, "extra": {"warnings": result.warnings, "stats": stats}}
        if given.get("count") and not stream:
            body["count"] = len(result.values)
        ttl = given.get("ttl") or self._cursor_ttl
        first = self.cursors.open(
            request.database,
            result.values,
            batch_size,
            float(ttl),
            body,
            allow_retry=bool(options.get("allowRetry")),
        )
        answer = _success(201, **first)
        answer.scanned_full = result.scanned_full
        return answer

    def _advance_cursor(self, request: Request, number: str, batch: str | None = None) -> Answer:
        return _success(**self.cursors.advance(request.database, number, batch))

    def _close_cursor(self, request: Request, number: str) -> Answer:
        self.cursors.close(request.database, number)
        return _success(202, id=number)


def _query_text(given: Mapping[str, Any]) -> str:
    text = given.get("query")
    if not isinstance(text, str) or not text:
        raise ServerError(errors.QUERY_EMPTY, "query is empty")
    return text


def _describe(collection: Collection) -> dict[str, Any]:
    return {
        "id": collection.number,
        "name": collection.name,
        "status": 3,
        "type": collection.kind,
        "isSystem": collection.name.startswith("_"),
        "globallyUniqueId": f"h{collection.number}/{collection.number}",
    }
