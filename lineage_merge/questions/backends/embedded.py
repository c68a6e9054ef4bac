"""The embedded graph: queried through its server if one runs, otherwise read from its file.

Starting a server would take longer than the query, and would rewrite the file.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_merge.graph_format.elements import Edge, Vertex, normalize_properties, vertex_properties
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError, GraphUnreachable
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.graph import LineageGraph

if TYPE_CHECKING:
    from lineage_merge.config import Gremlin


@contextmanager
def open_embedded(
    gremlin: "Gremlin", on_progress: ProgressCallback, graph_file: Path | None = None
) -> Iterator[LineageGraph]:
    """Open the embedded graph for reading. Raises `GraphError`, `EmbeddedError`."""
    from lineage_merge.infra.embedded import file_lock
    from lineage_merge.infra.graph_files import default_graph_file
    from lineage_merge.load.gremlin.configured_endpoint import endpoint
    from lineage_merge.load.gremlin.connection import check
    from lineage_merge.questions.backends.gremlin import open_gremlin

    file = graph_file or default_graph_file()
    # Holding the server prevents its end. None: it is ending, and writes its file.
    hold = None
    with suppress(PermissionError):  # another user's folder: the file can be read
        hold = file_lock.use(file) if file.parent.is_dir() else None
    try:
        url = file_lock.served_at(file) if hold else None
        target = endpoint(gremlin, url) if url else None
        try:
            if target:
                check(target)
        except GraphUnreachable:
            target = None  # the address is that of a killed server
        if target:
            with open_gremlin(target) as graph:
                yield graph
            return
    finally:
        if hold:
            hold.release()
    on_progress(f"reading {file}")
    yield read_graph_file(file)


def read_graph_file(file: Path) -> InMemory:
    """Return the graph of a GraphSON 3 file with one vertex per line; empty if the file is missing.

    Raises `EmbeddedError` if it is invalid.
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
                        f"cannot read graph file {file}: line {number} is not a GraphSON vertex"
                    ) from None
    except FileNotFoundError:
        return InMemory((), ())
    except OSError as error:
        raise EmbeddedError(f"cannot read graph file {file}: {error.strerror}") from None
    return InMemory(vertices, edges)


def _untyped(value: dict[str, Any]) -> Any:
    """Convert ``{"@type": "g:Int64", "@value": 7}`` to 7; ids and texts are untyped."""
    return value["@value"] if value.keys() == {"@type", "@value"} else value


def _vertex(row: dict[str, Any]) -> Vertex:
    values = {key: [each["value"] for each in found] for key, found in row.get("properties", {}).items()}
    return Vertex(row["id"], row["label"], vertex_properties(values))


def _edges(row: dict[str, Any]) -> Iterator[Edge]:
    for label, edges in row.get("outE", {}).items():
        for edge in edges:
            yield Edge(
                edge["id"], label, row["id"], edge["inV"], normalize_properties(edge.get("properties", {}))
            )
