"""Versions of Spline's database, as its collection `dbVersion` gives them. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

COLLECTION = "dbVersion"
# Tested against databases of these; a later minor version of 1 keeps the documents.
SUPPORTED = "0.7 and 1.x"
# What a database of 0.7 cannot hold: agents talk producer API 1.1 to it.
LIMITS_OF_0_7 = "agents send it no failed writes and no labels"
NO_LABELS = "choose by spline.applications; a label counts only where `extra` of a plan or execution has it"
_NUMBERS = re.compile(r"(\d+)(?:\.(\d+))?")


class Versions(NamedTuple):
    """The version that a database has, and the one that an unfinished upgrade leads to; "" for none."""

    current: str = ""
    preparing: str = ""

    @property
    def numbers(self) -> tuple[int, int] | None:
        """Major and minor number of the current version, None where it is unknown."""
        found = _NUMBERS.match(self.current)
        return (int(found[1]), int(found[2] or 0)) if found else None

    @property
    def is_supported(self) -> bool:
        """Whether documents of this version are read as they are meant."""
        return self.numbers is not None and (self.numbers[0] == 1 or self.numbers == (0, 7))

    @property
    def is_0_7(self) -> bool:
        """Whether the database knows neither transactions, nor labels, nor failed writes."""
        return self.numbers == (0, 7)

    @property
    def refusal(self) -> str:
        """Why nothing can be read of the database; "" where it can be tried."""
        if self.numbers is None or self.numbers >= (0, 6):
            return ""
        return (
            f"Spline's database is of version {self.current}: 0.5 and older keep other documents; "
            f"{SUPPORTED} are supported"
        )


def versions(documents: Iterable[Mapping[str, Any]]) -> Versions:
    """What the documents of `dbVersion` say."""
    by_status = {str(each.get("status", "")).lower(): str(each.get("version", "")) for each in documents}
    return Versions(by_status.get("current", ""), by_status.get("preparing", ""))
