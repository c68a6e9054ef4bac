"""What is selected of each of Redshift's system views, by the Data API and for the archive. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from lineage_merge.sources.query_log.logs.redshift_views import DEFINITIONS, HISTORY, TRANSACTIONS


class ViewSelect(NamedTuple):
    """The columns of a view that are read, and the rows that are.

    `times`: its columns of time, the start first; none if the view is the catalog of now. A row is written
    again in the interval in which its later times are: it was not final before.
    """

    columns: str
    times: tuple[str, ...] = ()
    condition: str = ""

    def sql(self, view: str, *conditions: str) -> str:
        """Return the query."""
        where = " and ".join(filter(None, (*conditions, self.condition)))
        select = f"select {self.columns} from {view}"  # noqa: S608 - of constants
        return f"{select} where {where}" if where else select


_NOT_SYSTEM = "not in ('information_schema', 'pg_catalog', 'pg_internal')"
VIEW_SELECTS: Mapping[str, ViewSelect] = {
    HISTORY: ViewSelect(
        "user_id, query_id, query_label, transaction_id, session_id, database_name, status, start_time, "
        "end_time, query_text, username",
        ("start_time", "end_time"),
        "user_id > 1",
    ),
    # The first piece is in SYS_QUERY_HISTORY.
    "sys_query_text": ViewSelect("query_id, sequence, text", ("start_time",), "sequence > 0"),
    TRANSACTIONS: ViewSelect("transaction_id, status", ("transaction_start_time", "commit_end_time")),
    "sys_load_history": ViewSelect("query_id, loaded_rows", ("start_time", "end_time")),
    "sys_load_detail": ViewSelect("query_id, file_name", ("start_time", "end_time")),
    "sys_unload_history": ViewSelect("query_id, unloaded_rows", ("start_time", "end_time")),
    "sys_unload_detail": ViewSelect("query_id, file_name", ("start_time", "end_time")),
    "svv_all_columns": ViewSelect(
        "database_name, schema_name, table_name, column_name, ordinal_position, data_type",
        condition=f"schema_name {_NOT_SYSTEM}",
    ),
    "svv_external_tables": ViewSelect("redshift_database_name, schemaname, tablename, location"),
    DEFINITIONS: ViewSelect(
        "current_database() as database_name, schemaname, viewname, definition",
        condition=f"schemaname {_NOT_SYSTEM}",
    ),
}


def write_condition(column: str, start: datetime, end: datetime) -> str:
    """Return the condition that a time (UTC) is at or after `start` and before `end`."""
    return f"{column} >= '{start:%Y-%m-%d %H:%M:%S}' and {column} < '{end:%Y-%m-%d %H:%M:%S}'"
