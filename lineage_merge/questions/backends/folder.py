"""Folders as graphs, without Spark: the output of `build` (Parquet or JSON lines, local or on S3), and the
newest snapshot of an embedded graph.

Both need pyarrow (the extra `parquet`). Of Parquet only the columns are read that a question uses.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage_merge.graph_format.columns import Columns, JsonColumns, invalid_rows, is_text, open_parquet
from lineage_merge.graph_format.folder_index import open_folder_index
from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.graph_format.stored_files import find_stored_files
from lineage_merge.infra.embedded.graph_store import open_snapshot, snapshot_folder
from lineage_merge.model.errors import EmbeddedError, IntermediateError
from lineage_merge.questions.backends.columnar import ColumnarGraph
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.backends.mapped import MappedGraph
from lineage_merge.questions.graph import LineageGraph

_NODE_KEYS = ("id", "label")
_EDGE_KEYS = ("id", "label", "from", "to")


def read_folder(folder: str) -> LineageGraph:
    """Return the graph of a folder's `nodes/` and `edges/`; of edges nothing is read yet but a footer.

    Raises `IntermediateError` if files are missing, incomplete or invalid, or without pyarrow, and
    `SourceError` if they cannot be read. Questions may raise them, too.
    """
    place = folder.rstrip("/")
    if index := open_folder_index(place):
        return MappedGraph(index)
    nodes = _Folder.open(f"{place}/nodes", "nodes", node_ddl(), _NODE_KEYS)
    for key in _NODE_KEYS:
        nodes.column(key)
    return ColumnarGraph(nodes, _Folder.open(f"{place}/edges", "edges", edge_ddl(), _EDGE_KEYS))


def read_graph(graph: Path) -> LineageGraph:
    """Return the newest snapshot of an embedded graph; empty without one. Raises `EmbeddedError`."""
    folder = snapshot_folder(graph)
    if folder is None:
        return InMemory((), ())
    try:
        index = open_snapshot(folder)
        return MappedGraph(index) if index else read_folder(str(folder))
    except IntermediateError as error:
        raise EmbeddedError(f"cannot read the graph {graph}: {error.message}") from None


@dataclass(frozen=True)
class _Folder:
    """The columns of a folder, of which some are required."""

    path: str
    kind: str
    required: Collection[str]
    columns: Columns

    @classmethod
    def open(cls, path: str, kind: str, ddl: str, required: Collection[str]) -> "_Folder":
        file_format, files = find_stored_files(path)
        columns: Columns = (
            open_parquet([file.location for file in files])
            if file_format == "parquet"
            else JsonColumns(path, kind, files, ddl)
        )
        return cls(path, kind, required, columns)

    @property
    def num_rows(self) -> int:
        return self.columns.num_rows

    @property
    def names(self) -> Collection[str]:
        return self.columns.names

    def column(self, name: str) -> Any:
        column = self.columns.column(name)
        is_valid = column is not None and not column.null_count and is_text(column)
        if name in self.required and self.num_rows and not is_valid:
            raise invalid_rows(self.path, self.kind)
        return column
