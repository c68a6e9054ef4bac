"""Opening of the graph of an endpoint, a configuration or a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.questions.graph import LineageGraph

if TYPE_CHECKING:
    from lineage_merge.config import Gremlin
    from lineage_merge.load.graph_access import Graph
    from lineage_merge.load.gremlin.connection import Endpoint


@contextmanager
def open_graph(
    location: "Endpoint | Gremlin | Path | str",
    on_progress: ProgressCallback = no_progress,
    graph_file: Path | None = None,
) -> Iterator[LineageGraph]:
    """Open the graph of an endpoint, a configuration (`config.gremlin`), or a folder of `build`.

    Queries go to the reader endpoint if there is one; of an embedded graph (`graph_file`) the files are read.
    Raises `GraphError`, `EmbeddedError`, `IntermediateError`, `SourceError`.
    """
    from lineage_merge.config import EMBEDDED, Gremlin

    if isinstance(location, str | Path):
        from lineage_merge.questions.backends.folder import read_folder

        on_progress(f"reading {location}")
        yield read_folder(str(location))
        return
    if isinstance(location, Gremlin):
        if location.endpoint == EMBEDDED:
            from lineage_merge.infra.graph_files import default_graph_file
            from lineage_merge.questions.backends.folder import read_graph

            file = graph_file or default_graph_file()
            on_progress(f"reading {file}")
            yield read_graph(file)
            return
        from lineage_merge.load.gremlin.configured_endpoint import endpoint

        location = endpoint(location)
    from lineage_merge.load.gremlin.connection import check
    from lineage_merge.questions.backends.gremlin import open_gremlin

    check(location.reader)
    with open_gremlin(location.reader) as graph:
        yield graph


@contextmanager
def open_loaded(graph: "Graph") -> Iterator[LineageGraph]:
    """Open a graph after a load: not its reader endpoint, which may lag behind."""
    from lineage_merge.infra.embedded.graph_store import GraphFolder
    from lineage_merge.questions.backends.folder import read_graph
    from lineage_merge.questions.backends.gremlin import open_gremlin

    if isinstance(graph, GraphFolder):
        yield read_graph(graph.path)
        return
    with open_gremlin(graph) as opened:
        yield opened
