"""HTTP endpoints: the parts of Spline's producer API and OpenLineage's API that send documents.

Spline's paths, headers and responses are those of its server 1.0 (producer-rest-core); OpenLineage's those of
its specification (spec/OpenLineage.yml), under the default prefix of its clients.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from http import HTTPStatus
from typing import Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import DocumentError
from lineage_merge.receiver import documents
from lineage_merge.receiver.bodies import RequestBodies
from lineage_merge.receiver.documents import Kind, Reader, ReceivedCounts, Taken

# Versions of the producer API by media type, as in Spline's server.
_VERSIONS: Mapping[str, str] = {
    "application/json": "1.0",
    "application/vnd.absa.spline.producer.v1.1+json": "1.1",
    "application/vnd.absa.spline.producer.v1.2+json": "1.2",
}
_HANDSHAKE = (
    *(("ABSA-Spline-API-Version", version) for version in ("1.2", "1.1", "1")),
    *(("ABSA-Spline-API-LTS-Version", version) for version in ("1.2", "1.1")),
    ("ABSA-Spline-Accept-Request-Encoding", "gzip"),
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Larger bodies are parsed in a thread, so that other requests are not delayed.
_PARSED_AT_ONCE = 256 << 10

Endpoint = Callable[[Request], Awaitable[Response]]


class Storage(Protocol):
    """Where documents are stored. Methods raise `OSError`."""

    def check(self) -> None:
        """Check that documents can be stored."""

    async def store(self, kind: Kind, lines: bytes, request: Request) -> None:
        """Return when the lines of a request are stored."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """State shared by the endpoints; `tokens` is empty without authentication."""

    tokens: tuple[str, ...]
    storage: Storage
    bodies: RequestBodies
    on_progress: ProgressCallback
    counts: ReceivedCounts = field(default_factory=ReceivedCounts)
    parsing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def check_storage(self) -> None:
        """Check that documents can be stored. Raises `HTTPException`."""
        try:
            self.storage.check()
        except OSError as error:
            raise _storage_error(error) from None


def application(receiver: Receiver) -> Starlette:
    """Return the ASGI application of a receiver."""
    plans = _taking(
        receiver,
        _read_spline(documents.plan),
        lambda taken: JSONResponse(taken.ids[0], HTTPStatus.CREATED),
    )
    events = _taking(
        receiver,
        _read_spline(documents.events),
        lambda taken: JSONResponse(taken.ids, HTTPStatus.CREATED),
    )
    one = _taking(
        receiver,
        _read_openlineage(documents.openlineage),
        lambda _taken: Response(status_code=HTTPStatus.CREATED),
    )
    several = _taking(receiver, _read_openlineage(documents.openlineage_batch), _batch)
    routes = [
        Route("/health", _health(receiver)),
        Route("/api/v1/lineage", one, methods=["POST"]),
        Route("/api/v1/lineage/batch", several, methods=["POST"]),
    ]
    for prefix in ("/producer", ""):
        routes += [
            Route(f"{prefix}/status", _status(receiver)),
            Route(f"{prefix}/execution-plans", plans, methods=["POST"]),
            Route(f"{prefix}/execution-events", events, methods=["POST"]),
        ]
    return Starlette(routes=routes)


def _taking(
    receiver: Receiver,
    reader_of: Callable[[Request], Reader],
    answer: Callable[[Taken], Response],
) -> Endpoint:
    async def take(request: Request) -> Response:
        try:
            taken = await _take(receiver, reader_of, request)
        except HTTPException as refusal:
            if refusal.status_code not in (HTTPStatus.INSUFFICIENT_STORAGE, HTTPStatus.SERVICE_UNAVAILABLE):
                receiver.counts.refused += 1
                receiver.on_progress(f"refused {request.url.path}: {refusal.status_code} {refusal.detail}")
            else:
                receiver.counts.not_stored += 1
                receiver.on_progress(f"could not store {request.url.path}: {refusal.detail}")
            raise
        receiver.counts.add(taken)
        receiver.on_progress(str(receiver.counts))
        return answer(taken)

    return take


async def _take(receiver: Receiver, reader_of: Callable[[Request], Reader], request: Request) -> Taken:
    """Return the documents of a request after storing them. Raises `HTTPException`."""
    _check_token(receiver.tokens, request)
    read = reader_of(request)
    receiver.check_storage()
    async with receiver.bodies.read(request) as body:
        try:
            if len(body) <= _PARSED_AT_ONCE:
                taken = read(body)
            else:
                # A parsed document is many times as large: one at a time.
                async with receiver.parsing:
                    taken = await asyncio.to_thread(read, body)
        except DocumentError as error:
            raise HTTPException(HTTPStatus.BAD_REQUEST, error.message) from None
        if taken.lines:
            try:
                await receiver.storage.store(taken.kind, taken.lines, request)
            except OSError as error:
                raise _storage_error(error) from None
    return taken


def _storage_error(error: OSError) -> HTTPException:
    if error.errno in _FULL:
        return HTTPException(HTTPStatus.INSUFFICIENT_STORAGE, f"not stored: {error.strerror}")
    problem = f"not stored: {error.strerror or type(error).__name__}"
    return HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, problem, {"Retry-After": "5"})


def _check_token(tokens: tuple[str, ...], request: Request) -> None:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if not tokens:
        return
    # Constant-time comparison with all tokens.
    fits = [compare_digest(given.strip().encode(), token.encode()) for token in tokens]
    if scheme.lower() != "bearer" or not any(fits):
        problem = "missing token: Authorization: Bearer ..." if not given else "unknown token"
        raise HTTPException(HTTPStatus.UNAUTHORIZED, problem, {"WWW-Authenticate": "Bearer"})


def _read_spline(read: Callable[[bytes, str], Taken]) -> Callable[[Request], Reader]:
    def reader(request: Request) -> Reader:
        version = _VERSIONS[_media_type(request, _VERSIONS)]
        return lambda body: read(body, version)

    return reader


def _read_openlineage(read: Reader) -> Callable[[Request], Reader]:
    def reader(request: Request) -> Reader:
        _media_type(request, ("application/json",))
        return read

    return reader


def _media_type(request: Request, known: Mapping[str, str] | tuple[str, ...]) -> str:
    given, *parameters = request.headers.get("content-type", "").lower().split(";")
    charsets = [parameter.partition("=")[2].strip('" ') for parameter in parameters if "charset" in parameter]
    if given.strip() not in known or any(charset not in ("utf-8", "us-ascii") for charset in charsets):
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type: {', '.join(known)}, as UTF-8")
    return given.strip()


def _batch(taken: Taken) -> Response:
    # The specification says 200 here; Marquez returns 201 for a single event, which clients accept as well.
    summary = {"received": taken.documents, "successful": taken.documents, "failed": 0}
    return JSONResponse({"status": "success", "summary": summary})


def _health(receiver: Receiver) -> Endpoint:
    async def health(_request: Request) -> Response:
        try:
            receiver.check_storage()
        except HTTPException as problem:
            return PlainTextResponse(problem.detail, HTTPStatus.SERVICE_UNAVAILABLE)
        return PlainTextResponse("ok")

    return health


def _status(receiver: Receiver) -> Endpoint:
    async def status(_request: Request) -> Response:
        try:
            receiver.check_storage()
        except HTTPException:
            return Response(status_code=HTTPStatus.SERVICE_UNAVAILABLE)
        # Agents before 0.6 read gzip support from the body, later ones from a header.
        response = JSONResponse({"requestDecompression": True})
        for name, value in _HANDSHAKE:
            response.headers.append(name, value)
        return response

    return status
