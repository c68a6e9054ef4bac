"""How `init` finds Superset's exports: zips with dashboards, and folders of unpacked ones."""

import re
from collections.abc import Iterable, Sequence

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources.discovery import (
    Discovered,
    InitOption,
    SourceDiscovery,
    SourceInput,
    begins_with,
    folder_of,
    outermost,
)

_YAML, _ZIP = (".yaml", ".yml"), (".zip",)
_DASHBOARD = re.compile(rb"^dashboard_title:", re.MULTILINE)
_ASSET = re.compile(rb"^(?:dashboard_title|slice_name|sqlalchemy_uri|table_name|type): ", re.MULTILINE)
_UUID = re.compile(rb"^(?:uuid|version|timestamp): ", re.MULTILINE)
# The first names in a zip of an export.
_NAMES = re.compile(rb"dashboard_export_\d+T\d+/")


class SupersetDiscovery(SourceDiscovery):
    """Dashboards are found by their keys, zips by the names in them."""

    options = (
        InitOption(
            "--superset",
            "export",
            "export of dashboards of Superset: a zip or a folder",
            "Superset export",
            is_repeatable=True,
        ),
    )
    is_list = True
    how_to_create = "export the dashboards (docs/superset.md)"

    def own_files(self, files: Iterable[StoredFile]) -> Iterable[str]:
        """Return the files of exports, which no other source reads."""
        return [
            file.location
            for file in files
            if begins_with(file, _ZIP, _NAMES) or begins_with(file, _YAML, _ASSET, _UUID)
        ]

    def search(self, files: Sequence[StoredFile], _rest: Sequence[StoredFile]) -> Discovered:
        """Return the zips, and the folders of unpacked exports."""
        roots = (
            re.sub(r"/dashboards$", "", folder_of(file.location).rstrip("/"))
            for file in files
            if begins_with(file, _YAML, _DASHBOARD)
        )
        zips = (file.location for file in files if begins_with(file, _ZIP, _NAMES))
        found = (*outermost(roots), *zips)
        return Discovered(SourceInput("export", found) if found else None)
