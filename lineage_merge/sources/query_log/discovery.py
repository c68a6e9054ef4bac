"""How `init` finds exports of Redshift's system views."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources.discovery import Discovered, SourceDiscovery, SourceInput
from lineage_merge.sources.query_log.archive_layout import is_marker
from lineage_merge.sources.query_log.redshift_views import HISTORY, VIEWS

_FORMAT = {"format": "redshift"}


class QueryLogDiscovery(SourceDiscovery):
    """An export is a folder with a folder per view; its tables need the namespace of the warehouse."""

    def named(self, given: Mapping[str, Any]) -> SourceInput | None:
        """Return the named folders."""
        source_input = super().named(given)
        return source_input and source_input._replace(settings=_FORMAT)

    def own_files(self, files: Iterable[StoredFile]) -> Iterable[str]:
        """Return the files of views, and the markers of an archive."""
        return [file.location for file in files if _root(file.location) or is_marker(file)]

    def search(self, files: Sequence[StoredFile], rest: Sequence[StoredFile]) -> Discovered:
        """Return the folders above those of the views."""
        roots = {
            root
            for file in files
            if (root := _root(file.location)) and f"/{HISTORY}/" in file.location.lower()
        }
        return Discovered(SourceInput("path", tuple(sorted(roots)), _FORMAT) if roots else None)

    def settings(
        self, source_input: SourceInput, folder: Path | None, namespaces: Mapping[str, str] = {}
    ) -> Any:
        """Return an entry per folder, with the namespace of a project on Redshift, or the given one."""
        namespace = namespaces.get("redshift") or namespaces.get("", "") or "redshift://cluster.region:5439"
        entries = super().settings(source_input, folder)
        return [{**entry, "namespace": namespace} for entry in entries]


def _root(location: str) -> str:
    """Return the folder that contains the folder of a view, "" if the file is in none."""
    parts = location.split("/")
    for at in range(len(parts) - 2, 0, -1):
        if parts[at].lower() in VIEWS:
            return "/".join(parts[:at])
    return ""
