"""Transaction state of documents in Spline's database. Pure.

Spline's server enters a writing transaction into `txInfo`, then draws its number from `counter`; each
document that it writes has both in ``_txInfo``, and a commit removes the entry. Readers take the counter
first and the entries second: a transaction up to that number is either listed as open or was committed
before, and one with a greater number began later. Version 0.7 has no transactions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

COUNTER = "counter"
OPEN = "txInfo"
COUNTER_KEY = "tx"
_MOST = 1 << 63

# AQL condition on the document `p`; its variables are those of `Snapshot.variables`. Documents without a
# transaction pass: null is less than any number.
COMMITTED = "p._txInfo.uid NOT IN @open AND p._txInfo.num <= @newest"
# Greater than any number of a counter, and exact in JSON.
_NO_LIMIT = 1 << 53


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
        if not isinstance(transaction, dict):
            return False
        number, uid = transaction.get("num"), transaction.get("uid")
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
