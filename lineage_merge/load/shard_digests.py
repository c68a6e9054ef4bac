"""Digests of what a load wrote, by which the next one finds what differs without reading all of it. Pure.

The elements of a merge are divided into shards by the dataset (or other vertex) that they belong to. The
graph has, for each DAG, the digest of each shard on its `merge_run` vertex (`RunState`), and in a
`merge_state` vertex per shard the id and the digest of each element. Where the digest of a shard is the same,
all its elements are; of another one the entries say which elements are new, changed or removed.

A node's digest includes whether the merge builds its dataset, because that decides whose values take
precedence. That of an edge leaves out the place of a write in its run, whose change alone is no reason to
write.
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
from lineage_merge.load import property_values
from lineage_merge.load.graph_state import dataset_of, dataset_of_end

FORMAT = 1
SHARD_ELEMENTS = 2_000
# So many times fewer or more elements in a shard before the elements are divided into another number of
# shards.
_SPARE = 4
# Of the text of a shard; a longer one is not stored, and the next load compares in full.
LONGEST_SHARD = 1_000_000
# Elements of the DAG that the merge does not have and that stay are read by each load: not too many.
MOST_LEFT = 20_000

Kind = Literal["v", "e"]

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str).encode


class Entry(NamedTuple):
    """A vertex or edge, and the digest of what was written of it; "" of one that the merge does not have."""

    kind: Kind
    id: str
    digest: str = ""


class Element(NamedTuple):
    """A node or edge of a merge with its entry."""

    entry: Entry
    row: Row


class Shard(NamedTuple):
    """The elements of a merge that belong together."""

    number: int
    digest: str
    elements: tuple[Element, ...]


class ShardSummary(NamedTuple):
    """A shard without its elements."""

    number: int
    digest: str
    size: int


def summary_of(shard: Shard) -> ShardSummary:
    """Return a shard without its elements."""
    return ShardSummary(shard.number, shard.digest, len(shard.elements))


@dataclass(frozen=True, slots=True)
class RunState:
    """What the `merge_run` vertex has of the last load.

    `full`: how many loads have still to compare in full; `load`: which load is under way, "" when it has
    ended. `shards`: the digest of each shard; `left`: how many shards of entries follow of elements that the
    graph has and the merge does not. `names`: the digest of what the merge resolved names to. `vertices`,
    `edges`: how many elements of each label the graph had for the DAG.
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
        """The state of a text; of one that is no such text, that of a load after which all is compared."""
        try:
            values = json.loads(text)
            known = cls(**{**values, "shards": tuple(values["shards"])})
        except (ValueError, TypeError, KeyError):
            return cls()
        return (
            known if known.version == FORMAT else cls(full=known.full if isinstance(known.full, int) else 0)
        )

    def text(self) -> str:
        """The state as text."""
        return _write(asdict(self))

    @property
    def is_known(self) -> bool:
        """Whether what was written is known, and to be trusted."""
        return bool(self.shards) and not self.full and not self.load


class Differing(NamedTuple):
    """What a shard says about a merge: elements that are unchanged and others, and entries of removed ones.

    `is_damaged`: what is stored is not what an earlier load wrote.
    """

    unchanged: tuple[Row, ...] = ()
    changed: tuple[Row, ...] = ()
    removed: tuple[Entry, ...] = ()
    is_damaged: bool = False


def shard_count(elements: int, earlier: int = 0) -> int:
    """Return into how many shards elements are divided: where that will do, as many as before."""
    if earlier and earlier * SHARD_ELEMENTS / _SPARE <= elements <= earlier * SHARD_ELEMENTS * _SPARE:
        return earlier
    return max(1, -(-elements // SHARD_ELEMENTS))


def shards(nodes: Rows[Row], edges: Rows[Row], number: int) -> Rows[Shard]:
    """Divide the elements of a merge into shards."""
    placed: Rows[tuple[int, Row]] = nodes.map(partial(_placed_node, number))
    return placed.union(edges.map(partial(_placed_edge, number))).group(itemgetter(0), _shard)


def _placed_node(number: int, node: Row) -> tuple[int, Row]:
    return _place(_owner_of_node(node), number), node


def _placed_edge(number: int, edge: Row) -> tuple[int, Row]:
    return _place(dataset_of_end(edge, "to"), number), edge


def _owner_of_node(node: Row) -> str:
    return dataset_of(node.get("id") or "", node.get("label") == "column")


def _place(owner: str, number: int) -> int:
    return zlib.crc32(owner.encode(errors="surrogatepass")) % number


def _shard(number: int, rows: list[tuple[int, Row]]) -> Iterator[Shard]:
    built = {row.get("to") for _, row in rows if row.get("label") == "writes"}
    elements = sorted((_element(row, built) for _, row in rows), key=itemgetter(0))
    yield Shard(number, digest_of_entries(entry for entry, _ in elements), tuple(elements))


def _element(row: Row, built: set[Any]) -> Element:
    if "from" in row:
        values = property_values.edge_values(row)
        values.pop("sequence", None)
        return Element(Entry("e", row.get("id") or "", digest_of(_write(values))), row)
    values = property_values.node_values(row)
    text = f"{row.get('label')} {_owner_of_node(row) in built} {_write(values)}"
    return Element(Entry("v", row.get("id") or "", digest_of(text)), row)


def digest_of(text: str) -> str:
    """Return a short digest of a text."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def packed(entries: Iterable[Entry]) -> str:
    """Return entries as one text."""
    text = _write([list(entry) for entry in entries])
    return base64.b64encode(zlib.compress(text.encode(errors="surrogatepass"))).decode()


def unpacked(text: str) -> list[Entry]:
    """Return the entries of a text. Raises ValueError where it is damaged."""
    try:
        found: list[Any] = json.loads(zlib.decompress(base64.b64decode(text)).decode(errors="surrogatepass"))
        return [Entry(kind, identifier, digest) for kind, identifier, digest in found]
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from None


def difference(shard: Shard | None, entries: Iterable[Entry]) -> Differing:
    """Compare the elements of a merge in a shard with the entries of an earlier load."""
    before = {(entry.kind, entry.id): entry for entry in entries}
    unchanged: list[Row] = []
    changed: list[Row] = []
    for entry, row in shard.elements if shard else ():
        known = before.pop((entry.kind, entry.id), None)
        (unchanged if known == entry else changed).append(row)
    return Differing(tuple(unchanged), tuple(changed), tuple(before.values()))


def digest_of_entries(entries: Iterable[Entry]) -> str:
    """Return the digest that a shard of these entries has."""
    ordered = sorted(entries)
    return digest_of("".join(f"{entry.kind}{entry.id}\n{entry.digest}\n" for entry in ordered))
