"""How large Hive's logs are, without reading them."""

from lineage_merge.sources import lines
from lineage_merge.sources.hive.settings import Hive


def size(hive: Hive) -> int | None:
    """The bytes of the logs as they are stored, None with a Kafka topic. Raises `SourceError`."""
    return None if hive.kafka else lines.stored_bytes(lines.find(hive.log))
