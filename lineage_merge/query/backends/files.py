"""A folder that `build` wrote, as a graph: Parquet or JSON lines, local or in S3, without Spark.

JSON lines need nothing but Python. Parquet needs pyarrow (the extra `parquet`): Spark could read it too,
but takes longer to start than a question to answer.
"""

import io
import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from lineage_merge.infra.storage import Slice, StoredFile, list_files, read_bytes, read_lines
from lineage_merge.model.errors import IntermediateError, SourceMissing
from lineage_merge.query.backends.in_memory import InMemory
from lineage_merge.query.elements import Edge, Vertex, held_properties, of_vertex

_KEYS = ("id", "label", "from", "to")
_JSON = {".json", ".jsonl"}


def read_folder(folder: str) -> InMemory:
    """The graph of a folder's `nodes/` and `edges/`.

    Raises `IntermediateError` where they are missing, incomplete or not what they should be, and
    `SourceError` where they cannot be read.
    """
    return InMemory(map(vertex_of_row, _rows(folder, "nodes")), map(edge_of_row, _rows(folder, "edges")))


def vertex_of_row(row: dict[str, Any]) -> Vertex:
    """A vertex of a line of a node file."""
    return Vertex(row["id"], row["label"], of_vertex({k: v for k, v in row.items() if k not in _KEYS}))


def edge_of_row(row: dict[str, Any]) -> Edge:
    """An edge of a line of an edge file."""
    held = held_properties({key: value for key, value in row.items() if key not in _KEYS})
    return Edge(row["id"], row["label"], row["from"], row["to"], held)


def _rows(folder: str, kind: str) -> Iterator[dict[str, Any]]:
    path = f"{folder.rstrip('/')}/{kind}"
    needed = ("id", "label") if kind == "nodes" else _KEYS
    for file in _files(path):
        read = _parquet if PurePosixPath(file.location).suffix == ".parquet" else _json_lines
        for row in read(file):
            if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in needed):
                raise IntermediateError(f"{path}: a line that fits no {kind}; `validate` says which and why")
            yield row


def _files(path: str) -> list[StoredFile]:
    try:
        files = list_files(path)
    except SourceMissing:
        raise IntermediateError(f"{path}: no node or edge files there; make them with build") from None
    names = {file: PurePosixPath(file.location) for file in files}
    if any("_temporary" in name.parts for name in names.values()):
        raise IntermediateError(f"{path}: a write of it did not end; build it again")
    seen = {file: name for file, name in names.items() if not name.name.startswith((".", "_"))}
    parquet = [file for file, name in seen.items() if name.suffix == ".parquet"]
    found = parquet or [file for file, name in seen.items() if _JSON & set(name.suffixes)]
    if not found:
        raise IntermediateError(f"{path}: neither Parquet files nor JSON lines there")
    return found


def _json_lines(file: StoredFile) -> Iterator[Any]:
    for _, line in read_lines(Slice(file.location, 0, file.size)):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise IntermediateError(f"{file.location}: a line that is not JSON") from None


def _parquet(file: StoredFile) -> Iterator[Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise IntermediateError(
            f"{file.location}: Parquet needs pyarrow: pip install 'lineage-merge[parquet]',"
            " or build with --format jsonl"
        ) from None
    try:
        table = parquet.ParquetFile(io.BytesIO(read_bytes(file.location)))
        for batch in table.iter_batches():
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError):
        raise IntermediateError(f"{file.location}: not a whole Parquet file") from None
