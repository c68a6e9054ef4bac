"""How `init` finds QuickSight's definitions: JSON files of dashboards, with the data sets beside them."""

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

_JSON = (".json", ".json.gz")
_DASHBOARD = re.compile(rb'"(?:DashboardId|DataSetIdentifierDeclarations|dataSetIdentifierDeclarations)"\s*:')
_ASSET = re.compile(
    rb'"(?:DashboardId|DataSetId|DataSourceId|DataSetIdentifierDeclarations|resourceType)"\s*:'
)


class QuickSightDiscovery(SourceDiscovery):
    """Dashboards are found by their keys; the folder of one has what belongs to it."""

    options = (
        InitOption(
            "--quicksight",
            "definitions",
            "folder of QuickSight's definitions, or an asset bundle",
            "QuickSight definitions",
            is_repeatable=True,
        ),
    )
    is_list = True
    how_to_create = "export the definitions (docs/quicksight.md)"

    def own_files(self, files: Iterable[StoredFile]) -> Iterable[str]:
        """Return the files of assets, which no other source reads."""
        return [file.location for file in files if begins_with(file, _JSON, _ASSET)]

    def search(self, files: Sequence[StoredFile], _rest: Sequence[StoredFile]) -> Discovered:
        """Return the folders with dashboards."""
        found = outermost(folder_of(file.location) for file in files if begins_with(file, _JSON, _DASHBOARD))
        return Discovered(SourceInput("definitions", found) if found else None)
