"""The embedded graph: its newest snapshot, of which questions read columns."""

from pathlib import Path

from lineage_merge.infra.embedded.graph_store import snapshot_folder
from lineage_merge.model.errors import EmbeddedError, IntermediateError
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.graph import LineageGraph


def read_graph(graph: Path) -> LineageGraph:
    """Return the newest snapshot of an embedded graph; empty without one. Raises `EmbeddedError`."""
    folder = snapshot_folder(graph)
    if folder is None:
        return InMemory((), ())
    try:
        return read_folder(str(folder))
    except IntermediateError as error:
        raise EmbeddedError(f"cannot read the graph {graph}: {error.message}") from None
