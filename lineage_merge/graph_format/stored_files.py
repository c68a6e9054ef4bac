"""The files of a folder of nodes or edges, and their format."""

from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.infra.storage import StoredFile, list_files
from lineage_merge.model.errors import IntermediateError, SourceMissing

Format = Literal["parquet", "jsonl"]

# A folder beside the files that a write has not completed, as Spark names it.
INCOMPLETE = "_temporary"
_SUFFIXES: dict[Format, frozenset[str]] = {
    "parquet": frozenset({".parquet"}),
    "jsonl": frozenset({".json", ".jsonl"}),
}


class FileKind(NamedTuple):
    """Nodes or edges: the name of the folder, and the columns."""

    name: str
    ddl: str


NODES = FileKind("nodes", node_ddl())
EDGES = FileKind("edges", edge_ddl())


def path_of(folder: str, kind: FileKind) -> str:
    """Return the folder of the files of a kind."""
    return f"{folder.rstrip('/')}/{kind.name}"


def find_stored_files(path: str) -> tuple[Format, list[StoredFile]]:
    """Return the format and the files of a folder; as for Spark, others begin with a dot or an underscore.

    Raises `IntermediateError` if files are missing or incomplete, and `SourceError` if they cannot be listed.
    """
    try:
        names = {file: PurePosixPath(file.location) for file in list_files(path)}
    except SourceMissing:
        raise IntermediateError(f"{path}: no node or edge files. Fix: create them with build") from None
    if any(INCOMPLETE in name.parts for name in names.values()):
        raise IntermediateError(f"{path}: incomplete write. Fix: run build again")
    for file_format, suffixes in _SUFFIXES.items():
        files = [
            file
            for file, name in names.items()
            if not name.name.startswith((".", "_")) and suffixes & set(name.suffixes)
        ]
        if files:
            return file_format, files
    raise IntermediateError(f"{path}: neither Parquet nor JSON lines files")
