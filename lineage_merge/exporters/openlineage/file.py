"""Events as JSON lines."""

from collections.abc import Iterable

from openlineage.client.serde import Serde

from lineage_merge.exporters.openlineage.events import Event
from lineage_merge.exporters.output import text_to


def write(place: str | None, events: Iterable[Event]) -> dict[str, int]:
    """Write them, None to standard output, and count. Errors as `text_to`."""
    told = 0
    with text_to(place) as write_text:
        for each in events:
            write_text(Serde.to_json(each) + "\n")
            told += 1
    return {"events": told}
