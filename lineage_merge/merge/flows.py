"""Reachability between the datasets of a merge, by hashes of their ids: few bytes per edge on the driver."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
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
        for flow in flows:
            self._targets[flow[:_SIZE]].append(flow[_SIZE:])
        self._reached: dict[bytes, set[bytes]] = {}
        self._max_visited = max_visited
        self._left = 250 * max_visited

    @classmethod
    def of(cls, elements: Rows[Row], max_visited: int = 20_000) -> "Flows":
        """Collect the edges of a merge, of each partition at most `MAX_FLOWS`."""
        return cls.unpacked(elements.map_partitions(_packed).collect(), max_visited)

    @classmethod
    def unpacked(cls, parts: Iterable[bytes], max_visited: int = 20_000) -> "Flows":
        """Return the edges of several `PackedFlows`."""
        return cls(
            (part[start : start + 2 * _SIZE] for part in parts for start in range(0, len(part), 2 * _SIZE)),
            max_visited,
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


class PackedFlows:
    """Collects the `feeds` edges of a partition, at most `MAX_FLOWS`, as hashes of both ends."""

    def __init__(self) -> None:
        self._packed = bytearray()

    def add(self, row: Row) -> None:
        """Add a `feeds` edge, unless a dataset feeds itself."""
        if row["from"] != row["to"] and len(self._packed) < MAX_FLOWS * 2 * _SIZE:
            self._packed += _hash(row["from"]) + _hash(row["to"])

    def packed(self) -> bytes:
        """Return the collected edges."""
        return bytes(self._packed)


def _hash(identifier: str) -> bytes:
    return blake2b(identifier.encode(), digest_size=_SIZE).digest()


def _packed(rows: Iterable[Row]) -> Iterator[bytes]:
    packed_flows = PackedFlows()
    for row in rows:
        if row["label"] == "feeds":
            packed_flows.add(row)
    yield packed_flows.packed()
