"""Locations of embedded graphs, folders with locks beside them: the user's own graph and that of the demo."""

import os
from pathlib import Path

# The endpoint of an embedded graph, in place of a URL.
EMBEDDED = "embedded"
GRAPH_FILE_VARIABLE = "LINEAGE_MERGE_GRAPH_FILE"
# In the folder of a graph: the link to its newest snapshot.
CURRENT = "current"
_HOME_VARIABLE = "LINEAGE_MERGE_HOME"


def default_graph_file() -> Path:
    """Return ``$LINEAGE_MERGE_GRAPH_FILE``, or ``graph`` in the data folder."""
    if file := os.environ.get(GRAPH_FILE_VARIABLE):
        # One spelling per file: its locks are files beside it.
        return Path(file).expanduser().resolve()
    return data_folder() / "graph"


def demo_graph_file() -> Path:
    """Return the folder of the sample's graph, which is never the user's own."""
    return data_folder() / "demo"


def data_folder() -> Path:
    """Return ``$LINEAGE_MERGE_HOME``, or a folder in the user's data directory."""
    if home := os.environ.get(_HOME_VARIABLE):
        return Path(home)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "lineage-merge"


def is_graph(folder: Path) -> bool:
    """Whether a folder has an embedded graph (`infra.embedded.graph_store`), not files of `build`."""
    return (folder / CURRENT).is_symlink()


def is_private_folder(folder: Path) -> bool:
    """Whether this is the folder in the user's data directory, which contains only files of this package."""
    return not os.environ.get(_HOME_VARIABLE) and folder == data_folder()
