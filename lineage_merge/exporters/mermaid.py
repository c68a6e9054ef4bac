"""The lineage as a Mermaid flowchart."""

from lineage_merge.exporters.drawing import SETTINGS, draw
from lineage_merge.exporters.exporter import Export, Exporter, Sent
from lineage_merge.query.formats.mermaid import mermaid


def send(export: Export) -> Sent:
    """Datasets and what feeds what; columns and jobs if the settings say so."""
    return draw(export, mermaid)


EXPORTER = Exporter("mermaid", "a Mermaid flowchart, for Markdown", SETTINGS, send)
