"""Export as one GraphML file, streamed."""

from collections import Counter
from collections.abc import Iterator

from lineage_merge.exporters.exporter import OUT, Export, Exporter, ExportResult
from lineage_merge.exporters.output import write_lines
from lineage_merge.graph_format.elements import LABELS_WITH_TESTS, Edge, Vertex


def send(export: Export) -> ExportResult:
    """Export datasets, columns, jobs, assertions and their edges, with all properties."""
    from lineage_merge.questions.formats.graphml import streamed

    counts = Counter(vertices=0, edges=0)

    def counted() -> Iterator[Vertex | Edge]:
        for each in export.everything(LABELS_WITH_TESTS):
            counts["vertices" if isinstance(each, Vertex) else "edges"] += 1
            yield each

    write_lines(export.out, streamed(counted()))
    return ExportResult(export.out or "", dict(counts))


EXPORTER = Exporter("graphml", "a GraphML file for Gephi, yEd, Cytoscape, NetworkX", {"out": OUT}, send)
