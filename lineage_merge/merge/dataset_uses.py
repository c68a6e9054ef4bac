"""What the edges of a merge say of its datasets: which kinds of jobs use them, and what leads to what.

Reachability is by hashes of ids: few bytes per edge on the driver.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from operator import or_
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows


class JobKind(NamedTuple):
    """The type of a job, and the project of dbt's jobs."""

    job_type: str
    project: str = ""

    def __str__(self) -> str:
        """Return the type, dbt's with the project: ``dbt:tickit``."""
        return f"dbt:{self.project}" if self.job_type == "dbt" else self.job_type


# Edges of each partition that are collected for reachability.
MAX_FLOWS = 500_000
_SIZE = 8

Kinds = frozenset[JobKind]
_NONE: Kinds = frozenset()


class Uses(NamedTuple):
    """Uses of one dataset by kinds of jobs.

    `readers` derive another dataset from it, `feeders` derive it from another one, `loops` from itself;
    `writers` write it. `rules` join it.
    """

    readers: Kinds = _NONE
    feeders: Kinds = _NONE
    loops: Kinds = _NONE
    writers: Kinds = _NONE
    rules: frozenset[str] = frozenset()

    def types_of_readers(self) -> set[str]:
        """Return the types of jobs that read the dataset, also to write it again."""
        return {reader.job_type for reader in self.readers | self.loops}

    def types_of_flows(self) -> set[str]:
        """Return the types of jobs that derive it, or another dataset from it."""
        return {reader.job_type for reader in self.readers | self.feeders | self.loops}


def uses_of(row: Row) -> Iterator[tuple[str, Uses]]:
    """Yield the datasets that a row of a merge uses, if it is an edge of a job."""
    label = row["label"]
    if label == "writes":
        yield row["to"], Uses(writers=_kinds(row))
    elif label == "feeds" and row["from"] == row["to"]:
        yield row["to"], Uses(loops=_kinds(row))
    elif label == "feeds":
        kinds = _kinds(row)
        yield row["from"], Uses(readers=kinds)
        yield row["to"], Uses(feeders=kinds)


def together(one: Uses, other: Uses) -> Uses:
    """Return both uses of a dataset as one."""
    return Uses(*map(or_, one, other))


def dataset_uses(elements: Rows[Row]) -> Rows[tuple[str, Uses]]:
    """Return the uses of each dataset that a job uses."""
    return elements.flat_map(uses_of).reduce_by_key(together)


def _kinds(row: Row) -> Kinds:
    if row["job_type"] != "dbt":
        return frozenset((JobKind(str(row["job_type"])),))
    project, slash, _ = row["job_name"].partition("/")
    if not slash:
        project = row["job_name"].split(".", 2)[1] if "." in row["job_name"] else ""
    return frozenset((JobKind("dbt", project.partition("@")[0]),))


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
    def from_elements(cls, elements: Rows[Row], max_visited: int = 20_000) -> "Flows":
        """Collect the edges of a merge, of each partition at most `MAX_FLOWS`."""
        return cls.unpack(elements.map_partitions(_pack).collect(), max_visited)

    @classmethod
    def unpack(cls, parts: Iterable[bytes], max_visited: int = 20_000) -> "Flows":
        """Return the edges of several partitions, packed by `pack_flow`."""
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
            for target in self._targets.get(waiting.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
            if len(seen) > self._max_visited:
                return set()
        self._left -= len(seen)
        return seen if self._left > 0 else set()


def pack_flow(packed: bytearray, row: Row) -> None:
    """Add the hashes of both ends of a `feeds` edge, up to `MAX_FLOWS`, unless a dataset feeds itself."""
    if row["from"] != row["to"] and len(packed) < MAX_FLOWS * 2 * _SIZE:
        packed += _hash(row["from"]) + _hash(row["to"])


def _hash(identifier: str) -> bytes:
    return blake2b(identifier.encode(), digest_size=_SIZE).digest()


def _pack(rows: Iterable[Row]) -> Iterator[bytes]:
    packed = bytearray()
    for row in rows:
        if row["label"] == "feeds":
            pack_flow(packed, row)
    yield bytes(packed)
