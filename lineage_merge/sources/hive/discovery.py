"""How `init` finds logs with Hive's lineage."""

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources.discovery import SourceDiscovery, files_option


class HiveDiscovery(SourceDiscovery):
    """Logs with lineage."""

    options = (files_option("--hive", "log", "logs with Hive's lineage"),)
    line_key = "log"

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the first lines of a file contain lineage. Raises `SourceError`."""
        from lineage_merge.sources import line_files
        from lineage_merge.sources.hive.log import Found, documents

        lineage = (
            document for document in documents(line_files.first_lines(file)) if isinstance(document, Found)
        )
        # Other documents have edges, too.
        return any(document.document.keys() >= {"edges", "vertices"} for document in lineage)
