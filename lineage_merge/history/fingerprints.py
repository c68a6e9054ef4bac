"""Fingerprints of an entry: tell which elements are unchanged between entries, without reading their rows.

An entry has a fixed number of sums. The hash of a row is added to the sum of each element that it describes,
which the hash of the element's id selects. Elements may share a sum: if it differs, the element may have
changed. Sums of partitions, which several processes write, are added.
"""

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from lineage_merge.graph_format.comparison import NOT_COMPARED
from lineage_merge.graph_format.elements import COLUMN
from lineage_merge.history import layout
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.infra import storage
from lineage_merge.infra.row_hashes import hash_rows, hash_text, hash_texts
from lineage_merge.model.errors import IntermediateError

# Of the file, and of what is hashed. Sums of other versions are not compared.
VERSION = 3
_SUMS = 8192
_FORMAT = struct.Struct(f"<{_SUMS}I")
_MASK = 0xFFFFFFFF
# Names are facts of an element; the other properties that are not compared may differ after each run.
_NOT_HASHED = NOT_COMPARED - {"name", "job_name", "job_type"}
# As `dataset_of`: the first three parts of an id.
_DATASET = r"^(?P<dataset>[^|]*\|[^|]*\|[^|]*)"

Sums = Sequence[int]


def sums_of(table: Any) -> list[int]:
    """Return the sums of a table of node or edge rows, which are the same in every process. Pure."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(table):
        return [0] * _SUMS
    names = [name for name in table.column_names if name not in _NOT_HASHED]
    if is_edges := "from" in names:
        names.remove("id")  # it follows from the other columns
    columns = {name: hash_texts(table[name]) for name in names}
    hashes = pc.bit_wise_and(hash_rows(columns), pa.scalar(_MASK, pa.uint64()))
    described = [columns["id"], hash_texts(_owners(table))] if not is_edges else []
    described += [columns[name] for name in ("from", "to", "job_name") if name in names]
    sums = [0] * _SUMS
    for elements in described:
        numbers = pc.bit_wise_and(elements, pa.scalar(_SUMS - 1, pa.uint64()))
        totals = pa.table({"number": numbers, "hash": hashes}).group_by("number").aggregate([("hash", "sum")])
        for number, total in zip(totals["number"].to_pylist(), totals["hash_sum"].to_pylist(), strict=True):
            if number is not None:
                sums[number] += total
    return [total & _MASK for total in sums]


def _owners(nodes: Any) -> Any:
    """Return for each row the id of the dataset that a column belongs to."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = nodes["id"].cast(pa.string())
    of_column = pc.equal(nodes["label"].cast(pa.string()), COLUMN)
    owners = pc.struct_field(pc.extract_regex(ids, _DATASET), [0])
    return pc.if_else(of_column, owners, pa.scalar(None, pa.string()))


def add_sums(several: Iterable[Sums]) -> list[int]:
    """Return the sums of the rows of several parts. Pure."""
    return [sum(numbers) & _MASK for numbers in zip(*several, strict=True)] or [0] * _SUMS


def subtract_sums(sums: Sums, others: Sums) -> list[int]:
    """Return the sums without those of other rows. Pure."""
    return [(total - other) & _MASK for total, other in zip(sums, others, strict=True)]


def write_sums(location: str, scope: DagScope, name: MergeName, sums: Sums) -> None:
    """Store the sums of an entry. Raises `SourceError`."""
    packed = base64.b64encode(zlib.compress(_FORMAT.pack(*sums))).decode()
    text = json.dumps({"version": VERSION, "sums": packed})
    storage.create_file(layout.json_file(location, layout.FINGERPRINTS, scope, name), text + "\n")


def read_sums(location: str, entries: Sequence[tuple[DagScope, MergeName]]) -> list[Sums | None]:
    """Return the sums of entries; None for one without sums of this version.

    Raises `SourceError`, and `IntermediateError` if a file is damaged.
    """
    files = [layout.json_file(location, layout.FINGERPRINTS, *entry) for entry in entries]
    texts = storage.read_texts(files)
    return [None if text is None else _parse(text, file) for file, text in zip(files, texts, strict=True)]


def read_fingerprints(
    location: str, entries: Sequence[tuple[DagScope, MergeName]], names: Iterable[str]
) -> list[tuple[int, ...] | None]:
    """Return the sums of elements in each entry; None for an entry without sums of this version.

    `names`: ids of elements, and names of jobs, whose edges have no other reference to them. Errors as in
    `read_sums`.
    """
    numbers = [_number(name) for name in names]
    return [
        None if sums is None else tuple(sums[number] for number in numbers)
        for sums in read_sums(location, entries)
    ]


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


def _number(name: str) -> int:
    return hash_text(name) % _SUMS
