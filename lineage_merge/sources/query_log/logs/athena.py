"""Athena's executions of a workgroup; each is a session of its own. Tables are those of Glue's catalog.

The API does not say who ran a query: the reader is the workgroup.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceDenied
from lineage_merge.sources.aws_calls import client_of
from lineage_merge.sources.query_log.logs.log_rows import (
    EXTENT,
    KINDS,
    STATEMENT,
    LogRows,
    Prepare,
    batches,
    find_start,
    latest_time,
    select_kinds,
)
from lineage_merge.sources.query_log.logs.users import Users
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statements import view_definitions
from lineage_merge.sources.query_log.statements.catalog import CatalogColumn, CatalogRow, ExternalTable
from lineage_merge.sources.query_log.statements.statement import LoggedStatement, Outcome, microseconds
from lineage_merge.sources.query_log.statements.view_definitions import ViewDefinition

# BatchGetQueryExecution takes 50.
_BATCH = 50
CATALOG = "awsdatacatalog"
_PRESTO_VIEW = re.compile(r"\s*/\*\s*Presto View:\s*([A-Za-z0-9+/=\s]+?)\s*\*/")
_OUTCOMES: Mapping[str, Outcome] = {"SUCCEEDED": "committed", "FAILED": "failed", "CANCELLED": "failed"}


def read(engine: Engine, log: QueryLog, users: Users) -> LogRows:
    """Read a workgroup. Raises `SourceError`."""
    executions = _executions(log)
    pages = [executions[at : at + _BATCH] for at in range(0, len(executions), _BATCH)]
    statements = engine.rows(pages, len(pages)).flat_map(lambda page: _statements(page, log)).cache()
    databases = sorted(
        {name for name in statements.flat_map(lambda statement: statement.search_path).collect() if name}
    )
    catalog: Rows[Any] = (
        engine.rows(databases, len(databases)).flat_map(lambda name: _tables(name, log)).cache()
    )
    read = (
        statements.map_partitions(Prepare(log.dialect, users))
        .map_partitions(partial(batches, KINDS, find_start, latest_time()))
        .cache()
    )
    return LogRows(
        select_kinds(read, STATEMENT),
        select_kinds(read, EXTENT),
        catalog.filter(lambda row: isinstance(row, CatalogColumn | ExternalTable)),
        catalog.filter(lambda row: isinstance(row, Problem)),
        catalog.filter(lambda row: isinstance(row, ViewDefinition))
        .map(view_definitions.statement_of)
        .map_partitions(Prepare(log.dialect, None)),
    )


def number_of_executions(log: QueryLog) -> int:
    """Return the number of executions in the first page. Raises `SourceError`."""
    with client_of("athena", log.region, str(log)) as client:
        page = client.list_query_executions(WorkGroup=log.workgroup)
        return len(page.get("QueryExecutionIds", ()))


def _executions(log: QueryLog) -> list[str]:
    with client_of("athena", log.region, str(log)) as client:
        pages = client.get_paginator("list_query_executions").paginate(WorkGroup=log.workgroup)
        return [execution_id for page in pages for execution_id in page.get("QueryExecutionIds", ())]


def _statements(batch: Sequence[str], log: QueryLog) -> list[LoggedStatement]:
    with client_of("athena", log.region, str(log)) as client:
        response = client.batch_get_query_execution(QueryExecutionIds=list(batch))
    return [
        statement_of(execution, log.database)._replace(user=log.workgroup)
        for execution in response.get("QueryExecutions", ())
    ]


def statement_of(execution: Mapping[str, Any], database: str = "") -> LoggedStatement:
    """Return an execution as a logged statement; `database`: the default one. Pure."""
    context, status = execution.get("QueryExecutionContext", {}), execution["Status"]
    submitted, completed = status.get("SubmissionDateTime"), status.get("CompletionDateTime")
    started = microseconds(submitted) if submitted else 0
    return LoggedStatement(
        id=execution["QueryExecutionId"],
        session=execution["QueryExecutionId"],
        text=execution.get("Query", ""),
        database=(context.get("Catalog") or CATALOG).lower(),
        search_path=tuple(filter(None, (context.get("Database") or database,))),
        started=started,
        ended=microseconds(completed) if completed else started,
        outcome=_OUTCOMES.get(status["State"], "running"),
    )


def _tables(database: str, log: QueryLog) -> Iterator[CatalogRow | ViewDefinition | Problem]:
    try:
        with client_of("glue", log.region, f"Glue database {database}") as client:
            for page in client.get_paginator("get_tables").paginate(DatabaseName=database):
                for table in page.get("TableList", ()):
                    yield from rows_of_table(database, table)
    except SourceDenied as error:
        yield Problem("notice", str(log), "", error.message)


def rows_of_table(database: str, table: Mapping[str, Any]) -> Iterator[CatalogRow | ViewDefinition]:
    """Yield the columns of Glue's table, its path, or its definition if it is a view of Athena. Pure."""
    if presto_view := _PRESTO_VIEW.match(table.get("ViewOriginalText") or ""):
        yield from _view(database, table["Name"], presto_view[1])
    storage = table.get("StorageDescriptor", {})
    if storage.get("Location"):
        yield ExternalTable(CATALOG, database, table["Name"], storage["Location"])
    columns = (*storage.get("Columns", ()), *table.get("PartitionKeys", ()))
    for position, column in enumerate(columns, 1):
        yield CatalogColumn(
            CATALOG, database, table["Name"], column["Name"], position, column.get("Type", "")
        )


def _view(database: str, name: str, encoded: str) -> Iterator[ViewDefinition]:
    try:
        view = json.loads(base64.b64decode(encoded))
    except ValueError:
        return
    query = view.get("originalSql") if isinstance(view, dict) else None
    if isinstance(query, str):
        schema = view.get("schema")
        path = (schema,) if isinstance(schema, str) and schema else (database,)
        yield ViewDefinition(CATALOG, database, name, query, path)
