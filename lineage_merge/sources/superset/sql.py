"""SQL of Superset: expressions over a data set, and the queries of virtual ones. Pure. Needs sqlglot."""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import NamedTuple

from lineage_merge.column_lineage.value_graph import Input, Value
from lineage_merge.model.elements import Reference
from lineage_merge.sources.custom_sql import Columns, QueryTable, read_query
from lineage_merge.sources.data_source import DataSource, quote_table
from lineage_merge.sources.superset.template_values import Unrenderable
from lineage_merge.sources.superset.templates import VALUE, strip_templates

_URL = "data-set"
# How Superset calls a virtual data set in queries.
VIRTUAL = "virtual_table"
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


class Expression(NamedTuple):
    """The value of an expression, the columns that it names and its data set does not have, and a problem."""

    value: Columns
    lost: tuple[str, ...] = ()
    problem: str = ""


def name_table(catalog: str, schema: str, table: str) -> str:
    """Return the name of a table as SQL has it: names in lower case are in any case, as SQLAlchemy has it."""
    parts = [catalog, schema, table] if schema else [table]
    return ".".join(part if _PLAIN.fullmatch(part) else quote_table([part]) for part in parts if part)


def read_expression(
    text: str, dialect: str, table: str, columns: Mapping[str, Columns], key: Callable[[str], str]
) -> Expression:
    """Return the value of an expression over a data set that is called `table` there.

    `key` returns the key of another table that it reads, by its name.
    """
    try:
        from sqlglot import Dialect

        from lineage_merge.column_lineage.sql.pushed_queries import PushedQuery, UnreadableQuery
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        return Expression(Value(), problem="is an expression, whose columns need sqlglot")
    name = table if _PLAIN.fullmatch(table) else VIRTUAL
    try:
        statement = f"SELECT {text}\n AS field FROM {name}"  # noqa: S608 (never run)
        query = PushedQuery(statement, _URL, dialect if Dialect.get(dialect) else "")
    except UnreadableQuery as error:
        return Expression(Value(), problem=f"is an expression that is unknown: {error}")
    own = f"{_URL}:{name}"
    if own not in query.tables:
        return Expression(Value(), problem="is an expression that is unknown: cannot be parsed")
    others = [address for address in query.tables if address != own]
    keys = {address: key(address.removeprefix(f"{_URL}:")) for address in others}
    read = query.values(["field"], {own: tuple(columns)}, {**keys, own: own})
    value = read.values[0] or Value()
    used = {one for one in read.columns.get(own, ()) if one not in columns}
    _replace_columns(value, own, columns)
    problem = "" if read.values[0] or not read.problems else read.problems[0]
    return Expression(value, tuple(sorted(used)), problem)


def _replace_columns(value: Columns, own: str, columns: Mapping[str, Columns]) -> None:
    """Make the columns of the data set in a graph of values what they are."""
    seen = {value}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        one.resolve()
        names = [column.column for column in one.columns if column.source == own]
        if names:
            one.columns = tuple(column for column in one.columns if column.source != own)
            one.inputs = [*one.inputs, *(Input(columns[name]) for name in names if name in columns)]
        else:
            new = [each.value for each in one.inputs if each.value not in seen]
            seen.update(new)
            waiting += new


def quote_columns(names: Sequence[str], dialect: str) -> list[str]:
    """Return names of columns as SQL has them. Needs sqlglot."""
    from sqlglot import Dialect, exp

    known = dialect if Dialect.get(dialect) else None
    return [exp.column(name, quoted=True).sql(known) for name in names]


def read_virtual(
    text: str,
    names: Sequence[str],
    source: DataSource,
    key: Callable[[Reference], str],
    tables: Mapping[str, Sequence[str]],
) -> QueryTable:
    """Return the columns of a virtual data set by their names; in the query they may be in another order."""
    if find_spec("sqlglot") is None:
        return read_query(text, names, source, key, tables)
    columns = ", ".join(quote_columns(names, source.dialect)) or "*"
    query = text.strip().rstrip(";")
    statement = f"SELECT {columns} FROM (\n{query}\n) AS {VIRTUAL}"  # noqa: S608 (never run)
    return read_query(statement, names, source, key, tables)


def read_tables(text: str, source: DataSource, key: Callable[[Reference], str]) -> bool:
    """Call `key` for the tables of SQL that cannot be rendered; return whether they are known."""
    try:
        statement = strip_templates(text)
    except Unrenderable:
        return False

    found: set[str] = set()

    def key_of(reference: Reference) -> str:
        if reference.name.lower().endswith(VALUE):
            return ""
        found.add(key(reference))
        return key(reference)

    read_query(statement, [], source, key_of, {})
    return bool(found)
