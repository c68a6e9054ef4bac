"""Digests of what a load wrote, so that the next load finds differences without reading all elements. Pure.

The elements of a merge are divided into shards by the dataset (or other vertex) they belong to. For each DAG
the graph stores the digest of each shard on the `merge_run` vertex (`RunState`), and the id and digest of
each element on one `merge_state` vertex per shard. If the digest of a shard is unchanged, so are all its
elements; otherwise its entries show which elements are new, changed or removed.

A node's digest includes whether the merge builds its dataset, because that decides the precedence of values.
An edge's digest excludes `sequence`, whose change alone does not cause a write.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Self

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load import element_rows
from lineage_merge.load.element_rows import dataset_of_end, dataset_of_node

FORMAT = 1
SHARD_ELEMENTS = 2_000
# The number of shards changes when their mean size deviates from `SHARD_ELEMENTS` by this factor.
_TOLERANCE = 4
# Maximum length of the text of a shard; a longer one is not stored, and the next load compares in full.
MAX_SHARD_CHARACTERS = 1_000_000
# Maximum number of retained elements that the merge does not have: each load reads all of them.
MAX_UNMATCHED = 20_000

Kind = Literal["v", "e"]

_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str).encode


class Entry(NamedTuple):
    """A vertex or edge and the digest of its values; "" for an element that the merge does not have."""

    kind: Kind
    id: str
    digest: str = ""


class Element(NamedTuple):
    """An element of a merge with its entry."""

    entry: Entry
    row: Row


class Shard(NamedTuple):
    """The elements of a merge in one shard."""

    number: int
    digest: str
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of the last load, stored on the `merge_run` vertex.

    `full`: number of loads that must still compare in full. `load`: token of the running load, "" when none
    runs. `shards`: digest of each shard. `left`: number of further shards, which list elements that are only
    in the graph. `names`: digest of the resolved names. `vertices`, `edges`: number of the DAG's elements per
    label.
    """

    full: int = 0
    load: str = ""
    shards: tuple[str, ...] = ()
    left: int = 0
    names: str = ""
    vertices: Mapping[str, int] = field(default_factory=dict)
    edges: Mapping[str, int] = field(default_factory=dict)
    version: int = FORMAT

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse a state; of an invalid text return an empty state, which requires a full comparison."""
        try:
            values = json.loads(text)
            state = cls(**{**values, "shards": tuple(values["shards"])})
        except (ValueError, TypeError, KeyError):
            return cls()
        if state.version == FORMAT:
            return state
        return cls(full=state.full if isinstance(state.full, int) else 0)

    def text(self) -> str:
        """Return the state as text."""
        return _to_json(asdict(self))

    @property
    def is_usable(self) -> bool:
        """Return whether the next load may compare incrementally."""
        return bool(self.shards) and not self.full and not self.load


class Differing(NamedTuple):
    """The differences of a shard: unchanged and other elements, and the entries of removed elements.

    `is_damaged`: the stored entries do not match their digest.
    """

    unchanged: tuple[Row, ...] = ()
    changed: tuple[Row, ...] = ()
    removed: tuple[Entry, ...] = ()
    is_damaged: bool = False


def shard_count(elements: int, earlier: int = 0) -> int:
    """Return the number of shards for so many elements; the `earlier` number if it is still suitable."""
    if earlier and earlier * SHARD_ELEMENTS / _TOLERANCE <= elements <= earlier * SHARD_ELEMENTS * _TOLERANCE:
        return earlier
    return max(1, -(-elements // SHARD_ELEMENTS))


def shards(nodes: Rows[Row], edges: Rows[Row], number: int) -> Rows[Shard]:
    """Divide the elements of a merge into shards."""
    return nodes.union(edges).group(partial(_shard_number, number), _shard)


def _shard_number(number: int, row: Row) -> int:
    owner = dataset_of_end(row, "to") if "from" in row else dataset_of_node(row)
    return zlib.crc32(owner.encode(errors="surrogatepass")) % number


def _shard(number: int, rows: list[Row]) -> Iterator[Shard]:
    built = {row.get("to") for row in rows if row.get("label") == "writes"}
    elements = sorted((_element(row, built) for row in rows), key=itemgetter(0))
    yield Shard(number, _digest_of_sorted(entry for entry, _ in elements), tuple(elements))


def _element(row: Row, built: set[Any]) -> Element:
    if "from" in row:
        values = element_rows.edge_values(row)
        values.pop("sequence", None)
        return Element(Entry("e", row.get("id") or "", digest_of(_to_json(values))), row)
    values = element_rows.node_values(row)
    text = f"{row.get('label')} {dataset_of_node(row) in built} {_to_json(values)}"
    return Element(Entry("v", row.get("id") or "", digest_of(text)), row)


def digest_of(text: str) -> str:
    """Return a short digest of a text."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def encode_entries(entries: Iterable[Entry]) -> str:
    """Encode entries as a text."""
    text = _to_json([list(entry) for entry in entries])
    return base64.b64encode(zlib.compress(text.encode(errors="surrogatepass"))).decode()


def decode_entries(text: str) -> list[Entry]:
    """Decode entries. Raises ValueError if the text is damaged."""
    try:
        entries: list[Any] = json.loads(
            zlib.decompress(base64.b64decode(text)).decode(errors="surrogatepass")
        )
        return [Entry(kind, identifier, digest) for kind, identifier, digest in entries]
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from None


def difference(shard: Shard, entries: Iterable[Entry]) -> Differing:
    """Compare the elements of a shard with the entries that an earlier load stored."""
    before = {(entry.kind, entry.id): entry for entry in entries}
    unchanged: list[Row] = []
    changed: list[Row] = []
    for entry, row in shard.elements:
        known = before.pop((entry.kind, entry.id), None)
        (unchanged if known == entry else changed).append(row)
    return Differing(tuple(unchanged), tuple(changed), tuple(before.values()))


def digest_of_entries(entries: Iterable[Entry]) -> str:
    """Return the digest of a shard with these entries."""
    return _digest_of_sorted(sorted(entries))


def _digest_of_sorted(entries: Iterable[Entry]) -> str:
    return digest_of("".join([f"{kind}{identifier}\n{digest}\n" for kind, identifier, digest in entries]))
