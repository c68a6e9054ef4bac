"""Each fault of Spline's database, made on a server that speaks ArangoDB's protocol."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.config import Config
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.diagnosis import Diagnosis
from tests.arango_fixtures import ArangoServer
from tests.arango_standin import ArangoStandin, read_folder
from tests.doctor.diagnosing import examine
from tests.spline_documents import SplineDatabase

SECRET = "hunter2-the-password"
PLANS: dict[str, Any] = {"executionPlan": [], "operation": [], "follows": [], "dbVersion": []}
CURRENT = {"version": "1.0.0", "status": "Current"}


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPLINE_PASSWORD", SECRET)


@pytest.fixture
def server() -> Iterator[ArangoStandin]:
    with ArangoStandin({}, password=SECRET) as standin:
        yield standin
    assert standin.failures == []


def settings(url: str, database: str = "spline", **more: Any) -> Config:
    access = {"hosts": url, "database": database, "password_env": "SPLINE_PASSWORD", **more}
    return CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": {"arango": access}})


def found(of: Config) -> dict[str, Diagnosis]:
    by_check = {each.check: each for each in examine("ArangoDB", of)}
    assert SECRET not in str(by_check)
    return by_check


def states(findings: dict[str, Diagnosis]) -> dict[str, str]:
    return {check.rpartition(" ")[2]: each.state for check, each in findings.items()}


def spline(**more: Any) -> dict[str, Any]:
    now = time.time_ns() // 1_000_000
    written = {"_key": "e1", "timestamp": now - 1000, "durationNs": 5}
    return {**PLANS, "dbVersion": [CURRENT], "progress": [written], **more}


def test_a_database_created_by_spline_passes(server: ArangoStandin, data: Path) -> None:
    server.load("spline", spline())

    findings = found(settings(server.url))

    assert set(states(findings).values()) == {"ok"}
    assert findings["ArangoDB connection"].message == "ArangoDB 3.11.8"
    assert findings["Spline version"].message.startswith("1.0.0")
    assert findings["Spline writes"].message.startswith("1, the newest at ")


def test_captured_databases_are_read_without_failure(arango: ArangoServer, data: Path) -> None:
    name = arango.database("tpch", data / "spline" / "tpch")
    access = {"hosts": arango.url, "database": name, "username": arango.username}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPLINE_PASSWORD", arango.password)
        findings = found(settings(access.pop("hosts"), access.pop("database"), **access))

    assert "failed" not in states(findings).values()
    assert findings["ArangoDB read"].state == "ok"


@pytest.mark.parametrize("name", ["tickit_sales_ingest", "tickit_sales_load"])
def test_a_database_of_spline_0_7_passes(server: ArangoStandin, data: Path, name: str) -> None:
    server.load("spline", read_folder(data / "spline_0_7" / name))

    findings = found(settings(server.url))

    assert set(states(findings).values()) == {"ok"}
    assert "no failed writes and no labels" in findings["Spline version"].message
    assert "txInfo" not in findings["ArangoDB collections"].message


def test_labels_in_spline_0_7_are_a_warning_with_a_hint(server: ArangoStandin, data: Path) -> None:
    server.load("spline", read_folder(data / "spline_0_7" / "tickit_sales_load"))
    access = {"hosts": server.url, "database": "spline", "password_env": "SPLINE_PASSWORD"}
    labelled = {"arango": access, "labels": {"airflow.dag_id": "daily"}}

    version = found(CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": labelled}))[
        "Spline version"
    ]

    assert version.state == "warning"
    assert "spline.applications" in version.fix


@pytest.mark.parametrize("auth_method", ["basic", "jwt"])
def test_a_wrong_password_fails_at_the_login_and_skips_the_rest(auth_method: str) -> None:
    with ArangoStandin({"spline": spline()}, password="another") as other:
        findings = found(settings(other.url, auth_method=auth_method))

    assert states(findings) == {
        "connection": "ok",
        "login": "failed",
        "database": "skipped",
        "collections": "skipped",
        "version": "skipped",
        "read": "skipped",
        "indexes": "skipped",
        "writes": "skipped",
    }
    login = findings["ArangoDB login"]
    assert "rejects user 'root'" in login.message
    assert login.exit_code == 3
    assert "password" in login.fix


def test_a_missing_password_is_a_configuration_error(
    server: ArangoStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPLINE_PASSWORD")

    login = found(settings(server.url))["ArangoDB login"]

    assert (login.state, login.exit_code) == ("failed", 2)
    assert "password_env" in login.message


def test_an_unknown_database_fails(server: ArangoStandin) -> None:
    findings = found(settings(server.url, "splin"))

    assert (findings["ArangoDB login"].state, findings["ArangoDB database"].state) == ("ok", "failed")
    assert findings["ArangoDB database"].message.endswith("missing database 'splin'; it has _system")


def test_missing_collections_are_named(server: ArangoStandin) -> None:
    server.load("spline", {"operation": [], "dbVersion": [CURRENT]})

    findings = found(settings(server.url))

    assert findings["ArangoDB collections"].state == "failed"
    assert "no executionPlan" in findings["ArangoDB collections"].message
    assert findings["Spline writes"].state == "skipped"


def test_a_database_without_progress_is_a_warning(server: ArangoStandin) -> None:
    server.load("spline", {**PLANS, "dbVersion": [CURRENT]})

    assert found(settings(server.url))["ArangoDB collections"].state == "warning"


@pytest.mark.parametrize(
    ("documents", "state", "message"),
    [
        ([CURRENT, {"version": "0.6.0", "status": "Deprecated"}], "ok", "1.0.0"),
        ([{"version": "0.7.0", "status": "current"}], "ok", "0.7.0"),
        ([{"version": "0.7.9", "status": "current"}], "ok", "0.7.9"),
        ([{"version": "1.1.0-SNAPSHOT", "status": "current"}], "ok", "1.1.0"),
        ([{"version": "0.6.0", "status": "Current"}], "failed", "0.6.0"),
        ([{"version": "0.5.6", "status": "Current"}], "failed", "0.5 and older"),
        ([{"version": "0.4", "status": "Current"}], "failed", "0.5 and older"),
        ([{"version": "2.0.0", "status": "Current"}], "failed", "supported: 0.7 and 1.x"),
        ([{"version": "soon", "status": "Current"}], "failed", "supported: 0.7 and 1.x"),
        ([CURRENT, {"version": "1.1.0", "status": "Preparing"}], "warning", "1.1.0"),
        ([], "warning", "no current version"),
    ],
)
def test_the_version_of_splines_database_is_checked(
    server: ArangoStandin, documents: list[dict[str, str]], state: str, message: str
) -> None:
    server.load("spline", spline(dbVersion=documents))

    version = found(settings(server.url))["Spline version"]

    assert version.state == state
    assert message in version.message


def test_a_missing_index_is_a_warning_with_its_name() -> None:
    indexes = {"operation": ("_belongsTo",), "progress": ("timestamp",)}
    with ArangoStandin({"spline": spline()}, password=SECRET, indexes=indexes) as standin:
        index = found(settings(standin.url))["ArangoDB indexes"]

    assert index.state == "warning"
    assert "follows._belongsTo, progress.execPlanDetails.applicationName" in index.message
    assert "operation" not in index.message
    assert "timestamp" not in index.message
    assert "--indices-create" in index.fix


def test_an_unreadable_collection_is_named(server: ArangoStandin) -> None:
    server.load("spline", spline())
    # Queries come in order: that of the version, then one for each collection.
    server.delay_next(0.0, method="POST", path="/_api/cursor")
    server.refuse_next(403, 11, method="POST", path="/_api/cursor")

    findings = found(settings(server.url))

    assert findings["ArangoDB read"].state == "failed"
    assert findings["ArangoDB read"].message == "user 'root' may not read executionPlan"


def test_open_transactions_are_counted_and_their_writes_ignored(server: ArangoStandin) -> None:
    database = SplineDatabase()
    key = database.plan("load", reads=["s3://in/a"], writes="s3://out/x", at=1)
    database.ended(key, 2, transaction=database.begin())
    database.ended(key, 3, transaction=database.later())
    server.load("spline", {**PLANS, "dbVersion": [CURRENT], **database.collections})

    writes = found(settings(server.url))["Spline writes"]

    assert writes.state == "ok"
    assert writes.message == (
        "3, the newest at 2026-01-01 01:00 UTC; 1 uncommitted transactions, which are not read"
    )


def test_a_write_in_the_future_is_a_warning_about_clocks(server: ArangoStandin) -> None:
    tomorrow = time.time_ns() // 1_000_000 + 24 * 3600 * 1000
    server.load("spline", spline(progress=[{"_key": "e1", "timestamp": tomorrow}]))

    writes = found(settings(server.url))["Spline writes"]

    assert writes.state == "warning"
    assert "clocks" in writes.fix


def test_a_closed_port_and_a_silent_host_fail_within_seconds() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        refused = found(settings(f"http://127.0.0.1:{port}"))
    with socket.create_server(("127.0.0.1", 0)) as no_progress:
        port = no_progress.getsockname()[1]
        started = time.monotonic()
        hung = found(settings(f"http://127.0.0.1:{port}", timeout_seconds=1))
        assert time.monotonic() - started < 15

    for findings in (refused, hung):
        connection = findings["ArangoDB connection"]
        assert (connection.state, connection.exit_code) == ("failed", 3)
        assert "security group" in connection.fix
        assert findings["ArangoDB login"].state == "skipped"
