"""What a load stores of its digests for the next one (`load.shard_digests`), as texts. Pure.

For each DAG the graph stores the digest of each shard on the `merge_run` vertex (`RunState`). Of each shard,
one `merge_state` vertex has the digests of its elements (`StoredDigests`), another their keys: while a shard
has the same elements, only the first is read and written. Further shards have the keys of elements that are
in the graph only.
"""

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from lineage_merge.load.shard_digests import DIGEST_BYTES, ShardEntries, digest_of, digest_of_keys

FORMAT = 2
# Maximum length of a text of a shard; a longer one is not stored, and the next load compares in full.
MAX_CHARACTERS = 1_000_000
# Maximum number of retained elements that the merge does not have: each load reads all of them.
MAX_UNMATCHED = 20_000

# Number and digest of the shard, digest of its keys.
_HEADER = struct.Struct(f">I{DIGEST_BYTES}s{DIGEST_BYTES}s")
# Most of the text are ids of edges, which are hashes.
_COMPRESSION = 1


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
    shards: tuple[bytes, ...] = ()
    left: int = 0
    names: str = ""
    vertices: Mapping[str, int] = field(default_factory=dict)
    edges: Mapping[str, int] = field(default_factory=dict)
    version: int = FORMAT

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse a state; of an invalid text, or another version, return one that requires a full comparison.

        The state of another version keeps the number of its shards, all as `left`, because they are replaced.
        """
        try:
            values: dict[str, Any] = json.loads(text)
            if values["version"] != FORMAT:
                stored = values["shards"] if isinstance(values["shards"], list) else ()
                return cls(full=int(values["full"]), left=len(stored) + int(values["left"]))
            digests = base64.b64decode(values["shards"], validate=True)
            starts = range(0, len(digests), DIGEST_BYTES)
            shards = tuple(digests[start : start + DIGEST_BYTES] for start in starts)
            return cls(**{**values, "shards": shards})
        except (ValueError, TypeError, KeyError):
            return cls()

    def text(self) -> str:
        """Return the state as text."""
        values = asdict(self) | {"shards": base64.b64encode(b"".join(self.shards)).decode()}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    @property
    def shard_count(self) -> int:
        """Return the number of stored shards."""
        return len(self.shards) + self.left

    @property
    def is_usable(self) -> bool:
        """Return whether the next load may compare incrementally."""
        return bool(self.shards) and not self.full and not self.load


class StoredDigests(NamedTuple):
    """The stored digests of a shard's elements, in the order of their keys."""

    number: int
    shard: bytes
    keys: bytes
    digests: bytes


def encode_digests(entries: ShardEntries) -> str:
    """Encode the digests of a shard as a text."""
    header = _HEADER.pack(entries.number, entries.digest, digest_of_keys(entries.keys))
    content = header + entries.digests
    return base64.b64encode(digest_of(content) + content).decode()


def decode_digests(text: str) -> StoredDigests:
    """Decode the digests of a shard. Raises ValueError if the text is damaged."""
    decoded = base64.b64decode(text, validate=True)
    content = decoded[DIGEST_BYTES:]
    if len(content) < _HEADER.size or decoded[:DIGEST_BYTES] != digest_of(content):
        raise ValueError("the digest of the text is wrong")
    number, shard, keys = _HEADER.unpack_from(content)
    return StoredDigests(number, shard, keys, content[_HEADER.size :])


def encode_keys(number: int, keys: Iterable[str]) -> str:
    """Encode the keys of a shard as a text."""
    text = json.dumps([number, *keys], ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(errors="surrogatepass"), _COMPRESSION)).decode()


def decode_keys(text: str) -> tuple[int, tuple[str, ...]]:
    """Decode the number and the keys of a shard. Raises ValueError if the text is damaged."""
    try:
        decoded = zlib.decompress(base64.b64decode(text, validate=True))
        number, *keys = json.loads(decoded.decode(errors="surrogatepass"))
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from None
    return number, tuple(keys)
