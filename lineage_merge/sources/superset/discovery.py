"""How `init` finds Superset's exports: zips with dashboards, and folders of unpacked ones."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from lineage_merge.infra.storage import StoredFile, read_beginning
from lineage_merge.model.errors import SourceError
from lineage_merge.sources.discovery import (
    Discovered,
    InitOption,
    SourceDiscovery,
    SourceInput,
    file_name,
    folder_of,
    outermost,
)

_BYTES = 1 << 12
_DASHBOARD = re.compile(rb"^dashboard_title:", re.MULTILINE)
_ASSET = re.compile(rb"^(?:dashboard_title|slice_name|sqlalchemy_uri|table_name|type): ", re.MULTILINE)
_UUID = re.compile(rb"^(?:uuid|version|timestamp): ", re.MULTILINE)
# The first names in a zip of an export.
_ZIP = re.compile(rb"dashboard_export_\d+T\d+/")


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
        return [file.location for file in files if _is_zip(file) or _is_yaml(file, _ASSET, _UUID)]

    def search(self, files: Sequence[StoredFile], _rest: Sequence[StoredFile]) -> Discovered:
        """Return the zips, and the folders of unpacked exports."""
        roots = (
            re.sub(r"/dashboards$", "", folder_of(file.location).rstrip("/"))
            for file in files
            if _is_yaml(file, _DASHBOARD)
        )
        found = (*outermost(roots), *(file.location for file in files if _is_zip(file)))
        return Discovered(SourceInput("export", found) if found else None)


def _is_zip(file: StoredFile) -> bool:
    return file_name(file.location).lower().endswith(".zip") and _begins(file, _ZIP)


def _is_yaml(file: StoredFile, *patterns: re.Pattern[bytes]) -> bool:
    if not file_name(file.location).lower().endswith((".yaml", ".yml")):
        return False
    return all(_begins(file, pattern) for pattern in patterns)


def _begins(file: StoredFile, pattern: re.Pattern[bytes]) -> bool:
    with suppress(SourceError):
        return bool(file.size) and pattern.search(read_beginning(file.location, _BYTES)) is not None
    return False
