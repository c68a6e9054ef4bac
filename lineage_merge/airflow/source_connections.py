"""Sources that need an Airflow connection for their address. Imports no Airflow."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source

Need = Literal["required", "optional", "none"]


def need(
    source: Source, settings: Mapping[str, Any], *, named: bool, has_upstream_jobs: Callable[[], bool]
) -> Need:
    """Return whether `source` needs its connection under these settings (as in a configuration file).

    `named`: the task group names the connection. `has_upstream_jobs`: whether Spark jobs run before the
    merge; only called if needed. A source without a section is read by default after Spark jobs, in addition
    to dbt or SQL, if the connection exists and no other source reports runs.
    """
    if not source.connection:
        return "none"
    if named:
        return "required"
    section = settings.get(source.key)
    if section:
        located = isinstance(section, Mapping) and not section.keys().isdisjoint(source.location_keys)
        return "none" if located else "required"
    others = [each for each in SOURCES if each != source and not each.is_catalog and settings.get(each.key)]
    if not others:
        return "required"
    if any(each.retire_after for each in others) or not has_upstream_jobs():
        return "none"
    return "optional"
