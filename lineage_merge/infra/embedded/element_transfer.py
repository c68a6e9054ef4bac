"""Client of the embedded server for its elements: whole snapshots, and upserts of many elements."""

import http.client
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

from lineage_merge.infra.embedded.element_batches import (
    GraphTables,
    Kind,
    arrow,
    columns,
    decode,
    table_schema,
)
from lineage_merge.model.errors import LineageMergeError

# A request waits for all before it.
_SECONDS = 30 * 60
_UNCHANGED, _OK, _CONFLICT, _REJECTED = 204, 200, 409, 422


class TransferFailed(LineageMergeError):
    """The server did not answer, or refused a request."""


class TransferConflict(TransferFailed):
    """The request conflicted with a concurrent writer; another attempt may succeed."""


class ElementRejected(TransferFailed):
    """An element is invalid, such as an edge with a missing end."""


class ElementClient:
    """A connection to the server at `url`, which contains user and password. Not thread-safe.

    Methods raise `TransferFailed`.
    """

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        login = f"{address.username}:{address.password}".encode()
        self._headers = {"Authorization": f"Basic {b64encode(login).decode()}"}
        self._connection = http.client.HTTPConnection(
            address.hostname or "", address.port or 80, timeout=_SECONDS
        )

    def __enter__(self) -> "ElementClient":
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def dump(
        self, snapshot: str | None = None, unless: str = "", on_start: Callable[[], None] = lambda: None
    ) -> GraphTables | None:
        """Return the whole graph; None if it is unchanged since the snapshot `unless`.

        `snapshot`: the name of the snapshot that the caller stores. `on_start`: called if it has changed.
        """
        pa = arrow()
        request = {"columns": columns(), "snapshot": snapshot, "unless": unless}
        response = self._request("dump", json.dumps(request).encode())
        with closing(response):
            if response.status == _UNCHANGED:
                response.read()
                return None
            on_start()
            received: dict[Kind, list[object]] = {"vertices": [], "edges": []}
            try:
                for frame in _frames(response):
                    size = int.from_bytes(memoryview(frame)[:8], "little")
                    header = json.loads(bytes(memoryview(frame)[8 : 8 + size]))
                    data = frame.slice(8 + size)
                    received[header["kind"]].append(decode(header["kind"], header, data))
            except (OSError, http.client.HTTPException) as error:
                raise _unavailable(error) from None
        vertices, edges = (
            pa.Table.from_batches(batches, table_schema(kind)) for kind, batches in received.items()
        )
        return GraphTables(vertices, edges)

    def create(self, batch: bytes, snapshot: str) -> None:
        """Add elements of a snapshot of this name, which are not in the graph."""
        self._send(f"create?snapshot={quote(snapshot)}", batch)

    def merge(self, batch: bytes) -> None:
        """Upsert elements by id."""
        self._send("merge", batch)

    def _send(self, operation: str, batch: bytes) -> None:
        with closing(self._request(operation, batch)) as response:
            response.read()

    def _request(self, operation: str, body: bytes) -> http.client.HTTPResponse:
        try:
            self._connection.request("POST", f"/elements/{operation}", body, self._headers)
            response = self._connection.getresponse()
            if response.status in (_OK, _UNCHANGED):
                return response
            message = response.read().decode(errors="replace").strip()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise _unavailable(error) from None
        line = message.splitlines()[0] if message else f"HTTP {response.status}"
        if response.status == _CONFLICT:
            raise TransferConflict(line)
        raise (ElementRejected if response.status == _REJECTED else TransferFailed)(line)


def _frames(response: http.client.HTTPResponse) -> Iterator[Any]:
    """Yield the frames of a dump as Arrow's buffers. Raises `TransferConflict` with the server's message."""
    pa = arrow()
    while size := int.from_bytes(_read(response, 8), "little", signed=True):
        if size < 0:
            raise TransferConflict(_read(response, -size).decode(errors="replace").strip())
        yield pa.py_buffer(_read(response, size))
    response.read()


def _read(response: http.client.HTTPResponse, size: int) -> bytearray:
    data = bytearray(size)
    view, position = memoryview(data), 0
    while position < size:
        number = response.readinto(view[position:])
        if not number:
            raise http.client.IncompleteRead(b"")
        position += number
    return data


def _unavailable(error: Exception) -> TransferFailed:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return TransferFailed(f"no response from the embedded Gremlin Server ({reason})")
