"""How much Spline has recorded, without reading it."""

from lineage_merge.sources import line_files
from lineage_merge.sources.spline import arango, export
from lineage_merge.sources.spline.settings import Arango, Spline

# The average size of a document as the server answers with it, in captured databases of Spline 1.0; one of
# 0.7 is 40 bytes smaller.
BYTES_A_DOCUMENT = {
    "executionPlan": 1000,
    "operation": 450,
    "attribute": 350,
    "expression": 480,
    "uses": 350,
    "progress": 800,
}
_BYTES_OF_OTHERS = 330


def size(spline: Spline) -> int | None:
    """The bytes of the files as they are stored, of a database about those of its documents.

    None with a Kafka topic. Raises `SourceError` or `ConfigError`.
    """
    if spline.arango:
        return _of_database(spline.arango)
    if spline.kafka:
        return None
    if spline.agent:
        return line_files.stored_bytes(line_files.find(spline.agent))
    return line_files.stored_bytes(part.slice for part in export.find(spline.export))


def _of_database(settings: Arango) -> int:
    server = arango.log_in(settings)
    counts = arango.document_counts(server, arango.overview(server).collections)
    return sum(
        number * BYTES_A_DOCUMENT.get(collection, _BYTES_OF_OTHERS) for collection, number in counts.items()
    )
