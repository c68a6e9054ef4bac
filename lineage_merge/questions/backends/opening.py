"""Opening of the graph of an endpoint, a configuration or a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.questions.graph import LineageGraph

if TYPE_CHECKING:
    from lineage_merge.config import Gremlin
    from lineage_merge.load.gremlin.connection import Endpoint


@contextmanager
def open_graph(
    location: "Endpoint | Gremlin | Path | str",
    on_progress: ProgressCallback = no_progress,
    graph_file: Path | None = None,
) -> Iterator[LineageGraph]:
    """Open the graph of an endpoint, a configuration (`config.gremlin`), or a folder of `build`.

    Queries go to the reader endpoint if there is one. The embedded graph is queried through a running server;
    without one, its file (`graph_file`) is read, which is faster than a start. Raises `GraphError`,
    `IntermediateError`, `SourceError`.
    """
    from lineage_merge.config import EMBEDDED, Gremlin

    if isinstance(location, str | Path):
        from lineage_merge.questions.backends.folder import read_folder

        on_progress(f"reading {location}")
        yield read_folder(str(location))
        return
    if isinstance(location, Gremlin):
        if location.endpoint == EMBEDDED:
            from lineage_merge.questions.backends.embedded import open_embedded

            with open_embedded(location, on_progress, graph_file) as graph:
                yield graph
            return
        from lineage_merge.load.gremlin.configured_endpoint import endpoint

        location = endpoint(location)
    from lineage_merge.load.gremlin.connection import check
    from lineage_merge.questions.backends.gremlin import open_gremlin

    check(location.reader)
    with open_gremlin(location.reader) as graph:
        yield graph
