"""The walk index of a folder of node and edge files, which a build leaves beside them.

Only of folders on a disk, which can map it into memory, and of a size for which that matters: few rows are
read as fast without, and for very many this process would need too much memory to write it.
"""

import json
import shutil
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lineage_merge.graph_format.arrow import arrow_schema
from lineage_merge.graph_format.columns import Columns, JsonColumns, open_parquet
from lineage_merge.graph_format.stored_files import EDGES, NODES, FileKind, find_stored_files, path_of
from lineage_merge.infra.walk_index.reading import WalkIndex
from lineage_merge.infra.walk_index.writing import write_walk_index
from lineage_merge.model.errors import IntermediateError

# Rows of nodes and edges of a folder with an index. Writing it takes 0.6 KB of memory for each.
MIN_ROWS = 50_000
MAX_ROWS = 12_000_000
_FOLDER = "index"
# Sizes and times of the files of which an index was written: another file may be as old.
_FILES = "files.json"


def open_folder_index(folder: str) -> WalkIndex | None:
    """Return the index of a folder; None if it has none of the files that are there.

    A damaged index counts as none: the files have all that it has.
    """
    index = _index_of(folder)
    if index is None or not find_spec("pyarrow"):
        return None
    import pyarrow as pa

    with suppress(pa.ArrowException, OSError, ValueError):
        if json.loads((index / _FILES).read_text(encoding="utf-8")) == _list_files(index.parent):
            return WalkIndex.open(index)
    return None


def write_folder_index(folder: str, *, at_least: int = MIN_ROWS) -> None:
    """Write the index of a folder of a suitable size, in place of an earlier one.

    `at_least`: rows that it must have.
    Raises `IntermediateError` if its files cannot be read, or the index cannot be written.
    """
    index = _index_of(folder)
    if index is None or not find_spec("pyarrow"):
        return
    shutil.rmtree(index, ignore_errors=True)
    files = _list_files(index.parent)
    nodes, edges = (_open(folder, kind) for kind in (NODES, EDGES))
    if not at_least <= nodes.num_rows + edges.num_rows <= MAX_ROWS:
        return
    try:
        index.mkdir()
        write_walk_index(
            index, _table(nodes, NODES.ddl), _table(edges, EDGES.ddl), lambda file: file.open("wb")
        )
        (index / _FILES).write_text(json.dumps(files), encoding="utf-8")
    except ValueError:  # questions read the files, and say what is wrong with them
        shutil.rmtree(index)
    except OSError as error:
        raise IntermediateError(f"{index}: {error.strerror or error}") from None


def _list_files(folder: Path) -> dict[str, list[int]]:
    """Return size and time of each node and edge file."""
    files = (file for kind in (NODES, EDGES) for file in (folder / kind.name).rglob("*") if file.is_file())
    stats = ((file, file.stat()) for file in files)
    return {file.relative_to(folder).as_posix(): [stat.st_size, stat.st_mtime_ns] for file, stat in stats}


def _index_of(folder: str) -> Path | None:
    """Return the folder of the index; None for a folder that is not on a disk."""
    local = folder.removeprefix("file://")
    return None if "://" in local else Path(local, _FOLDER)


def _open(folder: str, kind: FileKind) -> Columns:
    path = path_of(folder, kind)
    file_format, files = find_stored_files(path)
    if file_format == "parquet":
        return open_parquet([file.location for file in files])
    return JsonColumns(path, kind.name, files, kind.ddl)


def _table(columns: Columns, ddl: str) -> Any:
    import pyarrow as pa

    if not columns.num_rows:
        return arrow_schema(ddl).empty_table()
    return pa.table({name: columns.column(name) for name in columns.names})
