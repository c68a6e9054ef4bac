"""Fingerprints of an entry: tell which elements are unchanged between entries, without reading their rows.

An entry has a fixed number of sums. The hash of a row is added to the sum of each element that it describes,
which the hash of the element's id selects. Elements may share a sum: if it differs, the element may have
changed. Sums of partitions, which several processes write, are added.
"""

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from lineage_merge.graph_format.comparison import NOT_COMPARED
from lineage_merge.graph_format.elements import COLUMN
from lineage_merge.graph_format.schema import Row
from lineage_merge.history import layout
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.infra import storage
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.errors import IntermediateError

# Of the file, and of what is hashed. Sums of other versions are not compared.
VERSION = 1
_SUMS = 8192
_FORMAT = struct.Struct(f"<{_SUMS}I")
_MASK = 0xFFFFFFFF
# Names are facts of an element; the other properties that are not compared may differ after each run.
_NOT_HASHED = NOT_COMPARED - {"name", "job_name", "job_type"}

Sums = Sequence[int]


def sums_of(rows: Iterable[Row]) -> list[int]:
    """Return the sums of node or edge rows, which are the same in every process. Pure."""
    sums = [0] * _SUMS
    numbers: dict[str, int] = {}  # an id stands in several rows
    starts: dict[tuple[str, ...], list[tuple[str, str]]] = {}  # most rows have the same properties
    for row in rows:
        names = tuple(row)
        hashed = starts.get(names)
        if hashed is None:
            hashed = starts[names] = [
                (f"({name!r}, ", name) for name in sorted(names) if name not in _NOT_HASHED
            ]
        # The text of a list of pairs of name and value.
        pairs = [
            f"{start}{value if type(value) is str else _sort_value(value)!r})"
            for start, name in hashed
            if (value := row[name]) is not None
        ]
        value = _hash(f"[{', '.join(pairs)}]")
        for element in _list_described(row):
            number = numbers.get(element)
            if number is None:
                number = numbers[element] = _number(element)
            sums[number] += value
    return [total & _MASK for total in sums]


def add_sums(several: Iterable[Sums]) -> list[int]:
    """Return the sums of the rows of several parts. Pure."""
    return [sum(numbers) & _MASK for numbers in zip(*several, strict=True)] or [0] * _SUMS


def write_sums(location: str, scope: DagScope, name: MergeName, sums: Sums) -> None:
    """Store the sums of an entry. Raises `SourceError`."""
    packed = base64.b64encode(zlib.compress(_FORMAT.pack(*sums))).decode()
    text = json.dumps({"version": VERSION, "sums": packed})
    storage.create_file(layout.json_file(location, layout.FINGERPRINTS, scope, name), text + "\n")


def read_fingerprints(
    location: str, entries: Sequence[tuple[DagScope, MergeName]], names: Iterable[str]
) -> list[tuple[int, ...] | None]:
    """Return the sums of elements in each entry; None for an entry without sums of this version.

    `names`: ids of elements, and names of jobs, whose edges have no other reference to them. Raises
    `SourceError`, and `IntermediateError` if a file is damaged.
    """
    numbers = [_number(name) for name in names]
    files = [layout.json_file(location, layout.FINGERPRINTS, *entry) for entry in entries]
    fingerprints: list[tuple[int, ...] | None] = []
    for file, text in zip(files, storage.read_texts(files), strict=True):
        sums = None if text is None else _parse(text, file)
        fingerprints.append(None if sums is None else tuple(sums[number] for number in numbers))
    return fingerprints


def _parse(text: str, file: str) -> Sums | None:
    try:
        stored = json.loads(text)
        if stored["version"] != VERSION:
            return None
        return _FORMAT.unpack(zlib.decompress(base64.b64decode(stored["sums"])))
    except (ValueError, KeyError, TypeError, zlib.error, struct.error):
        raise IntermediateError(
            f"{storage.redact_location(file)}: not the fingerprints of an entry"
        ) from None


def _list_described(row: Row) -> Iterator[str]:
    """Yield the ids of the elements that a row describes, and the name of the job of an edge."""
    if "from" in row:
        yield row["from"]
        yield row["to"]
        if row.get("job_name"):
            yield row["job_name"]
    else:
        yield row["id"]
        if row["label"] == COLUMN:
            yield dataset_of(row["id"])


def _sort_value(value: Any) -> Any:
    return sorted(value) if isinstance(value, list | tuple | set | frozenset) else value


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=4).digest(), "little")


def _number(name: str) -> int:
    return _hash(name) % _SUMS
