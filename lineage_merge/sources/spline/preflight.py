"""Preflight check, input size, and recognition of files: without Spark, and without reading all documents."""

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources import line_files
from lineage_merge.sources.spline import arango, export
from lineage_merge.sources.spline.agent.messages import Message, messages
from lineage_merge.sources.spline.settings import Arango, Spline

# Average size of a document in the server's responses, in captured databases of Spline 1.0; documents of 0.7
# are 40 bytes smaller.
BYTES_PER_DOCUMENT = {
    "executionPlan": 1000,
    "operation": 450,
    "attribute": 350,
    "expression": 480,
    "uses": 350,
    "progress": 800,
}
_BYTES_PER_OTHER_DOCUMENT = 330


def preflight(spline: Spline) -> None:
    """Check that the database and the agents' files can be reached: one request, one listing.

    Raises `SourceError` or `ConfigError`.
    """
    if spline.arango:
        arango.overview(arango.log_in(spline.arango))
    if spline.agent:
        line_files.find(spline.agent)


def size(spline: Spline) -> int | None:
    """Return the stored bytes of the files, or an estimate for the database; None with a Kafka topic.

    Raises `SourceError` or `ConfigError`.
    """
    if spline.arango:
        return _database_size(spline.arango)
    if spline.kafka:
        return None
    if spline.agent:
        return line_files.stored_bytes(line_files.find(spline.agent))
    return line_files.stored_bytes(part.slice for part in export.find(spline.export))


def _database_size(settings: Arango) -> int:
    server = arango.log_in(settings)
    counts = arango.document_counts(server, arango.overview(server).collections)
    return sum(
        number * BYTES_PER_DOCUMENT.get(collection, _BYTES_PER_OTHER_DOCUMENT)
        for collection, number in counts.items()
    )


def has_messages(file: StoredFile) -> bool:
    """Return whether the first lines of a file contain messages of an agent. Raises `SourceError`."""
    return any(isinstance(message, Message) for message in messages(line_files.first_lines(file)))
