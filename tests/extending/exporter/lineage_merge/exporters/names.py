"""Export the ids of all vertices, one per line."""

from lineage_merge.exporters.exporter import OUT, Export, Exporter, ExportResult, write_lines
from lineage_merge.graph_format.elements import Vertex


def send(export: Export) -> ExportResult:
    """Write sorted ids."""
    ids = sorted(each.id for each in export.everything() if isinstance(each, Vertex))
    write_lines(export.out, ids)
    return ExportResult(export.out or "", {"vertices": len(ids)})


EXPORTER = Exporter("names", "ids of all vertices", {"out": OUT}, send)
