"""Preflight check and input size: both without Spark and without reading the logs."""

from lineage_merge.sources import line_files
from lineage_merge.sources.hive.settings import Hive


def preflight(hive: Hive) -> None:
    """Check that the logs exist, with one listing. Raises `SourceError`."""
    line_files.find(hive.log)


def size(hive: Hive) -> int | None:
    """Return the stored bytes of the logs, None with a Kafka topic. Raises `SourceError`."""
    return None if hive.kafka else line_files.stored_bytes(line_files.find(hive.log))
