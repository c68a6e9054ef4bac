"""Athena's executions and Glue's tables, by a server that answers as the services do."""

import json
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from tests.http_server import Answer, Request, receiving
from tests.sources.query_log.log_reading import read_entries

_QUERIES = {
    "q1": ("INSERT INTO daily SELECT id, upper(name) FROM raw.events WHERE kind = 'secret'", "SUCCEEDED"),
    "q2": (
        "UNLOAD (SELECT id FROM daily WHERE id > 7) TO 's3://lake/out/' WITH (format = 'PARQUET')",
        "SUCCEEDED",
    ),
    "q3": ("CREATE TABLE copy WITH (format='ORC') AS SELECT id AS number FROM daily", "SUCCEEDED"),
    "q4": ("INSERT INTO daily SELECT id, kind FROM raw.events", "FAILED"),
    "q5": ("SELECT * FROM daily", "SUCCEEDED"),
}
_TABLES: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
    "mart": [("daily", "s3://lake/daily/", ("id", "name"))],
    "raw": [("events", "s3://lake/events/", ("id", "name", "kind"))],
}


def answer(request: Request) -> Answer:
    """Answer a call of Athena or Glue; two executions per page."""
    call, body = request.headers["x-amz-target"].rpartition(".")[2], request.body
    if call == "ListQueryExecutions":
        start = int(body.get("NextToken", 0))
        names = list(_QUERIES)[start : start + 2]
        return 200, {"QueryExecutionIds": names, **({"NextToken": str(start + 2)} if start + 2 < 5 else {})}
    if call == "BatchGetQueryExecution":
        return 200, {"QueryExecutions": [_execution(each) for each in body["QueryExecutionIds"]]}
    tables = _TABLES.get(body["DatabaseName"], [])
    return 200, {"TableList": [_table(*each) for each in tables]}


def _execution(name: str) -> dict[str, Any]:
    query, state = _QUERIES[name]
    status = {"State": state, "SubmissionDateTime": 1793000000.5, "CompletionDateTime": 1793000002.5}
    context = {"Database": "raw" if name == "q4" else "mart", "Catalog": "AwsDataCatalog"}
    return {"QueryExecutionId": name, "Query": query, "Status": status, "QueryExecutionContext": context}


def _table(name: str, location: str, columns: tuple[str, ...]) -> dict[str, Any]:
    storage = {"Location": location, "Columns": [{"Name": each, "Type": "string"} for each in columns]}
    return {"Name": name, "StorageDescriptor": storage}


def test_inserts_ctas_and_unload_of_a_workgroup(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving(answer) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ATHENA", server.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", server.url)
        entry = {
            "format": "athena",
            "workgroup": "primary",
            "region": "us-east-1",
            "namespace": "awsathena://athena.us-east-1.amazonaws.com",
        }
        found = read_entries(LocalEngine(), [entry])

    athena = "awsathena://athena.us-east-1.amazonaws.com/awsdatacatalog.mart.copy"
    assert {each.split(": ", 1)[1] for each in found.feeds} == {
        "s3://lake/events > s3://lake/daily",
        "s3://lake/daily > s3://lake/out",
        f"s3://lake/daily > {athena}",
    }
    assert found.columns == {
        "s3://lake/events#id > s3://lake/daily#id IDENTITY",
        "s3://lake/events#name > s3://lake/daily#name TRANSFORMATION",
        "s3://lake/daily#id > s3://lake/out#id IDENTITY",
        f"s3://lake/daily#id > {athena}#number IDENTITY",
    }
    assert found.influences == {
        "s3://lake/events#kind > s3://lake/daily FILTER",
        "s3://lake/daily#id > s3://lake/out FILTER",
    }
    assert "secret" not in json.dumps([repr(each) for each in found.records])
