"""The body of a request, unpacked, within limits of size, memory and patience."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

# A sender that is silent for longer in the middle of a body has gone.
_SILENT_SECONDS = 60
# How many bodies of the largest size all requests together may hold.
_LARGEST_BODIES = 4
_GZIP = 31  # zlib's window bits for a gzip header and checksum
# Clients send one member. Each costs as much as kilobytes of a body, however empty it is.
_MOST_MEMBERS = 100
# Column lineage of a join of hundreds of columns reaches 130; gzip itself 1,030.
_MOST_RATIO = 300
# Below that a ratio does no harm: a small document of equal characters may have any.
_RATIO_COUNTS_ABOVE = 1 << 20


class Bodies:
    """Reads bodies of at most `most` bytes each, packed and unpacked."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0

    @asynccontextmanager
    async def of(self, request: Request) -> AsyncIterator[bytes]:
        """A request's body, unpacked. It counts as held until the block ends. Raises `HTTPException`."""
        unpack = _unpacker(request)
        if int(request.headers.get("content-length", "0")) > self._most:
            raise self._too_large()
        # Not a list of pieces: a body that comes byte by byte would take forty times its size.
        body = bytearray()
        size = wire = 0
        try:
            async for chunk in _chunks(request):
                wire += len(chunk)
                piece = unpack.feed(chunk, self._most - size)
                size += len(piece)
                self._held += len(piece)
                if size > self._most or wire > self._most:
                    raise self._too_large()
                if self._held > self._most * _LARGEST_BODIES:
                    busy = "too many large bodies at once: try again"
                    raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, busy, {"Retry-After": "5"})
                body += piece
            unpack.end()
            yield bytes(body)
        finally:
            self._held -= size

    def _too_large(self) -> HTTPException:
        return HTTPException(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {self._most:,} bytes"
        )


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(_SILENT_SECONDS):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, "the rest of the body does not come") from None
        except ClientDisconnect:
            raise HTTPException(HTTPStatus.BAD_REQUEST, "the connection ended within the body") from None
        if chunk is None:
            return
        yield chunk


class _Plain:
    """A body that is not packed."""

    def feed(self, chunk: bytes, _room: int) -> bytes:
        return chunk

    def end(self) -> None:
        """Any end will do."""


class _Gzip:
    """A gzip stream, perhaps of several members."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._is_within = True
        self._members = 1
        self._packed = 0
        self._unpacked = 0

    def feed(self, chunk: bytes, room: int) -> bytes:
        """Unpack a chunk, cut off one byte behind `room`: no more is ever made of it."""
        self._packed += len(chunk)
        allowed = max(_RATIO_COUNTS_ABOVE, self._packed * _MOST_RATIO) - self._unpacked
        room, is_short = min(room, allowed), allowed < room
        unpacked = b""
        while chunk and len(unpacked) <= room:
            if not self._is_within:
                self._begin_member()
            try:
                unpacked += self._member.decompress(chunk, room + 1 - len(unpacked))
            except zlib.error:
                raise HTTPException(HTTPStatus.BAD_REQUEST, "the body is not gzip") from None
            self._is_within = not self._member.eof
            chunk = self._member.unconsumed_tail if self._is_within else self._member.unused_data
        if is_short and len(unpacked) > room:
            problem = f"the body unpacks to more than {_MOST_RATIO} times its size"
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, problem)
        self._unpacked += len(unpacked)
        return unpacked

    def _begin_member(self) -> None:
        self._members += 1
        if self._members > _MOST_MEMBERS:
            problem = f"the body has more than {_MOST_MEMBERS} gzip members"
            raise HTTPException(HTTPStatus.BAD_REQUEST, problem)
        self._member, self._is_within = zlib.decompressobj(_GZIP), True

    def end(self) -> None:
        if self._is_within:
            raise HTTPException(HTTPStatus.BAD_REQUEST, "the body is not a whole gzip stream")


def _unpacker(request: Request) -> _Plain | _Gzip:
    match request.headers.get("content-encoding", "").strip().lower():
        case "" | "identity":
            return _Plain()
        case "gzip" | "x-gzip":
            return _Gzip()
    raise HTTPException(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Encoding: gzip or none", {"Accept-Encoding": "gzip"}
    )
