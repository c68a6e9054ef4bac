"""Requests on their way: several at once, sent again where they met another writer."""

import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from itertools import chain
from typing import Any

from gremlin_python.driver.client import Client
from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource

from lineage_merge.errors import GraphRejected
from lineage_merge.load import requests
from lineage_merge.load.connection import Endpoint, GraphConflict, open_client, translated_errors
from lineage_merge.load.requests import Upsert

# One request is worked on by the server while the next is being written.
_UNDER_WAY = 2
_ATTEMPTS = 6
_LONGEST_PAUSE_SECONDS = 1.0


def answer(
    endpoint: Endpoint, g: GraphTraversalSource, ask: Callable[[GraphTraversalSource], GraphTraversal]
) -> list[Any]:
    """The results of one traversal; one that met another writer is sent again.

    Raises GraphUnreachable and GraphRejected; `GraphConflict` (which is one) where another
    writer was in the way each time.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with translated_errors(endpoint):
                found: list[Any] = ask(g).to_list()
        except GraphConflict:
            if attempt == _ATTEMPTS:
                raise
            _pause(attempt)
        else:
            return found
    raise AssertionError("unreachable")


def send(endpoint: Endpoint, batches: Iterator[list[Upsert]]) -> int:
    """Send every batch, a few under way at a time; how many there were.

    Raises GraphUnreachable, and GraphRejected with the name of the element that was refused.
    """
    sent = 0
    first = next(batches, None)
    if first is None:
        return sent  # no rows, no connection
    with open_client(endpoint, _UNDER_WAY) as client:
        under_way: deque[tuple[list[Upsert], Future[Any]]] = deque()
        try:
            for batch in chain([first], batches):
                if len(under_way) == _UNDER_WAY:
                    _settle(client, endpoint, *under_way.popleft())
                under_way.append((batch, _submit(client, batch)))
                sent += 1
            while under_way:
                _settle(client, endpoint, *under_way.popleft())
        finally:
            for _, waiting in under_way:
                _wait_quietly(waiting)
    return sent


def _submit(client: Client, batch: list[Upsert]) -> "Future[Any]":
    waiting: Future[Any] = client.submit_async(requests.bytecode(batch))
    return waiting


def _wait_quietly(waiting: "Future[Any]") -> None:
    # After an error the others do not matter, but a client closes only the connections that
    # wait for nothing.
    if waiting.exception() is None:
        waiting.result().all().exception()


def _settle(client: Client, endpoint: Endpoint, batch: list[Upsert], waiting: "Future[Any]") -> None:
    """Wait for the answer to a batch. Sends it again, or in parts, if that may help."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with translated_errors(endpoint):
                waiting.result().all().result()
        except GraphConflict as error:
            if attempt == _ATTEMPTS:
                raise GraphRejected(f"{_named(batch)}: tried {_ATTEMPTS} times: {error.message}") from None
            _pause(attempt)
            waiting = _submit(client, batch)
        except GraphRejected as error:
            if len(batch) == 1:
                raise GraphRejected(f"{_named(batch)}: {error.message}") from None
            # The server refuses a whole request and need not say which element is wrong.
            for upsert in batch:
                _settle(client, endpoint, [upsert], _submit(client, [upsert]))
            return
        else:
            return


def _pause(attempt: int) -> None:
    time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS * attempt / _ATTEMPTS))  # noqa: S311 # jitter


def _named(batch: list[Upsert]) -> str:
    others = f" and {len(batch) - 1} more" if len(batch) > 1 else ""
    return f"{batch[0]}{others}"
