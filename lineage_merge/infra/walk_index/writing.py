"""Writes a walk index from the columns of nodes and edges."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from io import RawIOBase
from pathlib import Path
from typing import IO, Any

from lineage_merge.infra.arrow_tables import encode_columns, get_column
from lineage_merge.infra.walk_index.reading import (
    ADJACENCY,
    ALL_EDGES,
    EDGES,
    FIELDS,
    FORMAT,
    FORMAT_KEY,
    NAME_KEYS,
    NAMES,
    SPANS_KEY,
    VERTICES,
    WalkIndex,
)

OpenFile = Callable[[Path], IO[bytes]]
# Bytes that are written at once.
_PIECE = 1 << 16
_ENDS = ("from", "to")


def write_walk_index(
    folder: Path, vertices: Any, edges: Any, open_file: OpenFile, same_edges: Path | None = None
) -> None:
    """Write the index of tables of Arrow into a folder that exists.

    `vertices`, `edges`: the columns of node and edge files. `same_edges`: the folder of an index with the
    same edges, whose files are used if the ids of vertices are the same, too.

    All is on the disk when this returns. Raises `ValueError` if the tables cannot have an index: an id or
    label is missing or an id is there twice, or the texts of a column have more than 2 GB.
    """
    nodes = sort_vertices(vertices)
    if same_edges and _has_ids(same_edges, nodes):
        for name in (EDGES, ADJACENCY):
            _share(same_edges / name, folder / name, open_file)
    else:
        complete = sort_edges(edges, nodes)
        adjacency, spans = _adjacency(complete)
        has_all_edges = str(len(complete) == len(edges))
        _write(folder / EDGES, complete, {ALL_EDGES: has_all_edges}, open_file)
        _write(folder / ADJACENCY, adjacency, {SPANS_KEY: json.dumps(spans)}, open_file)
    about = {FORMAT_KEY: FORMAT, FIELDS: str(_has_fields(nodes))}
    _write(folder / VERTICES, nodes, about, open_file)
    _write(folder / NAMES, _names(nodes), {}, open_file)


def _has_ids(index: Path, vertices: Any) -> bool:
    stored = WalkIndex.open(index)
    return stored is not None and stored.vertices.column("id").equals(get_column(vertices, "id"))


def _share(source: Path, target: Path, open_file: OpenFile) -> None:
    """Make a file of an index that of another one, which no one changes."""
    try:
        target.hardlink_to(source)
    except OSError:  # not on every file system
        with source.open("rb") as original, open_file(target) as copy:
            shutil.copyfileobj(original, _Pieces(copy))
            copy.flush()
            os.fsync(copy.fileno())


def sort_vertices(vertices: Any) -> Any:
    """Return vertices in the order and with the columns of an index. Raises `ValueError`."""
    import pyarrow.compute as pc

    nodes = encode_columns(vertices)
    _require(nodes, "id", "label")
    nodes = nodes.take(pc.sort_indices(nodes["id"])).combine_chunks()
    ids = get_column(nodes, "id")
    if pc.any(pc.equal(ids[1:], ids[:-1])).as_py():
        raise ValueError("an id is there twice")
    return nodes


def sort_edges(edges: Any, vertices: Any) -> Any:
    """Return edges in the order and with the columns of an index with these vertices, which are sorted.

    Raises `ValueError`.
    """
    import pyarrow.compute as pc

    lines = encode_columns(edges)
    _require(lines, "label")
    ids = get_column(vertices, "id")
    for number, end in enumerate(_ENDS):
        lines = lines.append_column(f"_{number}", _positions(lines[end], ids))
    complete = pc.and_(pc.is_valid(lines["_0"]), pc.is_valid(lines["_1"]))
    if not pc.all(complete).as_py():
        lines = lines.filter(complete).combine_chunks()
    keys = [(name, "ascending") for name in ("_1", "id") if name in lines.column_names]
    order = pc.sort_indices(lines, sort_keys=keys)
    names = [*(name for name in lines.column_names if name not in (*_ENDS, "_0", "_1")), "_0", "_1"]
    return lines.select(names).rename_columns([*names[:-2], *_ENDS]).take(order).combine_chunks()


def _require(table: Any, *names: str) -> None:
    for name in names:
        if table[name].null_count:
            raise ValueError(f"the {name} of a row is missing")


def _positions(column: Any, ids: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(column):
        return pa.nulls(0, pa.int32())
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


def _write(file: Path, table: Any, about: dict[str, str], open_file: OpenFile) -> None:
    import pyarrow as pa

    described = table.replace_schema_metadata(about or None)
    with open_file(file) as opened:
        with pa.ipc.new_file(_Pieces(opened), described.schema) as writer:
            writer.write_table(described)
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
