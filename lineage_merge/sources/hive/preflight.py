"""Preflight check, input size, and recognition of logs: without Spark, and without reading whole logs."""

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources import line_files
from lineage_merge.sources.hive.log import Found, documents
from lineage_merge.sources.hive.settings import Hive


def preflight(hive: Hive) -> None:
    """Check that the logs exist, with one listing. Raises `SourceError`."""
    line_files.find(hive.log)


def size(hive: Hive) -> int | None:
    """Return the stored bytes of the logs, None with a Kafka topic. Raises `SourceError`."""
    return None if hive.kafka else line_files.stored_bytes(line_files.find(hive.log))


def has_lineage(file: StoredFile) -> bool:
    """Return whether the first lines of a file contain lineage. Raises `SourceError`."""
    lineage = (
        document for document in documents(line_files.first_lines(file)) if isinstance(document, Found)
    )
    # Other documents have edges, too.
    return any(document.document.keys() >= {"edges", "vertices"} for document in lineage)
