"""Versions of Spline's database in its collection `dbVersion`. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

COLLECTION = "dbVersion"
# Tested against databases of these versions; later minor versions of 1 have the same documents.
SUPPORTED = "0.7 and 1.x"
# Limitations of a 0.7 database: agents use producer API 1.1 for it.
LIMITS_OF_0_7 = "agents send no failed writes and no labels"
NO_LABELS = "select by spline.applications; labels are found only in `extra` of a plan or execution"
_NUMBERS = re.compile(r"(\d+)(?:\.(\d+))?")


class Versions(NamedTuple):
    """The version of a database, and the target of an unfinished upgrade; "" for none."""

    current: str = ""
    preparing: str = ""

    @property
    def numbers(self) -> tuple[int, int] | None:
        """Return the major and minor number of the current version, None if unknown."""
        match = _NUMBERS.match(self.current)
        return (int(match[1]), int(match[2] or 0)) if match else None

    @property
    def is_supported(self) -> bool:
        """Return whether documents of this version are supported."""
        return self.numbers is not None and (self.numbers[0] == 1 or self.numbers == (0, 7))

    @property
    def is_0_7(self) -> bool:
        """Return whether the database lacks transactions, labels and failed writes."""
        return self.numbers == (0, 7)

    @property
    def refusal(self) -> str:
        """Return why the database cannot be read; "" if it can be attempted."""
        if self.numbers is None or self.numbers >= (0, 6):
            return ""
        return (
            f"Spline's database has version {self.current}: 0.5 and older use other documents; "
            f"{SUPPORTED} are supported"
        )


def versions(documents: Iterable[Mapping[str, Any]]) -> Versions:
    """Return the versions in the documents of `dbVersion`."""
    by_status = {
        str(document.get("status", "")).lower(): str(document.get("version", "")) for document in documents
    }
    return Versions(by_status.get("current", ""), by_status.get("preparing", ""))
