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
from lineage_merge.history import layout
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.infra import storage
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.errors import IntermediateError

# Of the file, and of what is hashed. Sums of other versions are not compared.
VERSION = 2
_SUMS = 8192
_FORMAT = struct.Struct(f"<{_SUMS}I")
_MASK = 0xFFFFFFFF
# Rows that are texts at a time.
_ROWS = 50_000
_SEPARATOR = "\x1e"
# Names are facts of an element; the other properties that are not compared may differ after each run.
_NOT_HASHED = NOT_COMPARED - {"name", "job_name", "job_type"}

Sums = Sequence[int]


def sums_of(table: Any) -> list[int]:
    """Return the sums of a table of node or edge rows, which are the same in every process. Pure."""
    sums = [0] * _SUMS
    numbers: dict[str, int] = {}  # an id stands in several rows
    for start in range(0, len(table), _ROWS):
        part = table.slice(start, _ROWS)
        hashes = [*map(_hash, _row_texts(part))]
        for elements in _list_described(part):
            for element, value in zip(elements, hashes, strict=True):
                if element is not None:
                    number = numbers.get(element)
                    if number is None:
                        number = numbers[element] = _number(element)
                    sums[number] += value
    return [total & _MASK for total in sums]


def _row_texts(table: Any) -> list[bytes]:
    """Return each row as a text: its names with values, in the order of names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = (name for name in sorted(table.column_names) if name not in _NOT_HASHED)
    columns = [(name, _texts(table[name])) for name in known if table[name].null_count < len(table)]
    if not columns:
        return [b""] * len(table)
    # A text says nothing of the columns of which the row has no value: other parts have other columns.
    values = [
        pc.binary_join_element_wise(pa.scalar(f"{name}="), column, pa.scalar(_SEPARATOR), "")
        for name, column in columns
    ]
    rows = pc.binary_join_element_wise(*values, "", null_handling="replace", null_replacement="")
    texts: list[bytes] = rows.cast(pa.binary()).to_pylist()
    return texts


def _texts(column: Any) -> Any:
    """Return a column as texts, a set as its sorted values."""
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        return column.cast(pa.string())
    sets = column.to_pylist()
    return pa.array([None if each is None else _SEPARATOR.join(sorted(each)) for each in sets], pa.string())


def _list_described(table: Any) -> Iterator[list[str | None]]:
    """Yield for each row the id of an element that it describes, or the name of the job of an edge."""
    if "from" in table.column_names:
        for name in ("from", "to", "job_name"):
            if name in table.column_names:
                yield [element or None for element in _texts(table[name]).to_pylist()]
        return
    ids, labels = (_texts(table[name]).to_pylist() for name in ("id", "label"))
    yield ids
    yield [dataset_of(id_) if label == COLUMN else None for id_, label in zip(ids, labels, strict=True)]


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


def _hash(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=4).digest(), "little")


def _number(name: str) -> int:
    return _hash(name.encode(errors="surrogatepass")) % _SUMS
