"""Documents of QuickSight: which asset one describes, and its form. Pure.

Documents are responses of the API, or members of an asset bundle: the same keys in lower camel case.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Literal, NamedTuple

from lineage_merge.infra.document_decoder import DocumentDecoder, loads
from lineage_merge.infra.json_schema import SchemaError, load_schema
from lineage_merge.model.elements import Problem
from lineage_merge.model.times import epoch_ms
from lineage_merge.naming import redact
from lineage_merge.sources.json_values import as_list, as_mapping, as_text

AssetKind = Literal["dashboard", "analysis", "data_set", "data_source", "facts"]

# Objects whose keys are ids.
_MAPS = ("Map", "FieldFolders")
_IDS: Mapping[AssetKind, str] = {"dashboard": "DashboardId", "analysis": "AnalysisId"}
_LATEST_SECOND = 100_000_000_000
# Actions of a principal that may change an asset.
_OWNING = ("quicksight:UpdateDashboard", "quicksight:UpdateAnalysis")
_SCHEMAS: Mapping[AssetKind, str] = {
    "dashboard": "definition",
    "analysis": "definition",
    "data_set": "data_set",
    "data_source": "data_source",
}


class Asset(NamedTuple):
    """An asset that a document describes, or `facts` about dashboards."""

    kind: AssetKind
    body: Mapping[str, Any]


class DashboardFacts(NamedTuple):
    """What other calls than that of the definition know of a dashboard. `published_at`: ms since 1970."""

    id: str
    published_at: int = 0
    description: str = ""
    owners: tuple[str, ...] = ()


def read_document(text: str, location: str) -> Asset | Problem:
    """Return the asset of a document, or why there is none."""
    try:
        parsed = loads(text)
    except (ValueError, RecursionError):
        return Problem("rejected", location, "", "not valid JSON")
    asset = _recognize(_with_api_keys(parsed) if isinstance(parsed, dict) else parsed)
    if asset is None:
        return Problem("skipped", location, "", "not a definition of QuickSight")
    if asset.kind == "facts":
        return asset
    fields = _decoder(_SCHEMAS[asset.kind]).read(asset.body)
    if isinstance(fields, SchemaError):
        return Problem("rejected", location, fields.path, fields.problem)
    return Asset(asset.kind, fields)


def is_definition(document: Any) -> bool:
    """Return whether a JSON document describes a dashboard, an analysis, a data set or a data source."""
    asset = _recognize(_with_api_keys(document)) if isinstance(document, dict) else None
    return asset is not None and asset.kind != "facts"


def _recognize(document: Any) -> Asset | None:
    written = as_mapping(document)
    for kind, key in _IDS.items():
        if key in written and "Definition" in written:
            return Asset(kind, written)
    for kind, key, wrapper in _DESCRIBED:
        body = as_mapping(written.get(wrapper)) or written
        if key in body and (body is not written or not written.keys().isdisjoint(_TABLES)):
            return Asset(kind, body)
    if not written.keys().isdisjoint(_FACTS):
        return Asset("facts", written)
    return None


_DESCRIBED: tuple[tuple[AssetKind, str, str], ...] = (
    ("data_set", "DataSetId", "DataSet"),
    ("data_source", "DataSourceId", "DataSource"),
)
# What tells the member of a bundle from other objects with an id.
_TABLES = frozenset(
    {"PhysicalTableMap", "LogicalTableMap", "DataPrepConfiguration", "DataSourceParameters", "ResourceType"}
)
# Of ListDashboards, DescribeDashboard, DescribeDashboardPermissions and the lists of other assets.
_FACTS = frozenset(
    """
    DashboardSummaryList Dashboard Permissions AnalysisSummaryList Analysis DataSetSummaries DataSources
    """.split()
)


@cache
def _decoder(name: str) -> DocumentDecoder:
    schema = load_schema(__package__, "quicksight.schema.json")
    return DocumentDecoder({"$defs": schema["$defs"], **schema["$defs"][name]})


def _with_api_keys(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the keys of the API, which begin with a capital; ids as keys stay."""
    if "resourceType" not in document:
        return document
    root: dict[str, Any] = {}
    waiting: list[tuple[Any, Any, bool]] = [(document, root, False)]
    while waiting:
        source, target, has_ids = waiting.pop()
        entries = source.items() if isinstance(source, dict) else enumerate(source)
        for key, value in entries:
            name = key if has_ids or isinstance(key, int) else key[:1].upper() + key[1:]
            copy: Any = {} if isinstance(value, dict) else [] if isinstance(value, list) else value
            if isinstance(target, list):
                target.append(copy)
            else:
                target[name] = copy
            if isinstance(value, dict | list):
                waiting.append((value, copy, isinstance(name, str) and name.endswith(_MAPS)))
    return root


def read_facts(body: Mapping[str, Any]) -> Iterator[DashboardFacts]:
    """Yield what a list of dashboards, a dashboard's description or its permissions say."""
    described = [*as_list(body.get("DashboardSummaryList")), body.get("Dashboard"), body.get("Analysis")]
    for dashboard in map(as_mapping, described):
        identifier = as_text(dashboard.get("DashboardId") or dashboard.get("AnalysisId"))
        if identifier:
            published = parse_time(dashboard.get("LastPublishedTime"))
            description = as_text(as_mapping(dashboard.get("Version")).get("Description"))
            yield DashboardFacts(identifier, published, description)
    identifier = as_text(body.get("DashboardId") or body.get("AnalysisId"))
    if identifier and (permissions := as_list(body.get("Permissions"))):
        owners = (
            as_text(one.get("Principal"))
            for one in map(as_mapping, permissions)
            if not set(_OWNING).isdisjoint(map(as_text, as_list(one.get("Actions"))))
        )
        # arn:aws:quicksight:region:account:user/namespace/name
        names = {redact(owner).split("/", 2)[-1] for owner in owners if owner}
        yield DashboardFacts(identifier, owners=tuple(sorted(names)))


def parse_time(value: Any) -> int:
    """Return a time in ms since 1970, 0 for none: text, or seconds as the first version of the CLI writes."""
    if isinstance(value, int | float):
        return int(value * 1000) if 0 < value < _LATEST_SECOND else 0  # not for NaN
    try:
        return epoch_ms(datetime.fromisoformat(as_text(value)))
    except (ValueError, OverflowError):
        return 0
