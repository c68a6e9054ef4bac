"""The configuration of every source and exporter that is registered."""

from collections.abc import Mapping
from typing import Any

from lineage_merge.config import ConfigReader
from lineage_merge.sources.registry import SOURCES


def _check_exporters(settings: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    # Exporters are only imported if some are configured.
    from lineage_merge.exporters import registry

    return registry.validate_settings(settings)


CONFIGURATION = ConfigReader(SOURCES, _check_exporters)
