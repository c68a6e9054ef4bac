"""Custom SQL of data sets of dashboard tools, by the SQL engine. Pure. Needs sqlglot."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lineage_merge.column_lineage.derive import Rows
from lineage_merge.column_lineage.value_graph import Value
from lineage_merge.model.elements import Reference
from lineage_merge.sources.data_source import DataSource

Columns = Value[str]

# <<$region>>: a parameter of the data set, in the place of a value.
_PARAMETER = re.compile(r"<<\s*\$[^<>]*>>")


@dataclass(frozen=True, slots=True)
class QueryTable:
    """The values of a query's columns, in the order of their names, and what decides on its rows."""

    values: Sequence[Columns]
    rows: Rows[str] = field(default_factory=Rows)
    problems: Sequence[str] = ()


def read_query(
    text: str,
    names: Sequence[str],
    source: DataSource,
    key: Callable[[Reference], str],
    tables: Mapping[str, Sequence[str]],
) -> QueryTable:
    """Return the result of a query. `key` names the tables that it reads; `tables`: known columns by key."""
    unknown = [Value[str]() for _ in names]
    try:
        from lineage_merge.column_lineage.sql.pushed_queries import PushedQuery, UnreadableQuery
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        return QueryTable(unknown, problems=["is a query, whose tables need sqlglot"])
    statement = _PARAMETER.sub("'parameter'", text).strip().rstrip(";")
    try:
        query = PushedQuery(statement, source.address, _dialect(source.dialect))
    except UnreadableQuery as error:
        return QueryTable(unknown, problems=[f"is a query whose tables are unknown: {error}"])
    keys: dict[str, str] = {}
    found: Iterable[str] = query.tables
    while True:
        for address in found:
            keys[address] = key(source.reference(address.removeprefix(f"{source.address}:")))
        read = query.values(names, {address: tables.get(keys[address], ()) for address in keys}, keys)
        # Values may read tables that are in no scope of the parser.
        found = read.columns.keys() - keys.keys()
        if not found:
            break
    values = [Value[str]() if value is None else value for value in read.values]
    return QueryTable(values, read.rows, read.problems)


def _dialect(name: str) -> str:
    from sqlglot import Dialect

    return name if Dialect.get(name) else ""
