"""Opens the graph of an endpoint, a configuration or a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.query.graph import LineageGraph

if TYPE_CHECKING:
    from lineage_merge.config import Gremlin
    from lineage_merge.load.gremlin.connection import Endpoint


@contextmanager
def open_graph(
    place: "Endpoint | Gremlin | Path | str", on_progress: ProgressCallback = no_progress
) -> Iterator[LineageGraph]:
    """The graph at an endpoint, of a configuration (`config.gremlin`), or in a folder that `build` wrote.

    Questions go to the reader endpoint where there is one. The embedded graph is asked of the server
    that serves it; where none does, its file is read, which is quicker than a start.
    Raises `GraphError`, `IntermediateError`, `SourceError`.
    """
    from lineage_merge.config import EMBEDDED, Gremlin

    if isinstance(place, str | Path):
        from lineage_merge.query.backends.files import read_folder

        on_progress(f"reading {place}")
        yield read_folder(str(place))
        return
    if isinstance(place, Gremlin):
        if place.endpoint == EMBEDDED:
            from lineage_merge.query.backends.embedded import open_embedded

            with open_embedded(place, on_progress) as graph:
                yield graph
            return
        from lineage_merge.load.gremlin.configured_endpoint import endpoint

        place = endpoint(place)
    from lineage_merge.load.gremlin.connection import check
    from lineage_merge.query.backends.gremlin import asked_at

    check(place.reader)
    with asked_at(place.reader) as graph:
        yield graph
