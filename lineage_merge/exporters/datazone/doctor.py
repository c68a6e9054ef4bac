"""Checks of a domain: what is read before an export. Posting is not tried: events cannot be taken back."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from lineage_merge.exporters.datazone.client import open_domain
from lineage_merge.model.counts import format_count
from lineage_merge.model.errors import ConfigError, ExportDenied, ExportError, LineageMergeError
from lineage_merge.sources.diagnosis import Diagnosis, ok, report_failure, warning

DATAZONE = "DataZone"
_SHOWN_JOBS = 3
# Failures before are likely to be corrected.
_DAYS = 7


def examine(settings: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Yield the diagnoses of a domain; none without one."""
    if "domain" not in settings:
        return
    name = settings["domain"]
    try:
        with open_domain(name, settings.get("region")) as domain:
            if jobs := domain.list_failed_jobs(datetime.now(UTC) - timedelta(days=_DAYS)):
                shown = ", ".join(sorted(set(jobs))[:_SHOWN_JOBS])
                events = format_count(len(jobs), "event")
                problem = f"{name}: {events} of the last {_DAYS} days could not be processed: {shown}"
                yield warning(
                    DATAZONE, problem, f"aws datazone list-lineage-events --domain-identifier {name}"
                )
            else:
                yield ok(DATAZONE, f"{name}: events are readable, none failed lately; posting is not tried")
            if settings.get("assets", True):
                if next(domain.tables(), None):
                    yield ok(DATAZONE, f"{name}: assets are readable")
                else:
                    problem = f"{name}: no asset of Glue or Redshift is visible"
                    fix = "make the role a member of the projects with the assets, or run their data sources"
                    yield warning(DATAZONE, problem, fix)
    except (ConfigError, ExportError) as error:
        yield report_failure(DATAZONE, error, _fix_for(error))


def _fix_for(error: LineageMergeError) -> str:
    match error:
        case ConfigError():
            return "set exporters.datazone.region"
        case ExportDenied():
            return "attach deploy/iam/datazone_export.json to the role"
    return "correct exporters.datazone.domain and region, and check the network"
