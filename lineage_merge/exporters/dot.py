"""The lineage in Graphviz' language."""

from lineage_merge.exporters.drawing import SETTINGS, draw
from lineage_merge.exporters.exporter import Export, Exporter, Sent
from lineage_merge.query.formats.dot import dot


def send(export: Export) -> Sent:
    """Datasets and what feeds what; columns and jobs if the settings say so."""
    return draw(export, dot)


EXPORTER = Exporter("dot", "a digraph for Graphviz", SETTINGS, send)
