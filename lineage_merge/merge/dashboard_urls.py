"""The rule that joins a dbt exposure with the dashboard of its URL. Pure."""

import re
from collections.abc import Collection

from lineage_merge.model.elements import DBT_NAMESPACE, Dataset, decode
from lineage_merge.model.records import Record

# Name of the rule on vertices and in reports.
DASHBOARD_URL_RULE = "dashboard-url"
# The sheet of a dashboard, and the account of QuickSight, may be a part of its address.
_DASHBOARD = re.compile(
    r"^(?P<start>.*?)(?:/account/[^/]+)?(?P<end>/(?:dashboards?|analyses)/[^/]+)(?:/.*)?$"
)


def find_url(record: Record) -> str:
    """Return the address of an exposure, in a form in which equal ones are equal; "" without one."""
    if not isinstance(record, Dataset) or record.label != "exposure":
        return ""
    address = str(record.properties.get("url") or "").partition("://")[2]
    host, slash, path = re.split(r"[?#]", address, maxsplit=1)[0].rstrip("/").partition("/")
    match = _DASHBOARD.match(slash + path)
    return host.lower() + (f"{match['start']}{match['end']}" if match else slash + path)


def pair_exposures(exposures: Collection[str]) -> list[tuple[str, str]]:
    """Return each dbt exposure of one address with the only dashboard of that address, as ids."""
    declared = sorted(identifier for identifier in exposures if _is_declared(identifier))
    dashboards = [identifier for identifier in exposures if identifier not in declared]
    return [(identifier, dashboards[0]) for identifier in declared] if len(dashboards) == 1 else []


def name_exposure(identifier: str) -> str:
    """Return what a vertex says about the exposure that was joined with it."""
    _, namespace, name = map(decode, identifier.split("|"))
    return f"{namespace}|{name} ({DASHBOARD_URL_RULE})"


def _is_declared(identifier: str) -> bool:
    return decode(identifier.split("|")[1]).startswith(DBT_NAMESPACE)
