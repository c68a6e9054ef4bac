"""The rules that join a dbt exposure with the dashboard of its URL, or else of its name."""

import re
from collections.abc import Collection, Mapping
from functools import partial

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import DBT_NAMESPACE, Dataset, Feeds, Scalar, decode
from lineage_merge.model.graph_walks import reachable
from lineage_merge.model.records import ElementRecord, Record
from lineage_merge.naming.jobs import DBT

# Names of the rules on vertices and in reports.
DASHBOARD_URL_RULE = "dashboard-url"
DASHBOARD_NAME_RULE = "dashboard-name"
# The sheet of a dashboard, and the account of QuickSight, may be a part of its address.
_DASHBOARD = re.compile(
    r"^(?P<start>.*?)(?:/account/[^/]+)?(?P<end>/(?:dashboards?|analyses)/[^/]+)(?:/.*)?$"
)

_SEPARATORS = re.compile(r"[\W_]+")


def find_url(record: Record) -> str:
    """Return the address of an exposure, in a form in which equal ones are equal; "" without one."""
    if not isinstance(record, Dataset) or record.label != "exposure":
        return ""
    address = str(record.properties.get("url") or "").partition("://")[2]
    host, slash, path = re.split(r"[?#]", address, maxsplit=1)[0].rstrip("/").partition("/")
    match = _DASHBOARD.match(slash + path)
    return host.lower() + (f"{match['start']}{match['end']}" if match else slash + path)


def find_name(record: Record) -> str:
    """Return the name of an exposure with its type, without case and separators; "" without one."""
    if not isinstance(record, Dataset) or record.label != "exposure":
        return ""
    name = str(record.properties.get("name") or record.ref.rpartition("|")[2])
    return f"{record.properties.get('exposure_type', '')} {_SEPARATORS.sub('', name).casefold()}"


def pair_exposures(exposures: Collection[str]) -> list[tuple[str, str]]:
    """Return each dbt exposure of one address with the only dashboard of that address, as ids."""
    declared = sorted(identifier for identifier in exposures if is_declared(identifier))
    dashboards = [identifier for identifier in exposures if identifier not in declared]
    return [(identifier, dashboards[0]) for identifier in declared] if len(dashboards) == 1 else []


def pair_by_name(exposures: Mapping[str, Mapping[str, Scalar]]) -> list[tuple[str, str]]:
    """Return the only dbt exposure of a name, if it has no URL, with the only dashboard of the name, as ids.

    `exposures`: those of one name with their properties.
    """
    pairs = pair_exposures(exposures)
    return [pair for pair in pairs if len(pairs) == 1 and not exposures[pair[0]].get("url")]


def name_exposure(identifier: str, rule: str) -> str:
    """Return what a vertex says about the exposure that a rule joined with it."""
    _, namespace, name = map(decode, identifier.split("|"))
    return f"{namespace}|{name} ({rule})"


def drop_declared_feeds(records: Rows[ElementRecord], dashboards: Collection[str]) -> Rows[ElementRecord]:
    """Return the records without what dbt declares of dashboards, as far as their tools know it better.

    A model that an exposure depends on reaches the dashboard through its data sets then, column by column.
    """
    own = records.filter(partial(_is_own_feed, frozenset(dashboards))).cache()
    tools = frozenset(feed.job.job_type for feed in own.collect() if isinstance(feed, Feeds))
    above: dict[str, set[str]] = {}
    for feed in records.filter(partial(_is_feed_of, tools)).collect():
        if isinstance(feed, Feeds):
            above.setdefault(feed.target, set()).add(feed.source)
    known = frozenset(
        (source, dashboard) for dashboard in dashboards for source in reachable([dashboard], above)
    )
    return records.filter(partial(_is_not_declared, known))


def _is_own_feed(dashboards: Collection[str], record: ElementRecord) -> bool:
    return isinstance(record, Feeds) and record.target in dashboards and record.job.job_type != DBT


def _is_feed_of(job_types: Collection[str], record: ElementRecord) -> bool:
    return isinstance(record, Feeds) and record.job.job_type in job_types


def _is_not_declared(known: Collection[tuple[str, str]], record: ElementRecord) -> bool:
    is_declared = isinstance(record, Feeds) and record.job.job_type == DBT
    return not (is_declared and (record.source, record.target) in known)  # type: ignore[union-attr]


def is_declared(identifier: str) -> bool:
    """Return whether dbt, and not the tool itself, describes an exposure."""
    return decode(identifier.split("|")[1]).startswith(DBT_NAMESPACE)
