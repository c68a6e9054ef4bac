"""Writing of events as JSON lines."""

from collections.abc import Iterable

from openlineage.client.event_v2 import DatasetEvent
from openlineage.client.serde import Serde

from lineage_merge.exporters.openlineage.events import Event
from lineage_merge.exporters.output import open_text


def write(destination: str | None, events: Iterable[Event | DatasetEvent]) -> dict[str, int]:
    """Write events (None: to standard output) and return their number. Raises the errors of `open_text`."""
    written = 0
    with open_text(destination) as write_text:
        for each in events:
            write_text(Serde.to_json(each) + "\n")
            written += 1
    return {"events": written}
