"""Export as a Mermaid flowchart."""

from lineage_merge.exporters.drawing import SETTINGS, draw
from lineage_merge.exporters.exporter import Export, Exporter, ExportResult
from lineage_merge.questions.formats.mermaid import mermaid


def send(export: Export) -> ExportResult:
    """Export datasets and `feeds` edges; columns and jobs if set."""
    return draw(export, mermaid)


EXPORTER = Exporter("mermaid", "a Mermaid flowchart, for Markdown", SETTINGS, send)
