"""How large Hive's logs are, without reading them."""

from lineage_merge.sources import line_files
from lineage_merge.sources.hive.settings import Hive


def size(hive: Hive) -> int | None:
    """The bytes of the logs as they are stored, None with a Kafka topic. Raises `SourceError`."""
    return None if hive.kafka else line_files.stored_bytes(line_files.find(hive.log))
