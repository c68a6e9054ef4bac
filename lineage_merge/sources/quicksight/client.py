"""Definitions through QuickSight's API. The default AWS chain supplies credentials and the endpoint."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from lineage_merge.infra import input_budget
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing
from lineage_merge.sources.aws_calls import client_of
from lineage_merge.sources.document_files import Text
from lineage_merge.sources.quicksight.documents import AssetKind
from lineage_merge.sources.quicksight.settings import QuickSight
from lineage_merge.sources.settings import matches_globs


class _Calls(NamedTuple):
    """The calls of a kind of asset: the list with its key and that of ids, and what describes one."""

    list: str
    key: str
    id: str
    describe: str
    permissions: str = ""


_CALLS: Mapping[AssetKind, _Calls] = {
    "data_source": _Calls("list_data_sources", "DataSources", "DataSourceId", "describe_data_source"),
    "data_set": _Calls("list_data_sets", "DataSetSummaries", "DataSetId", "describe_data_set"),
    "dashboard": _Calls(
        "list_dashboards",
        "DashboardSummaryList",
        "DashboardId",
        "describe_dashboard_definition",
        "describe_dashboard_permissions",
    ),
    "analysis": _Calls(
        "list_analyses",
        "AnalysisSummaryList",
        "AnalysisId",
        "describe_analysis_definition",
        "describe_analysis_permissions",
    ),
}
# Data sets of uploaded files, which the API does not describe.
_NOT_SUPPORTED = "InvalidParameterValueException"


class ListedAsset(NamedTuple):
    """An asset that a list names. `summary`: its entry there, as text."""

    kind: AssetKind
    id: str
    name: str
    summary: str

    def __str__(self) -> str:
        """Return ``dashboard sales (Sales by region)``, for messages."""
        return f"{self.kind.replace('_', ' ')} {self.id} ({self.name})"


@contextmanager
def open_client(settings: QuickSight) -> Iterator[tuple[Any, str]]:
    """Open a client; yield it with the account. Raises `SourceError`."""
    with client_of("quicksight", settings.region, str(settings)) as client:
        yield client, settings.account or _account_of_credentials(settings)


def _account_of_credentials(settings: QuickSight) -> str:
    with client_of("sts", settings.region, f"account of {settings}") as client:
        return str(client.get_caller_identity()["Account"])


def list_assets(settings: QuickSight) -> list[ListedAsset]:
    """Return the assets of an account: those selected, and all data sets and data sources.

    Raises `SourceError`.
    """
    kinds: list[AssetKind] = ["data_source", "data_set", "dashboard"]
    with open_client(settings) as (client, account):
        found = [
            asset
            for kind in [*kinds, "analysis"]
            if kind != "analysis" or settings.analyses
            for asset in _list(client, account, kind)
        ]
    always = ("data_set", "data_source")
    return [
        asset
        for asset in found
        if asset.kind in always or matches_globs(settings.dashboards, asset.id, asset.name)
    ]


def _list(client: Any, account: str, kind: AssetKind) -> Iterator[ListedAsset]:
    calls = _CALLS[kind]
    for page in client.get_paginator(calls.list).paginate(AwsAccountId=account):
        for entry in page.get(calls.key, ()):
            if entry.get("Status") != "DELETED":  # an analysis in its recovery time
                summary = json.dumps({calls.key: [entry]}, default=_as_text)
                yield ListedAsset(kind, str(entry[calls.id]), str(entry.get("Name") or ""), summary)


def describe(settings: QuickSight, asset: ListedAsset) -> Iterator[Text | Problem]:
    """Yield the documents of an asset, or why it cannot be read; it is skipped then."""
    calls = _CALLS[asset.kind]
    location = f"{settings}: {asset}"
    try:
        with open_client(settings) as (client, account):
            named = {"AwsAccountId": account, calls.id: asset.id}
            described = getattr(client, calls.describe)(**named)
    except SourceDenied as error:
        yield Problem("rejected", location, "", f"no permission to describe it: {error.message}")
        return
    except SourceMissing:
        return  # deleted since the list was made
    except SourceError as error:
        is_upload = _NOT_SUPPORTED in error.message
        yield Problem("skipped" if is_upload else "rejected", location, "", error.message)
        return
    described.pop("ResponseMetadata", None)
    text = json.dumps(described, default=_as_text)
    input_budget.count(len(text))
    yield Text(location, text)
    yield Text(location, asset.summary)
    if calls.permissions:
        try:
            with open_client(settings) as (client, account):
                granted = getattr(client, calls.permissions)(**named)
        except SourceError as error:
            yield Problem("notice", location, "owners", f"its owners are unknown: {error.message}")
            return
        granted.pop("ResponseMetadata", None)
        yield Text(location, json.dumps(granted, default=_as_text))


def _as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
