"""Which plans are wanted, in a megabyte however many they are: a Bloom filter.

An export holds every plan that ever was, and only the text of those that count should travel between
workers. Of the others a few pass too; a wanted one always does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from struct import unpack
from typing import Any

from pyspark import RDD

_BYTES = 1 << 20  # one in ten thousand passes wrongly at 200,000 plans, one in ten at 2 million
_HASHES = 4


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Plans that were put in; of `whole` databases, all."""

    bits: bytes
    whole: frozenset[str] = frozenset()

    def passes(self, database: str, plan: str) -> bool:
        """Whether the plan may be wanted: False only where it is not."""
        if database in self.whole:
            return True
        return all(self.bits[place >> 3] >> (place & 7) & 1 for place in _places(database, plan))


def of_plans(plans: RDD[Any], whole: Iterable[str] = ()) -> KeyFilter:
    """The filter of rows of `database` and `plan`, made by the workers."""
    # Not reduced: there may be no partition at all.
    bits = plans.mapPartitions(_bits).treeAggregate(bytes(_BYTES), _either, _either)
    return KeyFilter(bits, frozenset(whole))


def _places(database: str, plan: str) -> Iterator[int]:
    digest = blake2b(f"{database}\0{plan}".encode(errors="surrogatepass"), digest_size=4 * _HASHES).digest()
    return (number % (8 * _BYTES) for number in unpack(f"<{_HASHES}I", digest))


def _bits(rows: Iterable[Any]) -> Iterator[bytes]:
    bits = bytearray(_BYTES)
    for row in rows:
        for place in _places(row.database, row.plan):
            bits[place >> 3] |= 1 << (place & 7)
    yield bytes(bits)


def _either(one: bytes, other: bytes) -> bytes:
    both = int.from_bytes(one, "little") | int.from_bytes(other, "little")
    return both.to_bytes(_BYTES, "little")
