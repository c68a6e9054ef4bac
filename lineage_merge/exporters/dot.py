"""Export as a Graphviz digraph."""

from lineage_merge.exporters.drawing import SETTINGS, draw
from lineage_merge.exporters.exporter import Export, Exporter, ExportResult
from lineage_merge.questions.formats.dot import dot


def send(export: Export) -> ExportResult:
    """Export datasets and `feeds` edges; columns and jobs if set."""
    return draw(export, dot)


EXPORTER = Exporter("dot", "a digraph for Graphviz", SETTINGS, send)
