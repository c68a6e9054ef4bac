"""Export as files for Neptune's bulk loader: a folder with `vertices/` and `edges/`.

It contains the complete graph, including operations and merge runs: a copy for another cluster. Only the
digests of the last load are left out: the next load compares everything and writes them again. The format is
AWS's "Gremlin load data format", see `graph_format.neptune_csv`. Vertices must be loaded first.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from lineage_merge.exporters.exporter import OUT, Export, Exporter, ExportResult
from lineage_merge.graph_format.elements import ALL_VERTEX_LABELS, Edge, Vertex
from lineage_merge.graph_format.neptune_csv import (
    EDGE_FIELDS,
    EDGES,
    VERTEX_FIELDS,
    VERTICES,
    Kind,
    WrittenFiles,
    edge_line,
    vertex_lines,
    write_parts,
)
from lineage_merge.graph_format.schema import EDGE_LABELS
from lineage_merge.infra.storage import delete_folder
from lineage_merge.model.errors import ConfigError

_DIGESTS = "merge_state"
_LABELS = (
    *(label for label in ALL_VERTEX_LABELS if label != _DIGESTS),
    *(label.name for label in EDGE_LABELS),
)


def send(export: Export) -> ExportResult:
    """Write the folder, replacing its `vertices/` and `edges/`."""
    if export.out is None:
        raise ConfigError("exporters.neptune-csv.out", "is missing: must be a folder")
    folder = export.out.rstrip("/")
    written = {VERTICES: WrittenFiles(), EDGES: WrittenFiles()}
    for kind in written:
        delete_folder(f"{folder}/{kind}")
    # Vertices come before edges, so each kind is one group, which is streamed.
    for kind, elements in groupby(export.everything(_LABELS), _kind):
        written[kind] = write_parts(f"{folder}/{kind}", kind, map(_lines, elements), "part-00000")
    counts: dict[str, int] = {kind: parts.elements for kind, parts in written.items()}
    return ExportResult(folder, counts | {"files": sum(parts.files for parts in written.values())})


def _kind(element: Vertex | Edge) -> Kind:
    return VERTICES if isinstance(element, Vertex) else EDGES


def _lines(element: Vertex | Edge) -> Iterable[str]:
    if isinstance(element, Vertex):
        return vertex_lines(_row(element))
    keys = {"id": element.id, "label": element.label, "from": element.from_id, "to": element.to_id}
    properties = {**element.properties, **keys}
    return [edge_line([properties.get(name) for name in EDGE_FIELDS])]


def _row(vertex: Vertex) -> list[Any]:
    properties: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in vertex.properties.items()
    }
    properties |= {"id": vertex.id, "label": vertex.label, "environment": vertex.environment}
    return [properties.get(name) for name in VERTEX_FIELDS]


EXPORTER = Exporter(
    "neptune-csv",
    "a folder of gzipped CSV for Neptune's bulk loader",
    {"out": {**OUT, "description": "folder for vertices/ and edges/, local or s3://"}},
    send,
    writes_stdout=False,
)
