"""The embedded graph: asked of the server that serves it, or else read from its file.

To start a server for a question would take longer than to answer it, and would write the file anew.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError, GraphUnreachable
from lineage_merge.query.backends.in_memory import InMemory
from lineage_merge.query.elements import Edge, Vertex, held_properties, of_vertex
from lineage_merge.query.graph import LineageGraph

if TYPE_CHECKING:
    from lineage_merge.config import Gremlin


@contextmanager
def open_embedded(
    gremlin: "Gremlin", on_progress: ProgressCallback, graph_file: Path | None = None
) -> Iterator[LineageGraph]:
    """The embedded graph, never changed. Raises `GraphError`, `EmbeddedError`."""
    from lineage_merge.infra.embedded import file_lock
    from lineage_merge.infra.embedded.graph_store import default_graph_file
    from lineage_merge.load.gremlin.configured_endpoint import endpoint
    from lineage_merge.load.gremlin.connection import check
    from lineage_merge.query.backends.gremlin import asked_at

    file = graph_file or default_graph_file()
    # A user of the server keeps it from ending meanwhile. None: it is ending, and writes its file.
    hold = file_lock.use(file) if file.parent.is_dir() else None
    try:
        url = file_lock.served_at(file) if hold else None
        target = endpoint(gremlin, url) if url else None
        try:
            if target:
                check(target)
        except GraphUnreachable:
            target = None  # what stands there is of a server that was killed
        if target:
            with asked_at(target) as graph:
                yield graph
            return
    finally:
        if hold:
            hold.release()
    on_progress(f"reading {file}")
    yield read_graph_file(file)


def read_graph_file(file: Path) -> InMemory:
    """The graph of a GraphSON 3 file of one vertex a line; no file is an empty graph.

    Raises `EmbeddedError` where it is broken.
    """
    vertices: list[Vertex] = []
    edges: list[Edge] = []
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = json.loads(line, object_hook=_untyped)
                    vertices.append(_vertex(row))
                    edges.extend(_edges(row))
                except (ValueError, KeyError, TypeError, AttributeError):
                    raise EmbeddedError(
                        f"the graph file {file} cannot be read: line {number} is not a vertex in GraphSON"
                    ) from None
    except FileNotFoundError:
        return InMemory((), ())
    except OSError as error:
        raise EmbeddedError(f"the graph file {file} cannot be read: {error.strerror}") from None
    return InMemory(vertices, edges)


def _untyped(value: dict[str, Any]) -> Any:
    """``{"@type": "g:Int64", "@value": 7}`` is 7; ids and texts have no type."""
    return value["@value"] if value.keys() == {"@type", "@value"} else value


def _vertex(row: dict[str, Any]) -> Vertex:
    held = {key: [each["value"] for each in values] for key, values in row.get("properties", {}).items()}
    return Vertex(row["id"], row["label"], of_vertex(held))


def _edges(row: dict[str, Any]) -> Iterator[Edge]:
    for label, edges in row.get("outE", {}).items():
        for each in edges:
            yield Edge(each["id"], label, row["id"], each["inV"], held_properties(each.get("properties", {})))
