"""Which documents of Spline's database count as committed. Pure.

Spline's server enters a writing transaction into `txInfo`, then draws its number from `counter`; each
document that it writes has both in ``_txInfo``, and a commit removes the entry. So a reader takes the counter
first and the entries second: a transaction up to that number is either listed as open or was committed
before, and one of a greater number began later. Version 0.7 has no transactions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

COUNTER = "counter"
OPEN = "txInfo"
COUNTER_KEY = "tx"
_MOST = 1 << 63

# A condition of AQL on the document `p`; its variables are those of `Snapshot.variables`. A document without
# a transaction passes: null is less than any number.
COMMITTED = "p._txInfo.uid NOT IN @open AND p._txInfo.num <= @newest"
# Greater than any number that a counter reaches, and exact in JSON.
_NO_LIMIT = 1 << 53


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The transactions that were open at one moment, and the number of the newest one by then.

    `newest` None: the database does not number its transactions.
    """

    open: frozenset[str] = frozenset()
    newest: int | None = None

    def hides(self, document: Mapping[str, Any]) -> bool:
        """Whether a document is uncommitted, or younger than the snapshot."""
        transaction = document.get("_txInfo")
        if not isinstance(transaction, dict):
            return False
        number, uid = transaction.get("num"), transaction.get("uid")
        if self.newest is not None and isinstance(number, int | float) and number > self.newest:
            return True
        return isinstance(uid, str) and uid in self.open

    @property
    def variables(self) -> dict[str, Any]:
        """What `COMMITTED` is bound to."""
        newest = _NO_LIMIT if self.newest is None else self.newest
        return {"open": sorted(self.open), "newest": newest}


EVERYTHING = Snapshot()


def newest(counters: Iterable[Mapping[str, Any]]) -> int | None:
    """The number of the newest transaction by the documents of `counter`; None where they do not say it."""
    values = (_number(each.get("curVal")) for each in counters if each.get("_key") == COUNTER_KEY)
    return max((each for each in values if each is not None), default=None)


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Not a number, or more than any counter holds.
    return int(value) if 0 <= value < _MOST and value == int(value) else None
