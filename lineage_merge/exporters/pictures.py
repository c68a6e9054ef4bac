"""Export as one picture or one file of a graph: Graphviz, Mermaid, GraphML."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from lineage_merge.exporters.exporter import (
    OUT,
    Export,
    Exporter,
    ExportResult,
    Schema,
    open_text,
    write_lines,
)
from lineage_merge.graph_format.elements import (
    COLUMN,
    JOB,
    LABELS_WITH_TESTS,
    Edge,
    Subgraph,
    Vertex,
    subgraph,
)
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.formats.diagrams import dot, mermaid

_SETTINGS: dict[str, Schema] = {
    "out": OUT,
    "columns": {"description": "draw columns and their lineage", "type": "boolean"},
    "jobs": {"description": "draw jobs and the datasets that they write", "type": "boolean"},
}


def _draw(text_of: Callable[[Subgraph], str], export: Export) -> ExportResult:
    """Write a picture of datasets and `feeds` edges, columns and jobs if set; it is built in memory."""
    labels: list[str] = [*DATASET_LABELS, "feeds"]
    if export.settings.get("columns"):
        labels += [COLUMN, "has_column", "feeds_column", "influences"]
    if export.settings.get("jobs"):
        labels += [JOB, "writes"]
    elements = list(export.everything(tuple(labels)))
    picture = subgraph(
        (element for element in elements if isinstance(element, Vertex)),
        (element for element in elements if isinstance(element, Edge)),
    )
    with open_text(export.out) as write:
        write(text_of(picture))
    return ExportResult(export.out or "", {"vertices": len(picture.vertices), "edges": len(picture.edges)})


def _stream(export: Export) -> ExportResult:
    """Export datasets, columns, jobs, assertions and their edges, with all properties."""
    from lineage_merge.questions.formats.graphml import write_elements

    counts = Counter(vertices=0, edges=0)

    def count_elements() -> Iterator[Vertex | Edge]:
        for element in export.everything(LABELS_WITH_TESTS):
            counts["vertices" if isinstance(element, Vertex) else "edges"] += 1
            yield element

    write_lines(export.out, write_elements(count_elements()))
    return ExportResult(export.out or "", dict(counts))


GRAPHML = Exporter("graphml", "a GraphML file for Gephi, yEd, Cytoscape, NetworkX", {"out": OUT}, _stream)
MERMAID = Exporter("mermaid", "a Mermaid flowchart, for Markdown", _SETTINGS, partial(_draw, mermaid))
DOT = Exporter("dot", "a digraph for Graphviz", _SETTINGS, partial(_draw, dot))
