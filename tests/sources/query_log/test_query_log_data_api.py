"""Redshift's Data API: moto's server, whose statements return the rows of a made-up history in pages."""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from moto.redshiftdata import models

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.model.errors import SourceError
from lineage_merge.sources.query_log import data_api, doctor
from lineage_merge.sources.query_log.redshift_views import HISTORY, TRANSACTIONS
from lineage_merge.sources.query_log.settings import QueryLog
from tests.s3_fixtures import S3
from tests.sources.query_log.log_reading import NAMESPACE, LogLineage, read_entries, read_log
from tests.sources.query_log.test_query_log_week import week

CLUSTER = {
    "format": "redshift",
    "cluster": "wh",
    "database": "dw",
    "db_user": "lineage",
    "namespace": NAMESPACE,
    "region": "us-east-1",
}
_PAGE = 7


class Cluster:
    """The Data API of one cluster, which has the views of a folder, on the day of the history."""

    def __init__(self, folder: Path) -> None:
        self.tables: dict[str, list[dict[str, Any]]] = {}
        for file in folder.glob("*/*.csv"):
            with file.open(newline="") as lines:
                self.tables[file.parent.name] = list(csv.DictReader(lines))
        self.denied: set[str] = set()
        self.asked = 0

    def describe(self, backend: Any, statement_id: str) -> Any:
        """Finish a statement when it is asked for the second time."""
        statement = backend.statements[statement_id]
        self.asked += 1
        view = re.findall(r"from (\w+)", statement.query_string)[0]
        if view in self.denied:
            statement.status = "FAILED"
            return [*statement, ("Error", f"ERROR: permission denied for relation {view}")]
        statement.status = "FINISHED" if self.asked % 2 else "STARTED"
        return statement

    def result(self, backend: Any, statement_id: str, token: str = "") -> Any:
        """Return a page."""
        sql = backend.statements[statement_id].query_string
        names, view = re.findall(r"select (.*?) from (\w+)", sql)[0]
        rows = self._rows(sql, view)
        if "count(" in names:
            names, rows = "users", [{"users": len({row["user_id"] for row in rows})}]
        columns = [name.rpartition(" as ")[2] for name in names.split(", ")]
        start = int(token or 0)
        page = [[_field(row.get(name, 1)) for name in columns] for row in rows[start : start + _PAGE]]
        after = str(start + _PAGE) if start + _PAGE < len(rows) else None
        metadata = [dict(models.ColumnMetadata(None, False, True, name, False)) for name in columns]
        return models.StatementResult(metadata, page, len(rows), after)

    def _rows(self, sql: str, view: str) -> list[dict[str, Any]]:
        rows = self.tables.get(view, [])
        if "sequence > 0" in sql:
            rows = [row for row in rows if row["sequence"] != "0"]
        for name, first, last in re.findall(r"(\w+) >= '(.*?)' and \w+ < '(.*?)'", sql):
            rows = [row for row in rows if first <= row[name] < last]
        return rows


def _field(value: Any) -> dict[str, Any]:
    if value is None or value == "":
        return {"isNull": True}
    return {"longValue": value} if isinstance(value, int) else {"stringValue": value}


@pytest.fixture
def cluster(s3: S3, s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster with the team's week."""
    found = Cluster(week(tmp_path))
    backend = models.RedshiftDataAPIServiceBackend
    monkeypatch.setenv("AWS_ENDPOINT_URL_REDSHIFT_DATA", s3_url)
    monkeypatch.setattr(
        backend, "describe_statement", lambda self, statement_id: found.describe(self, statement_id)
    )
    # moto passes no token on: the pages of a statement come one after the other.
    tokens: dict[str, str] = {}

    def result(self: Any, statement_id: str) -> Any:
        page = found.result(self, statement_id, tokens.get(statement_id, ""))
        tokens[statement_id] = page.next_token or ""
        return page

    monkeypatch.setattr(backend, "get_statement_result", result)
    monkeypatch.setattr(data_api, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(data_api, "_DAYS", 3)
    monkeypatch.setattr(data_api, "datetime", _Today)
    return found


class _Today(data_api.datetime):  # type: ignore[name-defined, misc]
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls(2026, 11, 3, 5, tzinfo=tz)


def edges(lineage: LogLineage) -> tuple[set[str], set[str], set[str]]:
    return lineage.feeds, lineage.columns, lineage.influences


def test_the_api_gives_the_lineage_of_the_files(cluster: Cluster, tmp_path: Path) -> None:
    from_files = read_log(LocalEngine(), tmp_path / "history")

    found = read_entries(LocalEngine(), [CLUSTER])

    assert edges(found) == edges(from_files)
    assert found.runs == from_files.runs
    assert len(edges(found)[0]) == 12


def test_without_the_view_of_transactions_rollback_statements_count(cluster: Cluster) -> None:
    cluster.denied.add(TRANSACTIONS)

    found = read_entries(LocalEngine(), [CLUSTER])

    assert not [
        each for each in found.feeds if "mart.never" in each or "landing.clicks > core.customers" in each
    ]
    assert "core.load_orders: landing.orders > core.orders" in found.feeds


def test_a_denied_view_is_one_clear_line(cluster: Cluster) -> None:
    cluster.denied.add("sys_load_detail")
    assert any(
        "permission denied for relation sys_load_detail" in each[3]
        for each in read_entries(LocalEngine(), [CLUSTER]).problems
    )

    cluster.denied.add(HISTORY)
    with pytest.raises(
        SourceError, match="redshift wh: ERROR: permission denied for relation sys_query_history"
    ):
        read_entries(LocalEngine(), [CLUSTER])


def test_doctor_says_whose_statements_are_visible(cluster: Cluster) -> None:
    log = _settings(CLUSTER)
    ((only_own,),) = ([*doctor.CHECKS[0].examine((log,))],)
    assert only_own.state == "warning"
    assert "sys:monitor" in only_own.fix
    cluster.tables[HISTORY][0]["user_id"] = "101"
    ((all_users,),) = ([*doctor.CHECKS[0].examine((log,))],)
    assert (all_users.state, all_users.message) == ("ok", "redshift wh: statements of 2 users are visible")


def _settings(entry: Mapping[str, Any]) -> QueryLog:
    from lineage_merge.sources.query_log.settings import parse

    return parse([entry])[0]
