"""Events of a domain of Amazon DataZone: the list has their ids, each event is a call of its own."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.infra import input_budget
from lineage_merge.infra.batches import batched
from lineage_merge.model.elements import Problem
from lineage_merge.model.times import EPOCH, epoch_ms
from lineage_merge.sources.aws_calls import client_of
from lineage_merge.sources.openlineage.files import Event, events_of_body
from lineage_merge.sources.openlineage.settings import DataZone

# The most that a page may have.
_PAGE = 50
# Calls of a task at a time: each takes tens of milliseconds.
_THREADS = 8
_BATCH = 100
_FAILED = "FAILED"


class ListedEvent(NamedTuple):
    """An event that the list names, its time in ms, and whether DataZone could not process it."""

    id: str
    at: int
    failed: bool


def find_newest(settings: DataZone, before: int | None = None) -> ListedEvent | None:
    """Return the newest event, or the newest before a time in ms; None without one. Raises `SourceError`."""
    limit = {} if before is None else {"timestampBefore": EPOCH + timedelta(milliseconds=before)}
    with client_of("datazone", settings.region, str(settings)) as client:
        page = client.list_lineage_events(
            domainIdentifier=settings.domain, sortOrder="DESCENDING", maxResults=1, **limit
        )
    return next(_items(page), None)


def list_events(settings: DataZone, since: int) -> list[ListedEvent]:
    """Return the events since a time, each once. Raises `SourceError`.

    It is not documented whether a list without a status has failed events: they are listed too.
    """
    found: dict[str, ListedEvent] = {}
    statuses: tuple[dict[str, str], ...] = ({}, {"processingStatus": _FAILED})
    with client_of("datazone", settings.region, str(settings)) as client:
        for status in statuses:
            pages = client.get_paginator("list_lineage_events").paginate(
                domainIdentifier=settings.domain,
                timestampAfter=EPOCH + timedelta(milliseconds=since),
                sortOrder="ASCENDING",
                PaginationConfig={"PageSize": _PAGE},
                **status,
            )
            found |= {event.id: event for page in pages for event in _items(page)}
    return list(found.values())


def _items(page: Mapping[str, Any]) -> Iterator[ListedEvent]:
    for item in page.get("items", ()):
        time = item.get("eventTime") or item.get("createdAt") or EPOCH
        yield ListedEvent(str(item["id"]), epoch_ms(time), item.get("processingStatus") == _FAILED)


def read_events(settings: DataZone, listed: Iterable[ListedEvent]) -> Iterator[Event | Problem]:
    """Yield events of a domain, or what is wrong with them. Raises `SourceError`."""
    with (
        client_of("datazone", settings.region, str(settings)) as client,
        ThreadPoolExecutor(_THREADS) as pool,
    ):
        for batch in batched(listed, _BATCH):
            ids = [event.id for event in batch]
            for identifier, body in zip(ids, pool.map(partial(_get, client, settings), ids), strict=True):
                input_budget.count(len(body or b""))
                if body is not None:
                    yield from events_of_body(body, f"{settings}: event {identifier}")


def _get(client: Any, settings: DataZone, identifier: str) -> bytes | None:
    """Return an event as it was posted; None if it was deleted since the list was made."""
    try:
        answer = client.get_lineage_event(domainIdentifier=settings.domain, identifier=identifier)
    except client.exceptions.ResourceNotFoundException:
        return None
    return bytes(answer["event"].read())
