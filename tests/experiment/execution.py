"""Tables of experiments in DuckDB, with changed values of one column at a time."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

ROWS = 50
# Kinds of changes: every value, their order, one value, some become NULL.
CHANGES = ("replaced", "permuted", "one", "nulls")


@dataclass(frozen=True)
class Column:
    """A column: its type, the SQL of its value in row `i`, and that of a changed value `c`."""

    type: str
    value: str
    changed: str


@dataclass(frozen=True)
class Table:
    """A source table. `rows`: where they are, with a number `i`; empty: they are computed."""

    name: str
    columns: Mapping[str, Column]
    rows: str = ""

    def ddl(self, name: str = "") -> str:
        """Return the CREATE TABLE."""
        columns = ", ".join(f"{column} {kind.type}" for column, kind in self.columns.items())
        return f"create table {name or self.name} ({columns})"


def _number(value: str, kind: str = "INTEGER") -> Column:
    return Column(kind, value, "c + 1000")


# Of fixed length, and never NULL: by definition, an array that is unfolded decides on no rows.
_LIST = Column("INTEGER[]", "[i % 5, i % 3, (i * 7) % 11]", "[c[1] + 100, c[2] + 200, c[3] + 300]")
_STRUCT = Column(
    "STRUCT(x INTEGER, y VARCHAR)", "{'x': i % 9, 'y': 'y' || (i % 4)}", "{'x': c.x + 50, 'y': c.y || '!'}"
)
_MAP = Column("MAP(VARCHAR, INTEGER)", "map {'p': i % 6, 'q': i % 10}", "map {'p': 91, 'q': 92}")
_TEXT = Column("VARCHAR", "chr(97 + (i % 5)::INTEGER) || (i % 13)", "c || 'zz'")

# Keys match, so that joins have rows; `n` has NULLs.
TABLES = (
    Table(
        "t",
        {
            "id": _number("i"),
            "k": Column("INTEGER", "i % 12", "(c + 1) % 12"),
            "g": Column("INTEGER", "i % 4", "(c + 1) % 4"),
            "a": _number("(i * 7) % 23"),
            "b": _number("(i * 5) % 19"),
            "n": Column("INTEGER", "case when i % 3 = 0 then null else i % 8 end", "coalesce(c, 0) + 500"),
            "d": Column("DATE", "date '2026-01-01' + (i * 9)::INTEGER", "c + 400"),
            "s": _TEXT,
            "l": _LIST,
            "st": _STRUCT,
            "m": _MAP,
        },
    ),
    Table(
        "u",
        {
            "id": _number("i"),
            "k": Column("INTEGER", "i % 12", "(c + 1) % 12"),
            "x": _number("(i * 11) % 29"),
            "y": _number("(i * 3) % 17"),
            "s": _TEXT,
        },
    ),
    Table("v", {"k": Column("INTEGER", "i % 12", "(c + 1) % 12"), "z": _number("(i * 13) % 31"), "w": _TEXT}),
)
# What UPDATE, DELETE, MERGE and INSERT change.
TARGET = Table(
    "tgt",
    {
        "id": Column("INTEGER PRIMARY KEY", "i * 2", ""),
        "a": _number("i % 21"),
        "b": _number("i % 18"),
        "s": _TEXT,
    },
)

Row = tuple[Any, ...]
# A column of a table.
Source = tuple[str, str]


@dataclass
class Result:
    """The rows of a query, or of the target after a statement."""

    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)


class StatementError(Exception):
    """A statement that cannot be run on these values."""


def connect() -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory that writes no files: a statement out of memory fails.

    By default DuckDB continues in `.tmp` of the working directory, up to 90 % of the disk.
    """
    return duckdb.connect(config={"temp_directory": "", "memory_limit": "4GB"})


