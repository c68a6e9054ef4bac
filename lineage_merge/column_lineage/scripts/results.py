"""The lineage of one SQL file. Pure."""

from dataclasses import dataclass, field

from sqlglot import exp

from lineage_merge.column_lineage.scripts.shapes import Shape
from lineage_merge.column_lineage.scripts.writes import Note, Write
from lineage_merge.column_lineage.sql.sql_values import SqlColumn
from lineage_merge.model.elements import DatasetLabel


@dataclass(frozen=True, slots=True)
class Created:
    """A table or view that a file creates: its columns, and its path ("": unknown)."""

    key: str
    line: int
    label: DatasetLabel
    shape: Shape
    location: str = ""


@dataclass(slots=True)
class FileLineage:
    """The lineage of one file.

    `altered` are columns added to (or dropped from, renamed in) tables, in order; `learned` are columns that
    its queries reference in tables without known columns. `dropped`: tables that no longer exist after it.
    `read` includes what only a plain SELECT reads, `read_columns` the columns that it names or returns.
    `calls`: line and name of the procedures that it calls.
    """

    name: str
    writes: list[Write] = field(default_factory=list)
    created: list[Created] = field(default_factory=list)
    altered: list[tuple[str, exp.Expr]] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    read_columns: set[SqlColumn] = field(default_factory=set)
    learned: dict[str, list[str]] = field(default_factory=dict)
    calls: list[tuple[int, str]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
