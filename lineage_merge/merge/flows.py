"""Reachability between the datasets of a merge, by hashes of their ids: few bytes per edge on the driver."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import blake2b

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows

# Edges of each partition.
MAX_FLOWS = 500_000
_SIZE = 8


class Flows:
    """Edges between datasets: whether lineage leads from one to another.

    `max_visited`: maximum datasets that a search from one dataset visits; all searches together visit 250
    times as many.
    """

    def __init__(self, flows: Iterable[bytes], max_visited: int = 20_000) -> None:
        self._targets: dict[bytes, list[bytes]] = defaultdict(list)
        for each in flows:
            self._targets[each[:_SIZE]].append(each[_SIZE:])
        self._reached: dict[bytes, set[bytes]] = {}
        self._max_visited = max_visited
        self._left = 250 * max_visited

    @classmethod
    def of(cls, elements: Rows[Row], max_visited: int = 20_000) -> "Flows":
        """Collect the edges of a merge, of each partition at most `MAX_FLOWS`."""
        parts = elements.map_partitions(partial(_packed, MAX_FLOWS)).collect()
        return cls(
            part[start : start + 2 * _SIZE] for part in parts for start in range(0, len(part), 2 * _SIZE)
        )

    def reaches(self, start: str, end: str) -> bool:
        """Whether lineage leads from one dataset to another; true if the search would take too long."""
        from_hash = _hash(start)
        known = self._reached.get(from_hash)
        if known is None:
            known = self._reached[from_hash] = self._search(from_hash)
        return not known or _hash(end) in known

    def _search(self, start: bytes) -> set[bytes]:
        """Return the datasets that one leads to; empty beyond the limit."""
        seen: set[bytes] = {start}
        waiting = [start]
        while waiting:
            for each in self._targets.get(waiting.pop(), ()):
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
            if len(seen) > self._max_visited:
                return set()
        self._left -= len(seen)
        return seen if self._left > 0 else set()


def _hash(identifier: str) -> bytes:
    return blake2b(identifier.encode(), digest_size=_SIZE).digest()


def _packed(limit: int, rows: Iterable[Row]) -> Iterator[bytes]:
    found = bytearray()
    for row in rows:
        if row["label"] == "feeds" and row["from"] != row["to"] and len(found) < limit * 2 * _SIZE:
            found += _hash(row["from"]) + _hash(row["to"])
    yield bytes(found)
