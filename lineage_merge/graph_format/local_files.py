"""Node and edge files that this process reads itself, without Spark: on disks and in S3, through pyarrow."""

from collections.abc import Iterator
from typing import Any

from lineage_merge.graph_format.arrow import (
    arrow_schema,
    has_pyarrow,
    rows_of_table,
    table_of_lines,
    table_of_parquet,
)
from lineage_merge.graph_format.folder_index import open_folder_index
from lineage_merge.graph_format.schema import Row
from lineage_merge.graph_format.stored_files import EDGES, NODES, FileKind, find_stored_files, path_of
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import is_s3, list_files, read_bytes
from lineage_merge.model.errors import IntermediateError, SourceError, SourceMissing


def may_read_locally(folder: str) -> bool:
    """Return whether this process can read node and edge files without Spark."""
    return needs_no_connector(folder) and has_pyarrow()


def needs_no_connector(folder: str) -> bool:
    """Return whether this package reads and writes the folder's file system itself."""
    return is_s3(folder) or "://" not in folder


def estimate_unpacked_size(folder: str) -> int:
    """Return the approximate size of the files as text, in bytes. Raises `IntermediateError`."""
    return sum(
        file.text_bytes for kind in (NODES, EDGES) for file in find_stored_files(path_of(folder, kind))[1]
    )


def read_rows(engine: Engine, folder: str) -> tuple[Rows[Row], Rows[Row]]:
    """Read the nodes and edges below `folder` as rows of a local engine, without unknown values.

    Raises `IntermediateError` if they are missing, incomplete, or invalid.
    """
    nodes, edges = (_read(path_of(folder, kind), kind.name, kind.ddl) for kind in (NODES, EDGES))
    return engine.rows(nodes), engine.rows(edges)


def read_facts(engine: Engine, folder: str, name: str, ddl: str) -> Rows[Row] | None:
    """Read the rows that `files.write_facts` wrote; None if there are none."""
    path = f"{folder.rstrip('/')}/{name}"
    return engine.rows(_read(path, name, ddl)) if has_files(path) else None


def has_files(path: str) -> bool:
    """Return whether a folder has files."""
    try:
        return bool(list_files(path))
    except SourceMissing:
        return False


def read_tables(folder: str) -> tuple[Any, Any]:
    """Read the nodes and edges below `folder` as tables of Arrow. Errors as in `read_rows`."""
    index = open_folder_index(folder)  # no text has to be decoded
    if index and index.has_all_edges and not index.contradiction():
        return index.tables()
    return _read_table(folder, NODES), _read_table(folder, EDGES)


def _read_table(folder: str, kind: FileKind) -> Any:
    import pyarrow as pa

    tables = [*_read_tables(path_of(folder, kind), kind.name, kind.ddl)]
    return (
        pa.concat_tables(tables, promote_options="default")
        if tables
        else arrow_schema(kind.ddl).empty_table()
    )


def _read(path: str, name: str, ddl: str) -> Iterator[Row]:
    for table in _read_tables(path, name, ddl):
        yield from rows_of_table(table)


def _read_tables(path: str, name: str, ddl: str) -> Iterator[Any]:
    import pyarrow as pa

    file_format, files = find_stored_files(path)
    schema = arrow_schema(ddl)
    for file in files:
        try:
            content = read_bytes(file.location)
        except SourceError as error:
            raise IntermediateError(error.message) from None
        try:
            yield (table_of_parquet if file_format == "parquet" else table_of_lines)(content, schema)
        except (pa.ArrowException, OSError, ValueError):
            invalid = "file" if file_format == "parquet" else "line"
            raise IntermediateError(
                f"{path}: invalid {invalid} in {name}. Fix: run `validate` for details"
            ) from None
