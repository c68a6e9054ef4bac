"""The output folder of `build` as a graph: Parquet or JSON lines, local or on S3, without Spark.

JSON lines need only Python, Parquet needs pyarrow (the extra `parquet`): starting Spark would take longer
than a query.
"""

import io
import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from lineage_merge.graph_format.arrow import rows_of_batches
from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.infra.storage import Slice, StoredFile, list_files, read_bytes, read_lines
from lineage_merge.model.errors import IntermediateError, SourceMissing
from lineage_merge.questions.backends.in_memory import InMemory

_KEYS = ("id", "label", "from", "to")
_JSON = {".json", ".jsonl"}


def read_folder(folder: str) -> InMemory:
    """Return the graph of a folder's `nodes/` and `edges/`.

    Raises `IntermediateError` if they are missing, incomplete or invalid, `SourceError` if they cannot be
    read.
    """
    return InMemory(map(vertex_of_row, _rows(folder, "nodes")), map(edge_of_row, _rows(folder, "edges")))


def _rows(folder: str, kind: str) -> Iterator[dict[str, Any]]:
    path = f"{folder.rstrip('/')}/{kind}"
    needed = ("id", "label") if kind == "nodes" else _KEYS
    for file in files_of(path):
        read = _parquet if PurePosixPath(file.location).suffix == ".parquet" else _json_lines
        for row in read(file):
            if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in needed):
                raise IntermediateError(f"{path}: invalid row of {kind}. Fix: run `validate` for details")
            yield row


def files_of(path: str) -> list[StoredFile]:
    """Return the files of a folder of node or edge files, of one format. Raises `IntermediateError`."""
    try:
        files = list_files(path)
    except SourceMissing:
        raise IntermediateError(f"{path}: no node or edge files. Fix: create them with build") from None
    names = {file: PurePosixPath(file.location) for file in files}
    if any("_temporary" in name.parts for name in names.values()):
        raise IntermediateError(f"{path}: incomplete write. Fix: run build again")
    seen = {file: name for file, name in names.items() if not name.name.startswith((".", "_"))}
    parquet = [file for file, name in seen.items() if name.suffix == ".parquet"]
    found = parquet or [file for file, name in seen.items() if _JSON & set(name.suffixes)]
    if not found:
        raise IntermediateError(f"{path}: neither Parquet nor JSON lines files")
    return found


def _json_lines(file: StoredFile) -> Iterator[Any]:
    for _, line in read_lines(Slice(file.location, 0, file.size)):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise IntermediateError(f"{file.location}: invalid JSON line") from None


def _parquet(file: StoredFile) -> Iterator[Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise IntermediateError(
            f"{file.location}: Parquet needs pyarrow. Fix: pip install 'lineage-merge[parquet]',"
            " or build with --format jsonl"
        ) from None
    try:
        table = parquet.ParquetFile(io.BytesIO(read_bytes(file.location)))
        yield from rows_of_batches(table.iter_batches())
    except (pa.ArrowException, OSError):
        raise IntermediateError(f"{file.location}: invalid or incomplete Parquet file") from None
