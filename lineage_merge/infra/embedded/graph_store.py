"""The stored form of an embedded graph: a folder with a snapshot of columns.

::

    graph/current -> snapshot-0d9a2f417c3b6e58
    graph/snapshot-0d9a2f417c3b6e58/vertices.arrow

A snapshot is a walk index (`infra.walk_index`), which loads and questions map into memory. Its columns are
those of the node and edge files of `build`, but for `dag_name` of vertices, which is a set (`graph_tables`).
One of an earlier version has Parquet files instead (`nodes`, `edges`), and is read, too.

A load writes another snapshot and then replaces the link, so that a crash leaves the old or the new graph.
The snapshot before stays until the next load, for those who read it. Loads take turns: each holds the lock
``graph.lock`` from its comparison to the link.
"""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage_merge.infra import graph_files
from lineage_merge.infra.arrow_tables import decode_columns, get_column, is_one_of
from lineage_merge.infra.embedded import file_lock
from lineage_merge.infra.embedded.file_lock import make_folder, open_private_bytes
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
from lineage_merge.infra.walk_index.reading import WalkIndex, with_ids_of_ends
from lineage_merge.infra.walk_index.writing import sort_edges, sort_vertices, write_walk_index
from lineage_merge.model.errors import EmbeddedError

# The Parquet file of each table in a snapshot of an earlier version.
_EARLIER: dict[Kind, str] = {"vertices": "nodes/part-00000.parquet", "edges": "edges/part-00000.parquet"}
_PREFIX = "snapshot-"


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

    def edition(self) -> str:
        """Return the name of the newest snapshot, which each write replaces; "" without one."""
        folder = snapshot_folder(self.path)
        return folder.name if folder else ""

    def read_vertex(self, identifier: str, columns: list[str]) -> dict[str, Any]:
        """Return columns of one vertex; empty if it is missing."""
        if not (folder := snapshot_folder(self.path)):
            return {}
        index = open_snapshot(folder)
        with _readable(folder):
            if index is None:
                vertices = read_tables(folder).vertices
                rows = vertices.filter(is_one_of(get_column(vertices, "id"), [identifier]))
            else:
                positions = arrow().array(index.positions_of_ids([identifier]), arrow().int32())
                rows = arrow().Table.from_batches([index.vertices]).take(positions)
        known = [name for name in columns if name in rows.column_names]
        return dict(next(iter(decode_columns(rows.select(known)).to_pylist()), {}))

    def write(self, tables: GraphTables, before: GraphTables) -> None:
        """Replace the graph, within `lock`. `before`: its tables, as read within the lock."""
        write_snapshot(self.path, tables, has_same_edges=tables.edges is before.edges)


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


def open_snapshot(folder: Path) -> WalkIndex | None:
    """Return the index that a snapshot is; None for one of an earlier version. Raises `EmbeddedError`."""
    arrow()
    with _readable(folder):
        return WalkIndex.open(folder)


def read_tables(folder: Path) -> GraphTables:
    """Return the tables of a snapshot. Raises `EmbeddedError`, also if they contradict each other."""
    if index := open_snapshot(folder):
        return _tables_of(folder, index)
    with _readable(folder):
        nodes, lines = (_read_earlier(folder, kind) for kind in _EARLIER)
        try:
            vertices = sort_vertices(nodes)
            edges = sort_edges(lines, vertices)
        except ValueError as error:
            raise _unreadable(folder.parent, str(error)) from None
    if len(edges) != len(lines):
        raise _unreadable(folder.parent, "an edge has no vertex at one of its ends")
    return GraphTables(vertices, with_ids_of_ends(edges, get_column(vertices, "id")))


def _tables_of(folder: Path, index: WalkIndex) -> GraphTables:
    if problem := index.contradiction():
        raise _unreadable(folder.parent, problem)
    return GraphTables(*index.tables())


def _read_earlier(folder: Path, kind: Kind) -> Any:
    """Return a table with all columns: another version may not have all, or have more."""
    arrow()
    from pyarrow import parquet

    return parquet.read_table(folder / _EARLIER[kind], schema=table_schema(kind), partitioning=None)


def write_snapshot(graph: Path, tables: GraphTables, *, has_same_edges: bool = False) -> Path:
    """Store tables as the graph; return the folder of the snapshot. Raises `EmbeddedError`.

    `has_same_edges`: the edges are those of the snapshot before, whose files may be used.
    """
    try:
        make_folder(graph)
        before = snapshot_folder(graph)
        return _write(graph, tables, before, before if has_same_edges else None)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise EmbeddedError(f"the graph was not saved to {graph} (unchanged): {problem}") from None


def _write(graph: Path, tables: GraphTables, before: Path | None, same_edges: Path | None) -> Path:
    name = f"{_PREFIX}{secrets.token_hex(8)}"
    folder = graph / name
    try:
        make_folder(folder)
        write_walk_index(folder, tables.vertices, tables.edges, open_private_bytes, same_edges)
        sync_folder(folder)
        link = graph / f"{name}.link"
        link.symlink_to(name)
        link.replace(graph / CURRENT)
    except BaseException:
        if snapshot_folder(graph) != folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    sync_folder(graph)
    for other in graph.glob(f"{_PREFIX}*"):
        if other not in (folder, before):
            shutil.rmtree(other, ignore_errors=True)
            with suppress(OSError):  # the link of a load that was killed
                other.unlink()
    return folder


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
