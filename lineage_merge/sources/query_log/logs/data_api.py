"""Redshift's system views through the Data API: a statement per view and day, its results in pages."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceDenied, SourceError
from lineage_merge.sources.aws_calls import client_of
from lineage_merge.sources.query_log.logs.archive_layout import RETENTION, Interval
from lineage_merge.sources.query_log.logs.redshift import ViewRows
from lineage_merge.sources.query_log.logs.redshift_views import (
    HISTORY,
    OWN_COMMENT,
    TRANSACTIONS,
    MissingColumn,
    read_row,
)
from lineage_merge.sources.query_log.logs.view_selects import VIEW_SELECTS, write_condition
from lineage_merge.sources.query_log.settings import QueryLog

# The days in which the views have rows.
_DAYS = RETENTION.days + 1
# Of a log whose reads are not counted.
_WRITES = "(query_type is null or query_type <> 'SELECT' or query_text ilike '%into%')"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_BUSY = "ActiveStatementsExceededException"


class ViewQuery(NamedTuple):
    """A query of a view, of one day if it is large."""

    view: str
    sql: str


def queries(log: QueryLog, now: datetime) -> list[ViewQuery]:
    """Return the queries of a log."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = min(_DAYS, log.lookback // timedelta(days=1) + 1)
    view_queries = []
    for view, queried in VIEW_SELECTS.items():
        if not queried.times:
            view_queries.append(ViewQuery(view, queried.sql(view)))
            continue
        for back in range(days):
            day = midnight - timedelta(days=back)
            of_day = write_condition(queried.times[0], day, day + timedelta(days=1))
            only_writes = _WRITES if view == HISTORY and not log.usage else ""
            view_queries.append(ViewQuery(view, queried.sql(view, of_day, only_writes)))
    return view_queries


def read(engine: Engine, log: QueryLog) -> ViewRows:
    """Read a cluster or a workgroup. Raises `SourceError`."""
    visible_users(log)  # fails before any task starts
    has_transactions = _may_read(log, TRANSACTIONS)
    now = datetime.now(UTC)
    wanted = [query for query in queries(log, now) if has_transactions or query.view != TRANSACTIONS]
    rows = engine.rows(wanted, len(wanted)).flat_map(lambda query: _read_view(query, log))
    return ViewRows(rows, has_transactions, [Interval(now - RETENTION, now)])


def visible_users(log: QueryLog) -> int:
    """Return the number of users whose statements are visible. Raises `SourceError`."""
    (row,) = rows_of(log, f"select count(distinct user_id) as users from {HISTORY}")  # noqa: S608 - a constant
    return int(row["users"])


def _may_read(log: QueryLog, view: str) -> bool:
    try:
        list(rows_of(log, f"select 1 as one from {view} limit 1"))  # noqa: S608 - a constant
    except SourceDenied:
        return False
    return True


def _read_view(query: ViewQuery, log: QueryLog) -> Iterator[Any]:
    try:
        for number, row in enumerate(rows_of(log, query.sql), 1):
            try:
                yield from read_row(query.view, row)
            except MissingColumn as error:
                yield Problem("rejected", f"{log}, {query.view}, row {number}", error.column, error.problem)
    except SourceDenied as error:
        if query.view == HISTORY:
            raise
        yield Problem("notice", f"{log}, {query.view}", "", error.message)


def rows_of(log: QueryLog, sql: str) -> Iterator[dict[str, Any]]:
    """Run a query, wait for it, and yield its rows. Raises `SourceError`."""
    with client_of("redshift-data", log.region, str(log)) as client:
        statement = _run(client, log, sql)
        token = ""
        while True:
            page = client.get_statement_result(Id=statement, **({"NextToken": token} if token else {}))
            names = [column["name"] for column in page["ColumnMetadata"]]
            for record in page["Records"]:
                yield dict(zip(names, map(_value, record), strict=True))
            token = page.get("NextToken") or ""
            if not token:
                return


@contextmanager
def open_api(log: QueryLog) -> Iterator[Callable[[str], None]]:
    """Open the API; yield a function that runs a statement without result, and waits for it.

    Raises `SourceError`.
    """
    with client_of("redshift-data", log.region, str(log)) as client:

        def execute(sql: str) -> None:
            _run(client, log, sql)

        yield execute


def _run(client: Any, log: QueryLog, sql: str) -> str:
    """Run a statement to its end; return its id in the Data API."""
    statement = _start(client, log, f"{OWN_COMMENT} {sql}")
    description = _wait_for(client, statement)
    if description["Status"] != "FINISHED":
        problem = str(description.get("Error", description["Status"]))
        kind = SourceDenied if "permission denied" in problem.lower() else SourceError
        raise kind(f"{log}: {problem}")
    return statement


def _start(client: Any, log: QueryLog, sql: str) -> str:
    given = {
        "ClusterIdentifier": log.cluster,
        "WorkgroupName": log.workgroup,
        "Database": log.database,
        "DbUser": log.db_user,
        "SecretArn": log.secret_arn,
        "Sql": sql,
    }
    arguments = {name: value for name, value in given.items() if value}
    for pause in _pauses():
        try:
            return str(client.execute_statement(**arguments)["Id"])
        except client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != _BUSY:
                raise
        time.sleep(pause)
    raise AssertionError  # pauses do not end


def _wait_for(client: Any, statement: str) -> dict[str, Any]:
    for pause in _pauses():
        description: dict[str, Any] = client.describe_statement(Id=statement)
        if description["Status"] in ("FINISHED", "FAILED", "ABORTED"):
            return description
        time.sleep(pause)
    raise AssertionError  # pauses do not end


def _pauses() -> Iterator[float]:
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _value(field: Mapping[str, Any]) -> Any:
    if field.get("isNull"):
        return None
    return next(iter(field.values()), None)
