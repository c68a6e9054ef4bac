"""How `init` finds files of the listener."""

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources.discovery import SourceDiscovery, files_option


class CaptureDiscovery(SourceDiscovery):
    """Files whose first message is one of the listener."""

    options = (files_option("--capture", "files", "files of capture.install"),)
    line_key = "files"
    job_word = "application"
    selected_by = "applications"

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the first message of a file is one of the listener. Raises `SourceError`."""
        from lineage_merge.sources.spline import inspection

        return inspection.first_message_is(file, of_listener=True)
