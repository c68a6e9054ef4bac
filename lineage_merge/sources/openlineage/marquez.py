"""Events of a Marquez: its API lists run events by their time, in spans that tasks read side by side.

Marquez sorts by time only and pages by offset: of events with one time, a page may repeat some and lack
others. So a span of time is read in one request, and spans are halved until each has few events.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from lineage_merge.infra import input_budget
from lineage_merge.infra.document_decoder import loads
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.model.times import EPOCH
from lineage_merge.sources.http_calls import send
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.openlineage.documents import moment
from lineage_merge.sources.openlineage.files import Event, check_events
from lineage_merge.sources.openlineage.settings import Marquez

# Events of a request. They may have facets of some 100 kB.
_PAGE = 200
_PATH = "/api/v1/events/lineage"
# After each time that an event may have (0001 to 9999), in ms.
_END = 253_402_300_799_999


class Span(NamedTuple):
    """The times from `after` until before `before`, in ms, and about how many events have them."""

    after: int
    before: int
    events: int


def find_newest(settings: Marquez, before: int = _END) -> int | None:
    """Return the time of the newest event before a time, in ms; None without one. Raises `SourceError`."""
    _, events = _list(settings, 0, before, 1)
    try:
        return max(map(moment, map(as_mapping, events)), default=None)
    except (KeyError, AttributeError, ValueError):
        raise _error_of_answer(settings) from None


def list_spans(settings: Marquez, since: int) -> list[Span]:
    """Return spans that together have the events since a time. Raises `SourceError`."""
    newest = find_newest(settings)
    return [] if newest is None else list(_halve(settings, since, newest + 1))


def _halve(settings: Marquez, after: int, before: int) -> Iterator[Span]:
    # Also of events that the API does not list, which are about datasets and jobs without a run.
    number, _ = _list(settings, after, before, 0)
    if number > _PAGE and before - after > 1:
        middle = (after + before) // 2
        yield from _halve(settings, after, middle)
        yield from _halve(settings, middle, before)
    elif number:
        yield Span(after, before, number)


def read_events(settings: Marquez, spans: Iterable[Span]) -> Iterator[Event | Problem]:
    """Yield the events of spans, or what is wrong with them. Raises `SourceError`."""
    for span in spans:
        limit = span.events + _PAGE
        # Events may have arrived since they were counted.
        while len(events := _list(settings, span.after, span.before, limit)[1]) >= limit:
            limit *= 2
        for event in events:
            run = as_text(as_mapping(as_mapping(event).get("run")).get("runId"))
            yield from check_events(event, f"{settings}: run {run} at {as_mapping(event).get('eventTime')}")


def _list(settings: Marquez, after: int, before: int, limit: int) -> tuple[int, list[Any]]:
    """Return the number of events in a span, and the newest ones."""
    query = {"after": _as_text(after), "before": _as_text(before), "limit": limit, "sortDirection": "desc"}
    url = f"{settings.url}{_PATH}?{urlencode(query)}"
    content = send(settings, url, token=settings.secret(), timeout_seconds=settings.timeout_seconds)
    input_budget.count(len(content))
    try:
        answer: Mapping[str, Any] = as_mapping(loads(content.decode("utf-8")))
        return int(answer["totalCount"]), as_list(answer["events"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise _error_of_answer(settings) from None


def _as_text(milliseconds: int) -> str:
    time = EPOCH + timedelta(milliseconds=milliseconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _error_of_answer(settings: Marquez) -> SourceError:
    return SourceError(
        f"{settings}: not an answer of the API of Marquez 0.40 or newer: give its address as url"
    )
