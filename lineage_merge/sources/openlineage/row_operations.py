"""MERGE, UPDATE and DELETE of openlineage-spark: the runs, their statements and tables. Pure.

The client reads the optimized plan of such an operation, in which each column comes from the table itself:
its column lineage cannot be used. The statement of an operation in SQL is in the facet `sql`; one of the
DataFrame API (`DeltaTable.merge`) has none, and the facet may hold the statement of its source.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, cast

from lineage_merge.naming.jobs import SESSION_CATALOG
from lineage_merge.sources.json_values import as_mapping
from lineage_merge.sources.openlineage.documents import Document
from lineage_merge.sources.openlineage.jobs import is_spark, own_name
from lineage_merge.sources.openlineage.runs import DatasetKey, Run
from lineage_merge.sources.openlineage.statement_names import key_of, names_of

if TYPE_CHECKING:
    from lineage_merge.sources.openlineage.statements import Statement

Operation = Literal["merge", "update", "delete"]

# Spark's node in the job's name, of Iceberg, Delta, Databricks, Hudi and tables of other catalogs.
_COMMAND = re.compile(
    r"(?:execute_)?(?:"
    r"(?P<merge>merge_into\w*|merge_rows)"
    r"|(?P<update>update_(?:table|hoodie_table_command|command(?:_edge)?))"
    r"|(?P<delete>delete_from\w*|delete_(?:hoodie_table_command|command(?:_edge)?))"
    r"|replace_data|write_delta)"
)
_COMMAND_IN_TEXT = re.compile(r"\.(?:execute_)?(?:merge_|update_|delete_|replace_data|write_delta)")
_BEFORE = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_STATEMENT = re.compile(_BEFORE + r"(?P<operation>merge|update|delete)\b", re.IGNORECASE | re.DOTALL)
_NO_STATEMENT = (
    "a row-level operation without its SQL statement (of the DataFrame API): openlineage-spark does not send"
    " what it assigns"
)
_NO_SQLGLOT = "a row-level operation, whose statement needs sqlglot: install lineage-merge[columns]"


@dataclass(frozen=True, slots=True)
class RowOperation:
    """A run that changes rows of a table. `operation` is None if only Spark's command is known.

    `statement` is the parsed SQL, None if `problem` says why there is none.
    """

    operation: Operation | None
    statement: "Statement | None" = None
    problem: str = ""


def may_be_row_operation(event: str) -> bool:
    """Return whether the text of an event may have the job name of an operation: fast, without parsing it."""
    return _COMMAND_IN_TEXT.search(event) is not None


def row_operation(run: Run) -> RowOperation | None:
    """Return the operation of a run of Spark, None for other runs."""
    if not is_spark(run):
        return None
    text = str(as_mapping(run.job_facets.get("sql")).get("query") or "")
    command, stated = _COMMAND.fullmatch(_command(run)), _STATEMENT.match(text)
    if stated is None:
        if command is None:
            return None
        return RowOperation(_find_operation(command), problem=_NO_STATEMENT)
    operation = cast("Operation", stated["operation"].lower())
    statement = _parse(text)
    if command is None and not _is_target(statement, run):
        # `spark.sql("MERGE ...")` gives a table of counts, which another run may write.
        return None
    if isinstance(statement, str):
        return RowOperation(operation, problem=statement)
    return RowOperation(operation, statement)


def outputs(run: Run) -> Mapping[DatasetKey, Document]:
    """Return the outputs of a run; of an operation without any, the table that its statement names.

    openlineage-spark sends no dataset for UPDATE and DELETE of Delta.
    """
    if run.outputs:
        return run.outputs
    operation = row_operation(run)
    if operation is None or operation.statement is None:
        return {}
    key = key_of(operation.statement.target, SESSION_CATALOG)
    return {} if key is None else {key: {"namespace": key[0], "name": key[1]}}


def short_target(run: Run) -> str:
    """Return the table of an operation without datasets, if its name has no database; else ""."""
    operation = row_operation(run)
    if operation is None or operation.statement is None or outputs(run):
        return ""
    return operation.statement.target[-1]


def with_output(run: Run, tables: Mapping[str, DatasetKey]) -> Run:
    """Return the run with the table that its statement names without a database, if `tables` has it.

    `tables` are those that other events of the application name, by their names without a database (folded).
    """
    key = tables.get(short_target(run).casefold())
    return replace(run, outputs={key: {"namespace": key[0], "name": key[1]}}) if key else run


def explain_unnamed_target(run: Run) -> str:
    """Return why the table of an operation is unknown, "" for any other run."""
    operation = row_operation(run)
    if operation is None or outputs(run):
        return ""
    if operation.statement is None:
        return f"{operation.problem}, nor its table"
    name = ".".join(operation.statement.target)
    return f"{operation.operation} of {name}: no event of the job has the table, and the name no database"


def _find_operation(command: re.Match[str]) -> Operation | None:
    operations: tuple[Operation, ...] = ("merge", "update", "delete")
    return next((operation for operation in operations if command[operation]), None)


def _command(run: Run) -> str:
    """Return Spark's command in a job's name: ``app.replace_data.lake_db_t``."""
    return own_name(run).partition(".")[0]


def _is_target(statement: "Statement | str", run: Run) -> bool:
    if isinstance(statement, str):
        return False
    target = statement.target
    return any(names_of(*key, document).has(target) for key, document in run.outputs.items())


@lru_cache(maxsize=256)
def _parse(text: str) -> "Statement | str":
    """Return a parsed statement, or why it cannot be read."""
    try:
        from lineage_merge.sources.openlineage.statements import parse_statement
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        return _NO_SQLGLOT
    return parse_statement(text)
