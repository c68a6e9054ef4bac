"""Reads of a session: which statements read, and how often equal ones ran. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from lineage_merge.sources.query_log.statements.catalog import TableName

_MS = 1000


class LocalTable(NamedTuple):
    """A table of the session only, by its folded name; `renamed_to`: the name that it gets later.

    `is_temporary`: its name has no schema.
    """

    name: str
    renamed_to: str = ""
    is_temporary: bool = False
    schema: str = ""


class ReadKey(NamedTuple):
    """What statements that read the same tables have in common; `renamed`: those of other names later."""

    fingerprint: str
    database: str
    search_path: tuple[str, ...]
    local: tuple[LocalTable, ...] = ()
    renamed: tuple[tuple[TableName, TableName], ...] = ()
    renamed_columns: tuple[tuple[TableName, str, str], ...] = ()


class Reads(NamedTuple):
    """How often a statement ran, when last (ms since 1970), and the readers; `text` is its template."""

    text: str
    number: int
    last: int
    readers: frozenset[str] = frozenset()


_NO_READERS: frozenset[str] = frozenset()


class CountedReads(NamedTuple):
    """The reads of equal statements."""

    key: ReadKey
    reads: Reads


def one_read(text: str, started: int, reader: str) -> Reads:
    """Return a read; `started`: microseconds since 1970."""
    return Reads(text, 1, started // _MS, frozenset((reader,)) if reader else _NO_READERS)


def merge_reads(one: Reads, other: Reads) -> Reads:
    """Return the reads of both; of texts with one fingerprint the first in order."""
    readers = one.readers if other.readers <= one.readers else one.readers | other.readers
    return Reads(min(one.text, other.text), one.number + other.number, max(one.last, other.last), readers)


def count_reads(reads: Iterable[tuple[ReadKey, Reads]]) -> dict[ReadKey, Reads]:
    """Return the reads per statement."""
    by_key: dict[ReadKey, Reads] = {}
    for key, read in reads:
        known = by_key.get(key)
        by_key[key] = read if known is None else merge_reads(known, read)
    return by_key
