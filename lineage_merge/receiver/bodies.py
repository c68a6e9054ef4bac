"""Request bodies, decompressed, with limits on size, memory and time."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

# A client that stays silent for longer within a body is considered disconnected.
_SILENT_SECONDS = 60
# Limit on the memory of all requests together, in bodies of the largest size.
_LARGEST_BODIES = 4
_GZIP = 31  # zlib's window bits for a gzip header and checksum
# Clients send one member. Each costs as much as kilobytes of a body, even if empty.
_MAX_MEMBERS = 100
# Column lineage of a join of hundreds of columns reaches 130; gzip itself 1,030.
_MAX_RATIO = 300
# The ratio is not checked for smaller bodies: it does no harm there.
_RATIO_COUNTS_ABOVE = 1 << 20


class RequestBodies:
    """Reader of bodies of at most `max_bytes` bytes each, compressed and decompressed."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """Yield a request's body, decompressed. Its memory is reserved until the block ends.

        Raises `HTTPException`.
        """
        gzip = _gzip(request)
        if int(request.headers.get("content-length", "0")) > self._max_bytes:
            raise _too_large(self._max_bytes)
        # Not a list of chunks: a body sent byte by byte would take forty times its size.
        body = bytearray()
        size = wire = 0
        try:
            async for chunk in _chunks(request):
                wire += len(chunk)
                piece = gzip.feed(chunk, self._max_bytes - size) if gzip else chunk
                size += len(piece)
                self._held += len(piece)
                if size > self._max_bytes or wire > self._max_bytes:
                    raise _too_large(self._max_bytes)
                if self._held > self._max_bytes * _LARGEST_BODIES:
                    busy = "too many large bodies at once: try again"
                    raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, busy, {"Retry-After": "5"})
                body += piece
            if gzip:
                gzip.end()
            yield bytes(body)
        finally:
            self._held -= size


def unpack(packed: bytes, max_bytes: int) -> bytes:
    """Decompress a body that is already in memory. Raises `HTTPException`."""
    gzip = _Gzip()
    body = gzip.feed(packed, max_bytes)
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    gzip.end()
    return body


def _too_large(max_bytes: int) -> HTTPException:
    return HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"body exceeds {max_bytes:,} bytes")


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(_SILENT_SECONDS):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise HTTPException(
                HTTPStatus.REQUEST_TIMEOUT, "timeout: the rest of the body is missing"
            ) from None
        except ClientDisconnect:
            raise HTTPException(HTTPStatus.BAD_REQUEST, "connection closed within the body") from None
        if chunk is None:
            return
        yield chunk


class _Gzip:
    """A gzip stream of one or more members."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._is_within = True
        self._members = 1
        self._packed = 0
        self._unpacked = 0

    def feed(self, chunk: bytes, room: int) -> bytes:
        """Decompress a chunk, up to one byte more than `room`."""
        self._packed += len(chunk)
        allowed = max(_RATIO_COUNTS_ABOVE, self._packed * _MAX_RATIO) - self._unpacked
        room, is_short = min(room, allowed), allowed < room
        unpacked = b""
        while chunk and len(unpacked) <= room:
            if not self._is_within:
                self._begin_member()
            try:
                unpacked += self._member.decompress(chunk, room + 1 - len(unpacked))
            except zlib.error:
                raise HTTPException(HTTPStatus.BAD_REQUEST, "body is not gzip") from None
            self._is_within = not self._member.eof
            chunk = self._member.unconsumed_tail if self._is_within else self._member.unused_data
        if is_short and len(unpacked) > room:
            problem = f"body decompresses to more than {_MAX_RATIO} times its size"
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, problem)
        self._unpacked += len(unpacked)
        return unpacked

    def _begin_member(self) -> None:
        self._members += 1
        if self._members > _MAX_MEMBERS:
            problem = f"body has more than {_MAX_MEMBERS} gzip members"
            raise HTTPException(HTTPStatus.BAD_REQUEST, problem)
        self._member, self._is_within = zlib.decompressobj(_GZIP), True

    def end(self) -> None:
        if self._is_within:
            raise HTTPException(HTTPStatus.BAD_REQUEST, "incomplete gzip stream")


def _gzip(request: Request) -> _Gzip | None:
    match request.headers.get("content-encoding", "").strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Gzip()
    raise HTTPException(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Encoding: gzip or none", {"Accept-Encoding": "gzip"}
    )
