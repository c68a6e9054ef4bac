"""Bloom filter of the selected plans: a megabyte, however many plans there are.

An export contains all plans ever recorded; only the text of selected ones should be shuffled. All selected
plans pass, and a few others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from operator import itemgetter
from struct import unpack
from typing import Any

from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.sources.runs.run_selection import PlanKey

# For less uncompressed text, selecting plans first takes longer than shuffling everything.
WORTH_BYTES = 64 << 20
_BYTES = 1 << 20  # false positives: one in ten thousand at 200,000 plans, one in ten at 2 million
_HASHES = 4


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """A set of plans; of the databases in `whole`, all plans."""

    bits: bytes
    whole: frozenset[str] = frozenset()

    def passes(self, database: str, plan: str) -> bool:
        """Return whether the plan may be selected: False only if it is not."""
        if database in self.whole:
            return True
        return all(
            self.bits[position >> 3] >> (position & 7) & 1 for position in _bit_positions(database, plan)
        )


def share_filter(
    plans: Rows[tuple[PlanKey, Any]], text_bytes: int, whole: Iterable[str]
) -> Shared[KeyFilter] | None:
    """Return the filter for all workers; None if there is too little text for it to be worth it."""
    if text_bytes <= WORTH_BYTES:
        return None
    return plans.engine.share(build_filter(plans.map(itemgetter(0)), whole))


def build_filter(plans: Rows[PlanKey], whole: Iterable[str] = ()) -> KeyFilter:
    """Build the filter in parallel."""
    bits = plans.map_partitions(_bits).combine(bytes, _either, _either).collect()
    # All partitions may be empty.
    return KeyFilter(bits[0][1] if bits else bytes(_BYTES), frozenset(whole))


def _bit_positions(database: str, plan: str) -> Iterator[int]:
    digest = blake2b(f"{database}\0{plan}".encode(errors="surrogatepass"), digest_size=4 * _HASHES).digest()
    return (number % (8 * _BYTES) for number in unpack(f"<{_HASHES}I", digest))


def _bits(plans: Iterable[PlanKey]) -> Iterator[tuple[int, bytes]]:
    bits = bytearray(_BYTES)
    for database, plan in plans:
        for position in _bit_positions(database, plan):
            bits[position >> 3] |= 1 << (position & 7)
    yield 0, bytes(bits)


def _either(one: bytes, other: bytes) -> bytes:
    both = int.from_bytes(one, "little") | int.from_bytes(other, "little")
    return both.to_bytes(_BYTES, "little")
