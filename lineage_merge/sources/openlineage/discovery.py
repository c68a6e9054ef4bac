"""How `init` finds OpenLineage events."""

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources.discovery import SourceDiscovery, files_option


class OpenLineageDiscovery(SourceDiscovery):
    """Files of lines with events."""

    options = (files_option("--openlineage", "events", "OpenLineage events"),)
    line_key = "events"
    # A JSON line that is no event is skipped.
    rejects = ("rejected", "skipped")

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the beginning of a file contains events. Raises `SourceError`."""
        from lineage_merge.sources.openlineage import files

        return files.has_events(file)
