"""What the sinks that draw have in common: the datasets and what feeds what, as one picture."""

from collections.abc import Callable
from typing import Any

from lineage_merge.exporters.exporter import OUT, Export, Schema, Sent
from lineage_merge.exporters.output import text_to
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.query.elements import COLUMN, JOB, Edge, Subgraph, Vertex, subgraph

SETTINGS: dict[str, Schema] = {
    "out": OUT,
    "columns": {"description": "draw columns and what feeds them too", "type": "boolean"},
    "jobs": {"description": "draw jobs and what they write too", "type": "boolean"},
}


def draw(export: Export, text_of: Callable[[Subgraph], str]) -> Sent:
    """Write the picture. It is made in memory: nobody draws what does not fit there."""
    picture = _picture(export)
    with text_to(export.out) as write:
        write(text_of(picture))
    return Sent(export.out or "", {"vertices": len(picture.vertices), "edges": len(picture.edges)})


def _picture(export: Export) -> Subgraph:
    labels: list[str] = [*DATASET_LABELS, "feeds"]
    if export.settings.get("columns"):
        labels += [COLUMN, "has_column", "feeds_column", "influences"]
    if export.settings.get("jobs"):
        labels += [JOB, "writes"]
    elements: list[Any] = list(export.everything(tuple(labels)))
    return subgraph(
        (each for each in elements if isinstance(each, Vertex)),
        (each for each in elements if isinstance(each, Edge)),
    )
