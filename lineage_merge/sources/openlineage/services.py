"""Events of services with an API, listed by the driver and read by tasks: DataZone and Marquez.

Both are read again for each merge, as far back as runs are selected; what this package exported is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Count, Element, Problem
from lineage_merge.model.times import latest_credible, utc_time
from lineage_merge.model.version import PRODUCER_URN
from lineage_merge.sources.openlineage import datazone, marquez
from lineage_merge.sources.openlineage.files import Event
from lineage_merge.sources.openlineage.settings import OpenLineage
from lineage_merge.sources.openlineage.subjects import SubjectEvent, assign_subject

# A run that ended in the lookback may have begun before it.
_LONGEST_RUN = timedelta(days=1)
_MILLISECOND = timedelta(milliseconds=1)
# An estimate: of Spark, with columns.
_BYTES_PER_EVENT = 20_000
_EVENTS_PER_TASK = 2_000

Read = Callable[[Iterable[Any]], Iterator[Event | Problem]]


class ServiceEvents(NamedTuple):
    """The events of services, and what the report says about them."""

    events: Rows[SubjectEvent]
    exported: Rows[Count]
    notes: Sequence[Element]


def read_services(engine: Engine, settings: OpenLineage) -> ServiceEvents:
    """Read the events of all services. Raises `SourceError` for one that cannot be read."""
    rows: list[Rows[Any]] = []
    notes: list[Element] = []

    def add(service: object, items: Sequence[Any], events: int, read: Read, since: int) -> None:
        if not items:
            notes.append(Problem("notice", str(service), "", f"no events since {utc_time(since)}"))
            return
        engine.reserve(_BYTES_PER_EVENT * events)
        tasks = min(len(items), max(engine.parallelism, events // _EVENTS_PER_TASK))
        rows.append(engine.rows(items, tasks).map_partitions(read).map(_drop_exported))

    if domain := settings.datazone:
        newest = datazone.find_newest(domain, latest_credible())
        since = _find_start(settings, newest.at if newest else None)
        listed = datazone.list_events(domain, since)
        failed = sum(event.failed for event in listed)
        if failed:
            notes.append(Count("OpenLineage events that DataZone could not process", failed))
        add(domain, listed, len(listed), partial(datazone.read_events, domain), since)
    if settings.marquez:
        server = settings.marquez.with_secret()
        since = _find_start(settings, marquez.find_newest(server, latest_credible()))
        spans = marquez.list_spans(server, since)
        add(server, spans, sum(span.events for span in spans), partial(marquez.read_events, server), since)
    # Each call is made once: what is read is used twice.
    read = engine.union(rows).cache() if rows else engine.empty()
    return ServiceEvents(read.filter(_is_event), read.filter(_is_count), notes)


def _find_start(settings: OpenLineage, newest: int | None) -> int:
    """Return the time from which events are needed, in ms."""
    start = settings.runs.find_start(newest or 0, settings.lookback)
    return max(start - _LONGEST_RUN // _MILLISECOND, 0)


def _drop_exported(read: Event | Problem) -> SubjectEvent | Count:
    """Return an event; of one that this package exported only that there is one."""
    if isinstance(read, Event) and str(read.document.get("producer")).startswith(PRODUCER_URN):
        return Count("OpenLineage events that lineage-merge exported", 1)
    return assign_subject(read)


def _is_count(row: SubjectEvent | Count) -> bool:
    return isinstance(row, Count)


def _is_event(row: SubjectEvent | Count) -> bool:
    return not isinstance(row, Count)
