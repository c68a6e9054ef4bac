"""Which plans are wanted, in a megabyte however many they are: a Bloom filter.

An export holds every plan that ever was, and only the text of those that count should travel between
workers. Of the others a few pass too; a wanted one always does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from struct import unpack

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.sources.runs.run_selection import PlanKey

# Below so much unpacked text, to find out first which plans are wanted takes longer than to move all.
WORTH_BYTES = 64 << 20
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


def of_plans(plans: Rows[PlanKey], whole: Iterable[str] = ()) -> KeyFilter:
    """The filter of plans, made where they are."""
    bits = plans.map_partitions(_bits).combine(bytes, _either, _either).collect()
    # No partition may have had a plan.
    return KeyFilter(bits[0][1] if bits else bytes(_BYTES), frozenset(whole))


def _places(database: str, plan: str) -> Iterator[int]:
    digest = blake2b(f"{database}\0{plan}".encode(errors="surrogatepass"), digest_size=4 * _HASHES).digest()
    return (number % (8 * _BYTES) for number in unpack(f"<{_HASHES}I", digest))


def _bits(plans: Iterable[PlanKey]) -> Iterator[tuple[int, bytes]]:
    bits = bytearray(_BYTES)
    for database, plan in plans:
        for place in _places(database, plan):
            bits[place >> 3] |= 1 << (place & 7)
    yield 0, bytes(bits)


def _either(one: bytes, other: bytes) -> bytes:
    both = int.from_bytes(one, "little") | int.from_bytes(other, "little")
    return both.to_bytes(_BYTES, "little")
