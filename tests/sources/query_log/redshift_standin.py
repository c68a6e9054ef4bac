"""Redshift's Data API: moto's server, whose statements return and unload the rows of made-up histories."""

import csv
import gzip
import io
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from moto.core.exceptions import JsonRESTError
from moto.redshiftdata import models

from lineage_merge.sources.query_log.logs import data_api
from tests.s3_fixtures import S3
from tests.sources.query_log.redshift_history import History

_PAGE = 7
_TIMES = re.compile(r"(\w+) >= '(.*?)' and \w+ < '(.*?)'")


class Cluster:
    """A cluster with the views of a history. `denied` are views, `unload_error` the answer to UNLOAD."""

    def __init__(self, s3: S3) -> None:
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.denied: set[str] = set()
        self.asked = 0
        self.unload_error: Callable[[str], str] = lambda _view: ""
        self.statements: list[str] = []
        self._s3 = s3

    def show(self, history: History) -> None:
        """Let the views have the rows of a history, as text."""
        for view, rows in history.rows.items():
            self.tables[view] = [{name: str(value) for name, value in row.items()} for row in rows]

    def show_files(self, folder: Path) -> None:
        """Let the views have the rows of the files of a folder."""
        for file in folder.glob("*/*.csv"):
            with file.open(newline="") as lines:
                self.tables[file.parent.name] = list(csv.DictReader(lines))

    def describe(self, statement: Any) -> Any:
        """Finish a statement; the first of the cluster when it is asked for the second time."""
        self.asked += 1
        sql = statement.query_string
        view = re.findall(r"from (\w+)", sql)[0]
        error = f"ERROR: permission denied for relation {view}" if view in self.denied else ""
        if " unload (" in sql and not error:
            error = self.unload_error(view) or self._unload(sql, view)
        if error:
            statement.status = "FAILED"
            return [*statement, ("Error", error)]
        statement.status = "FINISHED" if self.asked > 1 else "STARTED"
        return statement

    def _unload(self, sql: str, view: str) -> str:
        """Write a file for each of two slices that has rows, at least one."""
        query, folder = re.findall(r"unload \('(.*)'\)\s+to 's3://(.*?)' iam_role", sql, re.DOTALL)[0]
        names = re.findall(r"select (.*?) from", query)[0].split(", ")
        rows = self.rows(query.replace("''", "'"), view)
        bucket, _, prefix = folder.partition("/")
        for part in range(2 if len(rows) > 1 else 1):
            text = io.StringIO()
            writer = csv.writer(text)
            writer.writerow(names)
            writer.writerows([row.get(name, "") for name in names] for row in rows[part::2])
            body = gzip.compress(text.getvalue().encode())
            self._s3.client.put_object(Bucket=bucket, Key=f"{prefix}000{part}_part_00.gz", Body=body)
        return ""

    def result(self, statement: Any, token: str = "") -> Any:
        """Return a page."""
        sql = statement.query_string
        names, view = re.findall(r"select (.*?) from (\w+)", sql)[0]
        rows = self.rows(sql, view)
        if "count(" in names:
            names, rows = "users", [{"users": len({row["user_id"] for row in rows})}]
        columns = [name.rpartition(" as ")[2] for name in names.split(", ")]
        start = int(token or 0)
        page = [[_field(row.get(name, 1)) for name in columns] for row in rows[start : start + _PAGE]]
        after = str(start + _PAGE) if start + _PAGE < len(rows) else None
        metadata = [dict(models.ColumnMetadata(None, False, True, name, False)) for name in columns]
        return models.StatementResult(metadata, page, len(rows), after)

    def rows(self, sql: str, view: str) -> list[dict[str, Any]]:
        """Return the rows of a view in one of the times of a query."""
        rows = self.tables.get(view, [])
        if "sequence > 0" in sql:
            rows = [row for row in rows if row["sequence"] != "0"]
        times = _TIMES.findall(sql)
        return [
            row
            for row in rows
            if not times or any(first <= row.get(name, "") < last for name, first, last in times)
        ]


def _field(value: Any) -> dict[str, Any]:
    if value is None or value == "":
        return {"isNull": True}
    return {"longValue": value} if isinstance(value, int) else {"stringValue": value}


class Clusters(defaultdict[str, Cluster]):
    """The clusters of an account. `throttled`: the error codes of the next calls."""

    throttled: list[str]


@pytest.fixture
def clusters(s3: S3, s3_url: str, monkeypatch: pytest.MonkeyPatch) -> Clusters:
    """Clusters without statements, by name, and an empty bucket."""
    s3.client.create_bucket(Bucket="logs")
    monkeypatch.setenv("AWS_ENDPOINT_URL_REDSHIFT_DATA", s3_url)
    monkeypatch.setattr(data_api, "_FIRST_PAUSE", 0.001)
    return open_clusters(s3, monkeypatch)


def open_clusters(s3: S3, patch: pytest.MonkeyPatch) -> Clusters:
    """Make moto's servers in this process answer for clusters; return these by name."""
    found = Clusters(lambda: Cluster(s3))
    found.throttled = []
    backend = models.RedshiftDataAPIServiceBackend
    run = backend.execute_statement

    def execute(self: Any, **arguments: Any) -> Any:
        if found.throttled:
            raise JsonRESTError(found.throttled.pop(0), "try again")
        statement = run(self, **arguments)
        found[statement.cluster_identifier].statements.append(statement.query_string)
        return statement

    def describe(self: Any, statement_id: str) -> Any:
        statement = self.statements[statement_id]
        return found[statement.cluster_identifier].describe(statement)

    # moto passes no token on: the pages of a statement come one after the other.
    tokens: dict[str, str] = {}

    def result(self: Any, statement_id: str) -> Any:
        statement = self.statements[statement_id]
        page = found[statement.cluster_identifier].result(statement, tokens.get(statement_id, ""))
        tokens[statement_id] = page.next_token or ""
        return page

    patch.setattr(backend, "execute_statement", execute)
    patch.setattr(backend, "describe_statement", describe)
    patch.setattr(backend, "get_statement_result", result)
    return found
