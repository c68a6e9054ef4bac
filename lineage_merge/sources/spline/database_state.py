"""State of Spline's database: its version, and which of its documents are committed. Pure.

Spline's server enters a writing transaction into `txInfo`, then draws its number from `counter`; each
document that it writes has both in ``_txInfo``, and a commit removes the entry. Readers take the counter
first and the entries second: a transaction up to that number is either listed as open or was committed
before, and one with a greater number began later. Version 0.7 has no transactions.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

VERSIONS = "dbVersion"
# Tested against databases of these versions; later minor versions of 1 have the same documents.
SUPPORTED = "0.7 and 1.x"
# Limitations of a 0.7 database: agents use producer API 1.1 for it.
LIMITS_OF_0_7 = "agents send no failed writes and no labels"
NO_LABELS = "select by spline.applications; labels are found only in `extra` of a plan or execution"
_NUMBERS = re.compile(r"(\d+)(?:\.(\d+))?")

COUNTER = "counter"
OPEN = "txInfo"
COUNTER_KEY = "tx"
_MOST = 1 << 63

# AQL condition on the document `p`; its variables are those of `Snapshot.variables`. Documents without a
# transaction pass: null is less than any number.
COMMITTED = "p._txInfo.uid NOT IN @open AND p._txInfo.num <= @newest"
# Greater than any number of a counter, and exact in JSON.
_NO_LIMIT = 1 << 53


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


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The open transactions at one moment, and the newest transaction number.

    `newest` None: the database does not number its transactions.
    """

    open: frozenset[str] = frozenset()
    newest: int | None = None

    def hides(self, document: Mapping[str, Any]) -> bool:
        """Return whether a document is uncommitted, or newer than the snapshot."""
        transaction = document.get("_txInfo")
        return isinstance(transaction, dict) and self._hides(transaction.get("num"), transaction.get("uid"))

    def hides_any(self, documents: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether any of these valid documents is hidden."""
        if self == EVERYTHING:
            return False
        # The documents of a plan have the same transaction.
        transactions = {
            (transaction.get("num"), transaction.get("uid"))
            for document in documents
            if (transaction := document.get("_txInfo"))
        }
        return any(self._hides(number, uid) for number, uid in transactions)

    def _hides(self, number: object, uid: object) -> bool:
        if self.newest is not None and isinstance(number, int | float) and number > self.newest:
            return True
        return isinstance(uid, str) and uid in self.open

    @property
    def variables(self) -> dict[str, Any]:
        """Return the variables of `COMMITTED`."""
        newest = _NO_LIMIT if self.newest is None else self.newest
        return {"open": sorted(self.open), "newest": newest}


EVERYTHING = Snapshot()


def newest(counters: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the newest transaction number in the documents of `counter`; None without one."""
    values = (_number(counter.get("curVal")) for counter in counters if counter.get("_key") == COUNTER_KEY)
    return max((value for value in values if value is not None), default=None)


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Not a number, or larger than any counter.
    return int(value) if 0 <= value < _MOST and value == int(value) else None
