"""The stored form of an embedded graph: a folder with a snapshot of columns.

::

    graph/current -> snapshot-0d9a2f417c3b6e58
    graph/snapshot-0d9a2f417c3b6e58/nodes/part-00000.parquet
    graph/snapshot-0d9a2f417c3b6e58/edges/part-00000.parquet

The columns are those of the node and edge files of `build`, but for `dag_name` of nodes, which is a set
(`graph_tables`). A load writes another snapshot and then replaces the link, so that a crash leaves the old or
the new graph. The snapshot before stays until the next load, for those who read it.
Loads take turns: each holds the lock ``graph.lock`` from its comparison to the link.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage_merge.infra import graph_files
from lineage_merge.infra.embedded import file_lock
from lineage_merge.infra.embedded.file_lock import make_folder, open_private
from lineage_merge.infra.embedded.graph_tables import (
    GraphTables,
    Kind,
    arrow,
    empty_tables,
    require_arrow,
    table_schema,
)
from lineage_merge.infra.graph_files import CURRENT
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.storage import sync_folder
from lineage_merge.model.errors import EmbeddedError

# The folder of each table, and the columns by which its rows are sorted.
FOLDERS: dict[Kind, str] = {"vertices": "nodes", "edges": "edges"}
_SORTED_BY: dict[Kind, tuple[str, ...]] = {"vertices": ("id",), "edges": ("to", "id")}
_PREFIX = "snapshot-"
_FILE = "part-00000.parquet"
_GROUP_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class GraphFolder:
    """An embedded graph. Methods raise `EmbeddedError`."""

    path: Path

    @contextmanager
    def lock(
        self, on_progress: ProgressCallback = no_progress, seconds: float = file_lock.LOAD_SECONDS
    ) -> Iterator[None]:
        """Wait until no other process loads this graph, for at most `seconds`; then load it alone."""
        require_arrow()
        graph = self.path.resolve()  # one lock per graph
        try:
            make_folder(graph.parent, own=graph_files.is_private_folder(graph.parent))
        except OSError as error:
            raise EmbeddedError(f"the graph {graph}: {error.strerror or error}: {error.filename}") from None
        with file_lock.hold_lock(Path(f"{graph}.lock"), f"the graph {graph}", on_progress, seconds):
            yield

    def read(self) -> GraphTables:
        """Return the newest snapshot; empty tables without one."""
        while folder := snapshot_folder(self.path):
            try:
                return read_tables(folder)
            except EmbeddedError:
                if snapshot_folder(self.path) == folder:  # not replaced, and deleted, meanwhile
                    raise
        return empty_tables()

    def read_vertex(self, identifier: str, columns: list[str]) -> dict[str, Any]:
        """Return columns of one vertex; empty if it is missing."""
        if not (folder := snapshot_folder(self.path)):
            return {}
        arrow()
        from pyarrow import parquet

        with _readable(folder):
            table = parquet.read_table(
                _file(folder, "vertices"), columns=columns, filters=[("id", "==", identifier)]
            )
        return dict(next(iter(table.to_pylist()), {}))

    def write(self, tables: GraphTables) -> None:
        """Replace the graph, within `lock`."""
        write_snapshot(self.path, tables)


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


def read_tables(folder: Path) -> GraphTables:
    """Return the tables of a snapshot. Raises `EmbeddedError`, also if they contradict each other."""
    with _readable(folder):
        vertices, edges = (_read_table(folder, kind) for kind in FOLDERS)
        problem = _contradiction(vertices, edges)
    if problem:
        raise _unreadable(folder.parent, problem)
    return GraphTables(vertices, edges)


def _read_table(folder: Path, kind: Kind) -> Any:
    """Return a table with all columns: another version may not have all, or have more."""
    arrow()
    from pyarrow import parquet

    return parquet.read_table(_file(folder, kind), schema=table_schema(kind), partitioning=None)


def _contradiction(vertices: Any, edges: Any) -> str:
    compute = arrow().compute
    for table in (vertices, edges):
        if compute.count_distinct(table["id"], mode="all").as_py() != len(table):
            return "an id is there twice"
    known = vertices["id"].combine_chunks()
    for end in ("from", "to"):
        missing = edges[end].filter(compute.invert(compute.is_in(edges[end], known)))
        if len(missing):
            return f"there is no vertex {missing[0].as_py()}"
    return ""


def write_snapshot(graph: Path, tables: GraphTables) -> Path:
    """Store tables as the graph; return the folder of the snapshot. Raises `EmbeddedError`."""
    try:
        make_folder(graph)
        return _write(graph, f"{_PREFIX}{secrets.token_hex(8)}", tables, snapshot_folder(graph))
    except OSError as error:
        problem = error.strerror or str(error)
        raise EmbeddedError(f"the graph was not saved to {graph} (unchanged): {problem}") from None


def _write(graph: Path, name: str, tables: GraphTables, before: Path | None) -> Path:
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
            with suppress(OSError):  # the link of a load that was killed
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


def _file(folder: Path, kind: Kind) -> Path:
    return folder / FOLDERS[kind] / _FILE


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _unreadable(folder.parent, f"{error.filename or error} is missing") from None
    except OSError as error:
        raise _unreadable(folder.parent, error.strerror or str(error)) from None
    except arrow().ArrowException as error:
        raise _unreadable(folder.parent, str(error).splitlines()[0]) from None


def _unreadable(graph: Path, problem: str) -> EmbeddedError:
    fix = "move the folder to start with an empty graph"
    return EmbeddedError(f"the graph {graph} cannot be read: {problem}; {fix}")
