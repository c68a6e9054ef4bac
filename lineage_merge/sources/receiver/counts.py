"""What a receiver took and refused."""

from dataclasses import dataclass


@dataclass(slots=True)
class ReceivedCounts:
    """Counts since the start. `taken_bytes` are those in the files, unpacked."""

    plans: int = 0
    events: int = 0
    openlineage: int = 0
    taken_bytes: int = 0
    requests: int = 0
    refused: int = 0
    not_stored: int = 0

    def __str__(self) -> str:
        told = (
            f"took {_counted(self.plans, 'plan')}, {_counted(self.events, 'event')}, "
            f"{_counted(self.openlineage, 'OpenLineage event')}: {self.taken_bytes:,} bytes"
        )
        told += f"; refused {_counted(self.refused, 'request')}" if self.refused else ""
        return told + (f"; could not keep {self.not_stored:,}" if self.not_stored else "")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