class Laboratory:
    """Tables in DuckDB; `changed` selects the values of one column.

    Each column has its changed values in the base table beside it, so a change is another view.
    """

    def __init__(
        self,
        tables: tuple[Table, ...] = TABLES,
        target: Table | None = TARGET,
        rows: int = ROWS,
        connection: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        self.tables = tables
        self._target = target
        self._connection = connection or connect()
        self._connection.execute("set threads = 1")
        for table in tables:
            self._connection.execute(_base(table, rows))
            self._view(table, {})
        if target is not None:
            columns = ", ".join(f"{column.value} as {name}" for name, column in target.columns.items())
            self._connection.execute(
                f"create table {target.name}__base as select {columns} from range({rows // 2}) r(i)"
            )

    def store(self, table: Table, file: str) -> None:
        """Write a table as Parquet."""
        self._connection.execute(f"copy (select {', '.join(table.columns)} from {table.name}) to '{file}'")

    def sources(self) -> Iterator[Source]:
        """Yield each column that experiments change."""
        for table in self.tables:
            for column in table.columns:
                yield table.name, column

    def run(self, statement: str, changed: Collection[Source] = (), change: str = "") -> Result:
        """Run a statement with changed columns; return its result, or the target's rows.

        Raises `StatementError`.
        """
        tables = [table for table in self.tables if any(name == table.name for name, _ in changed)]
        for table in tables:
            self._view(table, {column: change for name, column in changed if name == table.name})
        try:
            return self._run(statement)
        except duckdb.Error as error:
            raise StatementError(str(error)) from None
        finally:
            for table in tables:
                self._view(table, {})

    def _run(self, statement: str) -> Result:
        if not changes_rows(statement):
            return self._result(statement)
        target = self._target
        if target is None:
            raise ValueError("no target")
        self._connection.execute(f"create or replace {target.ddl().removeprefix('create ')}")
        self._connection.execute(f"insert into {target.name} from {target.name}__base")
        self._connection.execute(statement)
        return self._result(f"from {target.name}")

    def _result(self, query: str) -> Result:
        found = self._connection.execute(query)
        columns = tuple(str(column[0]) for column in found.description or ())
        return Result(columns, [tuple(map(comparable, row)) for row in found.fetchall()])

    def _view(self, table: Table, changes: Mapping[str, str]) -> None:
        columns = ", ".join(
            f"{name}__{changes[name]} as {name}" if name in changes else name for name in table.columns
        )
        self._connection.execute(
            f"create or replace view {table.name} as select {columns} from {table.name}__base"
        )


_CHANGE = r"(?:insert|update|delete|merge)\b"
_CHANGES_ROWS = re.compile(rf"\s*(?:{_CHANGE}|with\b.*\)\s*{_CHANGE})", re.IGNORECASE | re.DOTALL)


def changes_rows(statement: str) -> bool:
    """Return whether a statement changes the target."""
    return _CHANGES_ROWS.match(statement) is not None


def _base(table: Table, rows: int) -> str:
    """Return the CREATE TABLE of a source table with the changed values of each column beside it."""
    plain = ", ".join(f"({column.value})::{column.type} as {name}" for name, column in table.columns.items())
    columns = []
    for name, column in table.columns.items():
        changed = f"(select {column.changed} from (select {name} as c))::{column.type}"
        has_nulls = not column.type.endswith("[]")
        columns += [
            name,
            f"{changed} as {name}__replaced",
            f"lead({name}, 5, {name}) over (order by i) as {name}__permuted",
            f"case when i = 17 then {changed} else {name} end as {name}__one",
            f"case when i % 4 <> 1 or {not has_nulls} then {name} end as {name}__nulls",
        ]
    rows_of = table.rows or f"range({rows}) r(i)"
    inner = f"select i, {plain} from {rows_of}"
    return f"create table {table.name}__base as select {', '.join(columns)} from ({inner})"


def comparable(value: Any) -> Any:
    """Return a value that can be counted: rounded, and with tuples for lists and maps."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return tuple(map(comparable, value))
    if isinstance(value, dict):
        return tuple((key, comparable(inner)) for key, inner in value.items())
    return value
