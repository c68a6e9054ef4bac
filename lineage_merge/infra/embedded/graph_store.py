"""Graph files in GraphSON 3, which the server itself writes and reads."""

import asyncio
import fcntl
import json
import logging
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.process.traversal import IO

from lineage_merge.infra.embedded.file_lock import make_folder, make_private, open_private
from lineage_merge.infra.traversal_source import source
from lineage_merge.model.errors import EmbeddedError

# A large graph takes longer than the limit of a query.
_IO_MILLISECONDS = 30 * 60 * 1000
_CONNECT_SECONDS = 5
_TRIES = 6

# It logs every error that it also raises; without a handler, logging prints to the terminal.
logging.getLogger("gremlinpython").addHandler(logging.NullHandler())
_PAUSE_SECONDS = 0.5


def without_login(url: str) -> str:
    """Return a server URL without user and password, for messages."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """Yield a traversal source of the server at `url`. Raises `OSError` if none listens."""
    address = urlsplit(url)
    # gremlinpython never closes a connection that it fails to open, so check first.
    socket.create_connection((address.hostname or "", address.port or 80), _CONNECT_SECONDS).close()
    # Notebooks run an event loop of their own.
    connection = DriverRemoteConnection(url, "g", call_from_event_loop=_in_event_loop())
    try:
        yield source(connection)
    finally:
        connection.close()


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def save(url: str, graph_file: Path) -> None:
    """Write the graph at `url` (on this machine) to `graph_file` atomically.

    Retries a copy that a concurrent writer made inconsistent. Raises `EmbeddedError`; the file is then
    unchanged.
    """
    problem = ""
    try:
        with _saving(graph_file):
            for attempt in range(_TRIES):
                if attempt:
                    time.sleep(_PAUSE_SECONDS)
                problem = _save_once(url, graph_file)
                if not problem:
                    return
    except OSError as error:
        problem = error.strerror or str(error)
    raise EmbeddedError(f"the graph was not saved to {graph_file} (unchanged): {problem}")


@contextmanager
def _saving(graph_file: Path) -> Iterator[None]:
    """Serialize saves: an older copy must not replace a newer one."""
    make_folder(graph_file.parent)
    with open_private(Path(f"{graph_file}.saving"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _save_once(url: str, graph_file: Path) -> str:
    with tempfile.TemporaryDirectory(prefix=f"{graph_file.name}.", dir=graph_file.parent) as work:
        # A private directory, also for temporary files of the server.
        copy = Path(work) / "graph.json"
        try:
            with connected(url) as g:
                limited = g.with_("evaluationTimeout", _IO_MILLISECONDS)
                limited.io(str(copy)).with_(IO.writer, IO.graphson).write().to_list()
        except GremlinServerError as error:
            return _first_line(error)
        if problem := fault(copy):
            return problem
        with copy.open("rb+") as written:
            os.fsync(written.fileno())
        make_private(copy)
        copy.replace(graph_file)
    return ""


def verify(graph_file: Path) -> None:
    """Raise `EmbeddedError` if the file is invalid: fast, and without a server."""
    try:
        problem = fault(graph_file)
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        raise _unreadable(graph_file, problem)


def restore(url: str, graph_file: Path) -> None:
    """Read `graph_file` into the graph at `url`. Raises `EmbeddedError`; never modifies the file."""
    try:
        with connected(url) as g:
            limited = g.with_("evaluationTimeout", _IO_MILLISECONDS)
            limited.io(str(graph_file)).with_(IO.reader, IO.graphson).read().to_list()
    except OSError as error:
        raise _unreadable(graph_file, error.strerror or str(error)) from error
    except GremlinServerError as error:
        raise _unreadable(graph_file, _first_line(error)) from error


def _unreadable(graph_file: Path, problem: str) -> EmbeddedError:
    fix = "move the file to start with an empty graph"
    return EmbeddedError(f"the graph file {graph_file} cannot be read: {problem}; {fix}")


def fault(graph_file: Path) -> str:
    """Return the problem of a GraphSON file with one vertex per line, or "".

    Every line must be a vertex, and each edge must appear at both of its ends: the server's reader silently
    drops others. An empty file is an empty graph.
    """
    vertices: set[str] = set()
    ends: set[str] = set()
    leaving: set[str] = set()
    arriving: set[str] = set()
    with graph_file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                vertex = json.loads(line)
                vertices.add(_key(vertex["id"]))
                for edge in _edges(vertex, "outE"):
                    leaving.add(_key(edge["id"]))
                    ends.add(_key(edge["inV"]))
                for edge in _edges(vertex, "inE"):
                    arriving.add(_key(edge["id"]))
                    ends.add(_key(edge["outV"]))
            except (ValueError, KeyError, TypeError, AttributeError):
                return f"line {number} is not a vertex in GraphSON"
    if ends - vertices or leaving ^ arriving:
        return "edges with a missing vertex"
    return ""


def _edges(vertex: dict[str, Any], direction: str) -> Iterator[dict[str, Any]]:
    for edges in vertex.get(direction, {}).values():
        yield from edges


def _key(identifier: object) -> str:
    return json.dumps(identifier, sort_keys=True)


def _first_line(error: GremlinServerError) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
