"""Counts of received and rejected documents."""

from dataclasses import dataclass


@dataclass(slots=True)
class ReceivedCounts:
    """Counts since the start. `taken_bytes`: uncompressed bytes in the files."""

    plans: int = 0
    events: int = 0
    openlineage: int = 0
    taken_bytes: int = 0
    requests: int = 0
    refused: int = 0
    not_stored: int = 0

    def __str__(self) -> str:
        text = (
            f"received {_counted(self.plans, 'plan')}, {_counted(self.events, 'event')}, "
            f"{_counted(self.openlineage, 'OpenLineage event')}: {self.taken_bytes:,} bytes"
        )
        text += f"; rejected {_counted(self.refused, 'request')}" if self.refused else ""
        return text + (f"; could not store {self.not_stored:,}" if self.not_stored else "")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
