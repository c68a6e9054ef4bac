"""Settings and graph selection of the exporters that draw one picture."""

from collections.abc import Callable
from typing import Any

from lineage_merge.exporters.exporter import OUT, Export, ExportResult, Schema
from lineage_merge.exporters.output import open_text
from lineage_merge.graph_format.elements import COLUMN, JOB, Edge, Subgraph, Vertex, subgraph
from lineage_merge.graph_format.schema import DATASET_LABELS

SETTINGS: dict[str, Schema] = {
    "out": OUT,
    "columns": {"description": "draw columns and their lineage", "type": "boolean"},
    "jobs": {"description": "draw jobs and the datasets that they write", "type": "boolean"},
}


def draw(export: Export, text_of: Callable[[Subgraph], str]) -> ExportResult:
    """Write the picture, which is built in memory."""
    picture = _picture(export)
    with open_text(export.out) as write:
        write(text_of(picture))
    return ExportResult(export.out or "", {"vertices": len(picture.vertices), "edges": len(picture.edges)})


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
