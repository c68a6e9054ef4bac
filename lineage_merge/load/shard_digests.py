"""Digests of a merge, by which a load finds differences without reading all elements. Pure.

The elements of a merge are divided into shards by the dataset (or other vertex) they belong to. While the
digest of a shard is unchanged, so are all of its elements; where it differs, the digests of its elements show
which of them are new, changed or removed (`load.shard_state` is how a graph stores both).

The digest of a node includes whether the merge builds its dataset, because that decides the precedence of
values; the digest of a shard does not need to, because the edges that say so are in the same shard. Both
exclude the `sequence` of edges, whose change alone does not cause a write.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import msgspec

from lineage_merge.graph_format.schema import EDGE_KEYS, FIRST_SEEN, NODE_KEYS, SETS, Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.element_rows import PROPERTY_NAMES, dataset_of_end, dataset_of_node, select_values

# Few elements, because a change of any of them reads and writes the digests of all.
SHARD_ELEMENTS = 256
# Keeps their digests, which every load reads, below 200 kB.
MAX_SHARDS = 16_384
# The number of shards changes when their mean size deviates from `SHARD_ELEMENTS` by this factor.
_TOLERANCE = 4
DIGEST_BYTES = 8

Kind = Literal["v", "e"]

_CODED = (frozenset({*NODE_KEYS, *EDGE_KEYS}) | PROPERTY_NAMES) - {FIRST_SEEN, "sequence"}
# A row of a merge has one DAG; a row without sets is encoded as it is, which takes half of the time.
_SETS = SETS - {*NODE_KEYS, *EDGE_KEYS}
_PLAIN = _CODED - _SETS
_NULL = b":null"
_to_json = msgspec.json.Encoder(order="deterministic", enc_hook=str).encode


class Entry(NamedTuple):
    """A vertex or edge that a graph has."""

    kind: Kind
    id: str


class Shard(NamedTuple):
    """The elements of a merge in one shard, by id."""

    number: int
    digest: bytes
    rows: tuple[Row, ...]


class ShardEntries(NamedTuple):
    """The elements of a shard: the key and the digest of each, in the same order.

    `has_new_keys`: the stored shard has other keys.
    """

    number: int
    digest: bytes
    keys: tuple[str, ...]
    digests: bytes
    has_new_keys: bool = True


class MergeDigests(NamedTuple):
    """The digest of each shard of a merge, and the entries of those that differ from the stored ones."""

    shards: tuple[bytes, ...]
    entries: Rows[ShardEntries]


class Differing(NamedTuple):
    """The differences of a shard: unchanged and other elements, and the entries of removed elements.

    `entries`: those to store; None if nothing differs. `is_damaged`: the stored entries are not those of the
    stored digest.
    """

    unchanged: tuple[Row, ...] = ()
    changed: tuple[Row, ...] = ()
    removed: tuple[Entry, ...] = ()
    entries: ShardEntries | None = None
    is_damaged: bool = False


def shard_count(elements: int, earlier: int = 0) -> int:
    """Return the number of shards for so many elements; the `earlier` number if it is still suitable."""
    if earlier and earlier * SHARD_ELEMENTS / _TOLERANCE <= elements <= earlier * SHARD_ELEMENTS * _TOLERANCE:
        return earlier
    return min(max(1, -(-elements // SHARD_ELEMENTS)), MAX_SHARDS)


def shards(nodes: Rows[Row], edges: Rows[Row], number: int) -> Rows[Shard]:
    """Divide the elements of a merge into shards."""
    return nodes.union(edges).group(partial(_shard_number, number), _shard)


def _shard_number(number: int, row: Row) -> int:
    owner = dataset_of_end(row, "to") if "from" in row else dataset_of_node(row)
    return zlib.crc32(owner.encode(errors="surrogatepass")) % number


def _shard(number: int, rows: list[Row]) -> Iterator[Shard]:
    rows.sort(key=_id)
    yield Shard(number, digest_of(_encode(rows)), tuple(rows))


def _id(row: Row) -> str:
    identifier: str = row.get("id") or ""
    return identifier


def _encode(rows: Iterable[Row]) -> bytes:
    """Encode the values of rows that are compared, whatever their order."""
    values = [row if row.keys() <= _PLAIN else _compared_values(row) for row in rows]
    try:
        encoded = _to_json(values)
        return encoded if _NULL not in encoded else _to_json([*map(_compared_values, values)])
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can only escape
        return json.dumps([*map(_compared_values, values)], sort_keys=True, default=str).encode()


def _compared_values(row: Row) -> Row:
    return select_values(row, _CODED, _SETS)


def digest_of(encoded: bytes) -> bytes:
    """Return a short digest."""
    return blake2b(encoded, digest_size=DIGEST_BYTES).digest()


def digest_of_text(text: str) -> str:
    """Return a short digest of a text, as a text."""
    return digest_of(text.encode(errors="surrogatepass")).hex()


def digest_of_keys(keys: Iterable[str]) -> bytes:
    """Return the digest of the keys of a shard, in order."""
    return digest_of("\n".join(keys).encode(errors="surrogatepass"))


EMPTY_SHARD = digest_of(_encode(()))


def digests_of(shards_of_merge: Rows[Shard], number: int) -> tuple[bytes, ...]:
    """Return the digest of each of so many shards."""
    digests = [EMPTY_SHARD] * number
    for index, digest in shards_of_merge.map(lambda shard: (shard.number, shard.digest)).collect():
        digests[index] = digest
    return tuple(digests)


def entries_of(shard: Shard) -> ShardEntries:
    """Return the entries of a shard, in the order of its rows."""
    built = {row.get("to") for row in shard.rows if row.get("label") == "writes"}
    digests = b"".join([_digest_of_row(row, built) for row in shard.rows])
    return ShardEntries(shard.number, shard.digest, tuple(map(_key, shard.rows)), digests)


def _key(row: Row) -> str:
    return f"e{_id(row)}" if "from" in row else f"v{_id(row)}"


def _digest_of_row(row: Row, built: set[Any]) -> bytes:
    encoded = _encode((row,))
    is_built = "from" not in row and dataset_of_node(row) in built
    return digest_of(encoded + b"+" if is_built else encoded)


def entry_of(key: str) -> Entry:
    """Return the element of a key."""
    return Entry("e" if key.startswith("e") else "v", key[1:])


def key_of(entry: Entry) -> str:
    """Return the key of an element."""
    return f"{entry.kind}{entry.id}"


def difference(entries: ShardEntries, rows: Iterable[Row], stored: Mapping[str, int]) -> Differing:
    """Compare the entries of a shard, of rows in the same order, with the stored digests by key."""
    before = dict(stored)
    is_new = object()
    has_new_keys = False
    unchanged: list[Row] = []
    changed: list[Row] = []
    for key, digest, row in zip(entries.keys, numbers_of(entries.digests), rows, strict=True):
        known = before.pop(key, is_new)
        has_new_keys |= known is is_new
        (unchanged if known == digest else changed).append(row)
    return Differing(
        tuple(unchanged),
        tuple(changed),
        tuple(map(entry_of, before)),
        entries._replace(has_new_keys=has_new_keys or bool(before)),
    )


def numbers_of(digests: bytes) -> Sequence[int]:
    """Return digests as numbers, which this process compares faster."""
    return memoryview(digests).cast("Q")
