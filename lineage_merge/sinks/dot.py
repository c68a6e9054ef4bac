"""The lineage in Graphviz' language."""

from lineage_merge.query.formats.dot import dot
from lineage_merge.sinks.drawing import SETTINGS, draw
from lineage_merge.sinks.sink import Export, Sent, Sink


def send(export: Export) -> Sent:
    """Datasets and what feeds what; columns and jobs if the settings say so."""
    return draw(export, dot)


SINK = Sink("dot", "a digraph for Graphviz", SETTINGS, send)
