"""The stored form of an embedded graph: a folder with a snapshot of columns.

::

    graph/current -> snapshot-0d9a2f417c3b6e58
    graph/snapshot-0d9a2f417c3b6e58/nodes/part-00000.parquet
    graph/snapshot-0d9a2f417c3b6e58/edges/part-00000.parquet

The columns are those of the node and edge files of `build`, but for `dag_name` of nodes, which is a set, and
`other_properties` (`element_batches`). A save writes another snapshot and then replaces the link, so that a
crash leaves the old or the new graph. The snapshot before stays until the next save, for those who read it.
"""

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lineage_merge.infra.embedded.element_batches import GraphTables, Kind, arrow, encoded_tables
from lineage_merge.infra.embedded.element_transfer import ElementClient, TransferConflict, TransferFailed
from lineage_merge.infra.embedded.file_lock import make_folder, open_private
from lineage_merge.infra.graph_files import CURRENT
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.storage import sync_folder
from lineage_merge.model.errors import EmbeddedError

# The file name of each table, and the columns by which its rows are sorted.
FOLDERS: dict[Kind, str] = {"vertices": "nodes", "edges": "edges"}
_SORTED_BY: dict[Kind, tuple[str, ...]] = {"vertices": ("id",), "edges": ("to", "id")}
_PREFIX = "snapshot-"
_FILE = "part-00000.parquet"
_GROUP_ROWS = 65_536
_TRIES = 6
_PAUSE_SECONDS = 0.5


def snapshot_folder(graph: Path) -> Path | None:
    """Return the folder of the newest snapshot; None if the graph was never saved.

    Raises `EmbeddedError` for a file of an earlier version, and if the snapshot is missing.
    """
    if graph.is_file():
        raise EmbeddedError(
            f"{graph} is a graph file of an earlier version (GraphSON), which this one does not read."
            " Fix: move the file, and load the graph again (lineage-merge run)"
        )
    try:
        folder = graph / (graph / CURRENT).readlink()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(graph, error.strerror or str(error)) from None
    if not folder.is_dir():
        raise _unreadable(graph, f"{folder.name} is missing")
    return folder


def save(url: str, graph: Path, on_progress: ProgressCallback = no_progress) -> Path:
    """Write the graph at `url` to its folder, unless it is unchanged; return the folder of its snapshot.

    Retries a copy that a concurrent writer made inconsistent. Raises `EmbeddedError`; the folder then has the
    graph of the last save.
    """
    problem = ""
    try:
        with _saving(graph), ElementClient(url) as client:
            before = snapshot_folder(graph)
            name = f"{_PREFIX}{secrets.token_hex(8)}"
            for attempt in range(_TRIES):
                if attempt:
                    time.sleep(_PAUSE_SECONDS)
                try:
                    tables = client.dump(
                        name, before.name if before else "", lambda: on_progress("saving the graph")
                    )
                except TransferConflict as error:
                    problem = error.message
                    continue
                if tables is None and before:
                    return before
                if tables:
                    return _write(graph, name, tables, before)
    except TransferFailed as error:
        problem = error.message
    except OSError as error:
        problem = error.strerror or str(error)
    raise EmbeddedError(f"the graph was not saved to {graph} (unchanged): {problem}")


@contextmanager
def _saving(graph: Path) -> Iterator[None]:
    """Serialize saves: an older copy must not replace a newer one."""
    make_folder(graph.parent)
    with open_private(Path(f"{graph}.saving"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def write_snapshot(graph: Path, tables: GraphTables) -> Path:
    """Store tables as the graph, without a server; return the folder of the snapshot."""
    with _saving(graph):
        return _write(graph, f"{_PREFIX}{secrets.token_hex(8)}", tables, snapshot_folder(graph))


def _write(graph: Path, name: str, tables: GraphTables, before: Path | None) -> Path:
    make_folder(graph)
    folder = graph / name
    try:
        _write_table(folder, "vertices", tables.vertices)
        _write_table(folder, "edges", tables.edges)
        sync_folder(folder)
        link = graph / f"{name}.link"
        link.symlink_to(name)
        link.replace(graph / CURRENT)
        sync_folder(graph)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    for other in graph.glob(f"{_PREFIX}*"):
        if other not in (folder, before):
            shutil.rmtree(other, ignore_errors=True)
            with suppress(OSError):  # the link of a save that was killed
                other.unlink()
    return folder


def _write_table(folder: Path, kind: Kind, table: Any) -> None:
    from pyarrow import parquet

    order = [(name, "ascending") for name in _SORTED_BY[kind]]
    target = folder / FOLDERS[kind]
    for parent in (folder, target):
        make_folder(parent)
    with open_private(target / _FILE, "w") as file:
        parquet.write_table(
            table.sort_by(order), target / _FILE, compression="zstd", row_group_size=_GROUP_ROWS
        )
        os.fsync(file.fileno())
    sync_folder(target)


def read_tables(folder: Path) -> GraphTables:
    """Return the tables of a snapshot. Raises `EmbeddedError`."""
    with _readable(folder):
        vertices, edges = (_opened(folder, kind).read() for kind in FOLDERS)
    return GraphTables(vertices, edges)


def restore(url: str, graph: Path, folder: Path, on_progress: ProgressCallback = no_progress) -> None:
    """Read a snapshot into the graph at `url`. Raises `EmbeddedError`; never modifies the files."""
    with _readable(graph), ElementClient(url) as client:
        files = {kind: _opened(folder, kind) for kind in FOLDERS}
        total, done = sum(file.metadata.num_rows for file in files.values()), 0
        on_progress(f"reading the graph from {graph}")
        for kind, file in files.items():
            with file:
                for batch in file.iter_batches(batch_size=_GROUP_ROWS):
                    for rows, encoded in encoded_tables(kind, arrow().Table.from_batches([batch])):
                        client.create(encoded, folder.name)
                        done += rows
                        if total > _GROUP_ROWS:
                            on_progress(f"reading the graph from {graph} ({done:,} of {total:,} elements)")


def _opened(folder: Path, kind: Kind) -> Any:
    arrow()
    from pyarrow import parquet

    return parquet.ParquetFile(_file(folder, kind))


def _file(folder: Path, kind: Kind) -> Path:
    return folder / FOLDERS[kind] / _FILE


@contextmanager
def _readable(graph: Path) -> Iterator[None]:
    try:
        yield
    except TransferFailed as error:
        raise _unreadable(graph, error.message) from None
    except FileNotFoundError as error:
        raise _unreadable(graph, f"{error.filename or error} is missing") from None
    except OSError as error:
        raise _unreadable(graph, error.strerror or str(error)) from None
    except arrow().ArrowException as error:
        raise _unreadable(graph, str(error).splitlines()[0]) from None


def _unreadable(graph: Path, problem: str) -> EmbeddedError:
    fix = "move the folder to start with an empty graph"
    return EmbeddedError(f"the graph {graph} cannot be read: {problem}; {fix}")
