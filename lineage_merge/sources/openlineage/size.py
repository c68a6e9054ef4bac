"""How large the files of events are, without reading them."""

from lineage_merge.sources import line_files
from lineage_merge.sources.openlineage import files
from lineage_merge.sources.openlineage.settings import OpenLineage


def size(settings: OpenLineage) -> int | None:
    """The bytes of the files as they are stored, None with a Kafka topic. Raises `SourceError`."""
    return None if settings.kafka else line_files.stored_bytes(files.find(settings.events))
