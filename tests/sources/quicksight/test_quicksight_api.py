"""Definitions through QuickSight's API: pages, assets without permission, and the checks of `doctor`."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.elements import Dataset
from lineage_merge.model.errors import SourceDenied
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import aws_calls
from lineage_merge.sources.quicksight.doctor import CHECKS
from lineage_merge.sources.quicksight.reader import read_quicksight
from lineage_merge.sources.quicksight.settings import QuickSight
from tests.record_reading import problems_of, records_of
from tests.sources.quicksight.made_definitions import (
    ACCOUNT,
    WAREHOUSE,
    Document,
    arn_of,
    dashboard,
    dimension,
    edges_to,
    plain_data_set,
    sheet,
    visual,
)

BOARD = "dashboard/sales_board"
DEPLOY = Path(__file__).parents[3] / "deploy" / "iam"
OWNER = f"{ACCOUNT}:user/default/ann"
PUBLISHED = datetime(2026, 11, 1, 6, tzinfo=UTC)


class Api:
    """An account, asset by asset; `denied` ids cannot be described. Each call is checked by botocore."""

    def __init__(self) -> None:
        self.data_sources: dict[str, Document] = {"warehouse": WAREHOUSE}
        self.data_sets: dict[str, Document] = {"sales": plain_data_set("sales", "region", "amount")}
        self.dashboards: dict[str, Document] = {}
        self.errors: dict[str, str] = {}
        self.denied_calls: frozenset[str] = frozenset()
        self.calls: list[str] = []

    def client(self, service: str, **_options: Any) -> "Client":
        return Client(self, service)

    def answer(self, operation: str, parameters: Mapping[str, Any]) -> tuple[Document, str]:
        """The response to a call, or the code of its error."""
        self.calls.append(operation)
        if operation in self.denied_calls:
            return {}, "AccessDeniedException"
        match operation:
            case "get_caller_identity":
                return {"Account": "111122223333"}, ""
            case "list_analyses":
                analysis = {"AnalysisId": "draft", "Name": "Draft", "Status": "CREATION_SUCCESSFUL"}
                return {"AnalysisSummaryList": [analysis, {**analysis, "Status": "DELETED"}]}, ""
            case "list_data_sources":
                return {"DataSources": [each["DataSource"] for each in self.data_sources.values()]}, ""
            case "list_data_sets":
                return _page("DataSetSummaries", "DataSetId", list(self.data_sets), parameters)
            case "list_dashboards":
                return _page("DashboardSummaryList", "DashboardId", list(self.dashboards), parameters)
        identifier = next(
            value for key, value in parameters.items() if key.endswith("Id") and key != "AwsAccountId"
        )
        if operation != "describe_dashboard_permissions" and identifier in self.errors:
            return {}, self.errors[identifier]
        match operation:
            case "describe_data_source":
                return self.data_sources[identifier], ""
            case "describe_data_set":
                return self.data_sets[identifier], ""
            case "describe_analysis_definition":
                shown = {**next(iter(self.dashboards.values())), "AnalysisId": identifier}
                return {key: value for key, value in shown.items() if key != "DashboardId"}, ""
            case "describe_analysis_permissions":
                return {"AnalysisId": identifier, "Permissions": []}, ""
            case "describe_dashboard_permissions":
                granted = [{"Principal": OWNER, "Actions": ["quicksight:UpdateDashboard"]}]
                return {"DashboardId": identifier, "Permissions": granted}, ""
        return self.dashboards[identifier], ""


def _page(key: str, id_key: str, ids: list[str], parameters: Mapping[str, Any]) -> tuple[Document, str]:
    """A page of one asset."""
    at = int(parameters.get("NextToken", 0))
    entries: list[Document] = [{id_key: each, "Name": each.title()} for each in ids[at : at + 1]]
    if id_key == "DashboardId":
        entries = [{**each, "LastPublishedTime": PUBLISHED} for each in entries]
    more = {"NextToken": str(at + 1)} if at + 1 < len(ids) else {}
    return {key: entries, **more}, ""


_make_client: Any = boto3.client


class Client:
    """A client whose calls are answered; parameters and responses are those of the service model."""

    def __init__(self, api: Api, service: str) -> None:
        self._api = api
        self._client: Any = _make_client(
            service,
            region_name="eu-west-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )

    def close(self) -> None:
        self._client.close()

    def get_paginator(self, operation: str) -> "Paginator":
        return Paginator(self, operation)

    def __getattr__(self, operation: str) -> Any:
        def call(**parameters: Any) -> Any:
            response, code = self._api.answer(operation, parameters)
            with Stubber(self._client) as stubber:
                if code:
                    stubber.add_client_error(
                        operation, code, f"{operation}: {code}", expected_params=parameters
                    )
                else:
                    stubber.add_response(operation, response, parameters)
                return getattr(self._client, operation)(**parameters)

        return call


class Paginator:
    def __init__(self, client: Client, operation: str) -> None:
        self._client = client
        self._operation = operation

    def paginate(self, **parameters: Any) -> Iterator[Any]:
        while True:
            page = getattr(self._client, self._operation)(**parameters)
            yield page
            if "NextToken" not in page:
                return
            parameters["NextToken"] = page["NextToken"]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    found = Api()
    shown = dashboard(sheet("s", visual("v", dimension("region"))))
    found.dashboards = {name: {**shown, "DashboardId": name} for name in ("sales_board", "costs", "stock")}
    monkeypatch.setattr(aws_calls, "boto_client", found.client)
    return found


def read_account(**settings: Any) -> list[Record]:
    entry = {"region": "eu-west-1", **settings}
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "quicksight": [entry]})
    return read_quicksight(LocalEngine(), config, from_config(config)).collect()


def boards(records: list[Record]) -> dict[str, Any]:
    return {
        row.ref.rpartition("/")[2]: row for row in records_of(Dataset, records) if row.label == "exposure"
    }


def test_an_account_is_read_page_by_page(api: Api) -> None:
    api.data_sets["plan"] = plain_data_set("plan", "id")
    records = read_account()

    assert boards(records).keys() == {"sales_board", "costs", "stock"}
    assert boards(records)["costs"].properties["published_at"] == "1793512800000"
    assert boards(records)["costs"].sets == {"owners": ["ann"]}
    assert edges_to(BOARD, records) == {("dataset/sales#region", "v/f.region", "IDENTITY")}
    assert edges_to("dataset/plan", records) == {("dev.public.plan#id", "id", "IDENTITY")}
    assert not problems_of(records)


def test_each_asset_is_described_once(api: Api) -> None:
    read_account(account="111122223333")
    assert api.calls.count("describe_dashboard_definition") == 3
    assert api.calls.count("describe_data_set") == 1
    assert "get_caller_identity" not in api.calls


def test_assets_that_are_not_wanted_are_not_described(api: Api) -> None:
    assert boards(read_account(dashboards=["sal*"])).keys() == {"sales_board"}
    assert api.calls.count("describe_dashboard_definition") == 1


def test_an_asset_without_permission_is_named_and_the_others_are_read(api: Api) -> None:
    api.errors = {"costs": "AccessDeniedException"}
    records = read_account()

    assert boards(records).keys() == {"sales_board", "stock"}
    ((kind, document, _, message),) = problems_of(records)
    assert (kind, document) == ("rejected", "QuickSight in eu-west-1: dashboard costs (Costs)")
    assert message.startswith("no permission to describe it: ")


def test_a_data_set_of_an_uploaded_file_which_the_api_does_not_describe_is_skipped(api: Api) -> None:
    api.data_sets["upload"] = {}
    api.errors = {"upload": "InvalidParameterValueException"}
    ((kind, document, _, _),) = problems_of(read_account())
    assert (kind, document) == ("skipped", "QuickSight in eu-west-1: data set upload (Upload)")


def test_an_asset_that_was_deleted_since_the_list_was_made_is_no_problem(api: Api) -> None:
    api.errors = {"costs": "ResourceNotFoundException"}
    records = read_account()
    assert boards(records).keys() == {"sales_board", "stock"}
    assert not problems_of(records)


def test_owners_are_optional(api: Api) -> None:
    api.denied_calls = frozenset({"describe_dashboard_permissions"})
    records = read_account(dashboards=["costs"])
    assert boards(records)["costs"].sets == {}
    assert {problem[0::2] for problem in problems_of(records)} == {("notice", "owners")}


def test_an_account_that_cannot_be_listed_is_an_error(api: Api) -> None:
    api.denied_calls = frozenset({"list_dashboards"})
    with pytest.raises(SourceDenied, match="QuickSight in eu-west-1: AccessDeniedException"):
        read_account()


def test_doctor_names_the_call_that_is_not_allowed(api: Api) -> None:
    (check,) = CHECKS
    accounts = (QuickSight(region="eu-west-1"),)

    assert [found.state for found in check.examine(accounts)] == ["ok"]
    api.errors = {"sales": "AccessDeniedException"}
    states = [(found.state, found.fix) for found in check.examine(accounts)]
    fix = "allow quicksight:Describe* in eu-west-1 (deploy/iam/quicksight_reader.json)"
    assert states == [("ok", ""), ("warning", fix)]
    api.denied_calls = frozenset({"list_data_sets"})
    (denied,) = check.examine(accounts)
    assert (denied.state, denied.fix) == (
        "failed",
        "allow quicksight:List* in eu-west-1 (deploy/iam/quicksight_reader.json)",
    )


def test_the_policy_allows_each_call_that_is_made(api: Api) -> None:
    read_account(analyses=True)
    policy = json.loads((DEPLOY / "quicksight_reader.json").read_text())
    allowed = {action for statement in policy["Statement"] for action in statement["Action"]}
    made = {f"quicksight:{''.join(word.title() for word in call.split('_'))}" for call in api.calls}

    assert made - {"quicksight:GetCallerIdentity"} <= allowed


def test_a_data_set_has_the_same_name_through_the_api_as_in_files(api: Api) -> None:
    assert arn_of("sales").endswith("dataset/sales")
    refs = {row.ref for row in records_of(Dataset, read_account()) if row.label == "view"}
    assert refs == {f"dev|{ACCOUNT}|dataset/sales"}
