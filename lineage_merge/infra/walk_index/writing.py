"""Writes a walk index from the columns of nodes and edges."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from io import RawIOBase
from pathlib import Path
from typing import IO, Any, NamedTuple

from lineage_merge.infra.walk_index.layout import (
    ADJACENCY,
    EDGES,
    FIELDS,
    FORMAT,
    FORMAT_KEY,
    NAME_KEYS,
    NAMES,
    SPANS_KEY,
    VERTICES,
)

OpenFile = Callable[[Path], IO[bytes]]
# Bytes that are written at once.
_PIECE = 1 << 16
_ENDS = ("from", "to")


class IndexTables(NamedTuple):
    """A graph as it is stored in a walk index: one chunk per column."""

    vertices: Any
    edges: Any


def write_walk_index(folder: Path, vertices: Any, edges: Any, open_file: OpenFile) -> None:
    """Write the index of tables of Arrow into a folder that exists.

    `vertices`, `edges`: the columns of node and edge files. The files are on the disk when this returns.
    Raises `ValueError` if the tables cannot have an index: an id or label is missing or an id is there twice,
    or the texts of a column have more than 2 GB.
    """
    tables = sort_tables(vertices, edges)
    adjacency, spans = _adjacency(tables.edges)
    for name, table, metadata in (
        (VERTICES, tables.vertices, {FORMAT_KEY: FORMAT, FIELDS: str(_has_fields(tables.vertices))}),
        (EDGES, tables.edges, {}),
        (ADJACENCY, adjacency, {SPANS_KEY: json.dumps(spans)}),
        (NAMES, _names(tables.vertices), {}),
    ):
        _write(folder / name, table.replace_schema_metadata(metadata or None), open_file)


def sort_tables(vertices: Any, edges: Any) -> IndexTables:
    """Return tables in the order and with the columns of an index. Raises `ValueError`."""
    import pyarrow.compute as pc

    nodes = encode_columns(vertices)
    _require(nodes, "id", "label")
    nodes = nodes.take(pc.sort_indices(nodes["id"])).combine_chunks()
    ids = nodes["id"].chunk(0) if len(nodes) else None
    if ids is not None and pc.any(pc.equal(ids[1:], ids[:-1])).as_py():
        raise ValueError("an id is there twice")
    lines = encode_columns(edges)
    _require(lines, "label")
    for number, end in enumerate(_ENDS):
        lines = lines.append_column(f"_{number}", _positions(lines[end], ids))
    complete = pc.and_(pc.is_valid(lines["_0"]), pc.is_valid(lines["_1"]))
    if not pc.all(complete).as_py():
        lines = lines.filter(complete).combine_chunks()
    order = pc.sort_indices(lines["_1"])
    names = [*(name for name in lines.column_names if name not in (*_ENDS, "_0", "_1")), "_0", "_1"]
    lines = lines.select(names).rename_columns([*names[:-2], *_ENDS]).take(order)
    return IndexTables(nodes, lines.combine_chunks())


def _require(table: Any, *names: str) -> None:
    for name in names:
        if table[name].null_count:
            raise ValueError(f"the {name} of a row is missing")


def encode_columns(table: Any) -> Any:
    """Return the columns that have values as one chunk each, texts by dictionary, but for ids.

    Raises `ValueError` if the texts of a column have more than 2 GB.
    """
    import pyarrow as pa

    required = {"id", "label", *_ENDS}
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name]
        if column.null_count == len(column) and name not in required:
            continue
        is_id = name == "id"
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
            column = column.cast(pa.string()) if is_id else column
        elif column.type == pa.string() and not is_id:
            column = column.dictionary_encode()
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # its texts do not fit one array
            if column.num_chunks > 1:
                raise ValueError(f"the column {name} has more than 2 GB of text")
            column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
        columns[name] = column
    return pa.table(columns)


def _positions(column: Any, ids: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if ids is None or not len(column):
        return pa.nulls(len(column), pa.int32())
    texts = column.chunk(0)
    return pc.index_in(texts.dictionary, value_set=ids).take(texts.indices)


def _has_fields(vertices: Any) -> bool:
    """Return whether a column has fields, which alone have a full name."""
    import pyarrow.compute as pc

    if "qualified_name" not in vertices.column_names:
        return False
    is_field = pc.and_(
        pc.equal(vertices["label"].cast("string"), "column"), vertices["qualified_name"].is_valid()
    )
    return bool(pc.any(is_field).as_py())


def _adjacency(edges: Any) -> tuple[Any, dict[str, list[int]]]:
    """Return the edges of each label by start and by end, and where these are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[Sequence[Any]] = []
    spans: dict[str, list[int]] = {}
    first = 0
    for label, positions in _by_label(edges):
        starts, ends = (edges[end].chunk(0).take(positions) for end in _ENDS)
        for direction, here, there in (("down", starts, ends), ("up", ends, starts)):
            order = pc.sort_indices(here)
            parts.append([column.take(order) for column in (here, there, positions)])
            spans[f"{label}/{direction}"] = [first, first + len(positions)]
            first += len(positions)
    names = ["here", "there", "edge"]
    columns = [
        pa.concat_arrays([part[number] for part in parts]) if parts else pa.array([], pa.int32())
        for number in range(len(names))
    ]
    return pa.table(columns, names), spans


def _by_label(edges: Any) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(edges):
        return
    labels = edges["label"].chunk(0)
    for code, label in enumerate(labels.dictionary.to_pylist()):
        positions = pc.indices_nonzero(pc.equal(labels.indices, code))
        if len(positions):
            yield label, positions.cast(pa.int32())


def _names(vertices: Any) -> Any:
    """Return the texts of names and the positions of the vertices that have them, sorted by text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for key in NAME_KEYS:
        if key in vertices.column_names and len(vertices):
            column = vertices[key].chunk(0)
            rows = pc.indices_nonzero(column.is_valid()).cast(pa.int32())
            parts.append(pa.table({"text": column.take(rows), "vertex": rows}))
    if not parts:
        return pa.table(
            {"text": pa.array([]).cast(pa.string()).dictionary_encode(), "vertex": pa.array([], pa.int32())}
        )
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    texts = table["text"].chunk(0)
    order = pc.sort_indices(texts.dictionary)
    codes = pc.sort_indices(order).cast(pa.int32()).take(texts.indices)  # the place of each text
    encoded = pa.DictionaryArray.from_arrays(codes, texts.dictionary.take(order))
    by_text = pc.sort_indices(codes)
    return pa.table({"text": encoded.take(by_text), "vertex": table["vertex"].chunk(0).take(by_text)})


def _write(file: Path, table: Any, open_file: OpenFile) -> None:
    import pyarrow as pa

    with open_file(file) as opened:
        with pa.ipc.new_file(_Pieces(opened), table.schema) as writer:
            writer.write_table(table)
        opened.flush()
        os.fsync(opened.fileno())


class _Pieces(RawIOBase):
    """Writes to a file piece by piece.

    Linux caches what is written at once as one unit of up to 2 MB, and maps all of it when a byte of it is
    read: it would count as memory of the process that asks.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        for start in range(0, len(view), _PIECE):
            self._file.write(view[start : start + _PIECE])
        return len(view)
