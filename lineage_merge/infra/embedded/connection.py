"""Gremlin connections to the server of `serve`."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection

from lineage_merge.infra.traversal_source import is_in_event_loop, source

_CONNECT_SECONDS = 5

# It logs every error that it also raises; without a handler, logging prints to the terminal.
logging.getLogger("gremlinpython").addHandler(logging.NullHandler())


def remove_login(url: str) -> str:
    """Return a server URL without user and password, for messages."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


@contextmanager
def connect(url: str) -> Iterator[Any]:
    """Yield a traversal source of the server at `url`. Raises `OSError` if none listens."""
    address = urlsplit(url)
    # gremlinpython never closes a connection that it fails to open, so check first.
    socket.create_connection((address.hostname or "", address.port or 80), _CONNECT_SECONDS).close()
    # Notebooks run an event loop of their own.
    connection = DriverRemoteConnection(url, "g", call_from_event_loop=is_in_event_loop())
    try:
        yield source(connection)
    finally:
        connection.close()
