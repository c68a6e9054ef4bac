"""The embedded graph: queried through its server if one runs, otherwise read from its file.

Starting a server would take longer than the query, and would rewrite the file.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError, GraphUnreachable, IntermediateError
from lineage_merge.questions.graph import LineageGraph

if TYPE_CHECKING:
    from lineage_merge.config import Gremlin
    from lineage_merge.load.gremlin.connection import Endpoint


@contextmanager
def open_embedded(
    gremlin: "Gremlin", on_progress: ProgressCallback, graph_file: Path | None = None
) -> Iterator[LineageGraph]:
    """Open the embedded graph for reading. Raises `GraphError`, `EmbeddedError`."""
    from lineage_merge.infra.embedded import file_lock
    from lineage_merge.infra.graph_files import default_graph_file

    file = graph_file or default_graph_file()
    # Holding the server prevents its end. None: it is ending, and writes its file.
    hold = None
    with suppress(PermissionError):  # another user's folder: the file can be read
        hold = file_lock.use(file) if file.parent.is_dir() else None
    try:
        url = file_lock.served_at(file) if hold else None
        if url and (target := _served(gremlin, url)):
            from lineage_merge.questions.backends.gremlin import open_gremlin

            with open_gremlin(target) as graph:
                yield graph
            return
    finally:
        if hold:
            hold.release()
    on_progress(f"reading {file}")
    yield read_graph(file)


def _served(gremlin: "Gremlin", url: str) -> "Endpoint | None":
    """Return the endpoint of a running server; None if the address is that of a killed one."""
    from lineage_merge.load.gremlin.configured_endpoint import endpoint
    from lineage_merge.load.gremlin.connection import check

    target = endpoint(gremlin, url)
    try:
        check(target)
    except GraphUnreachable:
        return None
    return target


def read_graph(graph: Path) -> LineageGraph:
    """Return the newest snapshot of an embedded graph; empty without one. Raises `EmbeddedError`."""
    from lineage_merge.infra.embedded.graph_store import snapshot_folder
    from lineage_merge.questions.backends.folder import read_folder
    from lineage_merge.questions.backends.in_memory import InMemory

    folder = snapshot_folder(graph)
    if folder is None:
        return InMemory((), ())
    try:
        return read_folder(str(folder))
    except IntermediateError as error:
        raise EmbeddedError(f"cannot read the graph {graph}: {error.message}") from None
