"""Lineage of one statement and one target dataset. Pure."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeVar

from sqlglot import exp

from lineage_merge.column_lineage.derive import derive_flows, derive_influences
from lineage_merge.column_lineage.sql.row_changes import drop_copies
from lineage_merge.column_lineage.sql.sql_values import Columns, SqlColumn, SqlRows
from lineage_merge.column_lineage.transformations import ColumnFlow, Influence
from lineage_merge.model.elements import DatasetLabel

_Edge = TypeVar("_Edge", ColumnFlow[str], Influence[str])
Mode = Literal["append", "overwrite", "merge", "update", "delete", ""]


@dataclass(slots=True)
class Read:
    """How a statement reads a dataset: with the temporary tables between; not `rows`: only its metadata.

    `assumed`: the names of its columns are assumed. `columns_lost`: they are unknown.
    """

    via: set[str] = field(default_factory=set)
    rows: bool = False
    assumed: bool = False
    columns_lost: bool = False


class Reads(dict[str, Read]):
    """The datasets that a statement reads."""

    def add(
        self,
        key: str,
        via: Iterable[str] = (),
        *,
        rows: bool = True,
        assumed: bool = False,
        columns_lost: bool = False,
    ) -> None:
        """Add a read of a dataset."""
        read = self.setdefault(key, Read())
        read.via.update(via)
        read.rows = read.rows or rows
        read.assumed = read.assumed or assumed
        read.columns_lost = read.columns_lost or columns_lost

    def include(self, others: "Reads", via: Iterable[str] = ()) -> None:
        """Add the reads of a query, or of a temporary table, whose name is then `via`."""
        for key, read in others.items():
            via_all = {*read.via, *via}
            self.add(key, via_all, rows=read.rows, assumed=read.assumed, columns_lost=read.columns_lost)


@dataclass(slots=True)
class Write:
    """A statement's write to one dataset. Datasets are keys of `scripts.datasets.Datasets`.

    `columns`: the value of each written column; `rows`: what decides on the rows. `assumed`: the columns have
    the names of the query's. `changed`: the dataset whose rows are changed ("": none), of which the columns
    that stay are no lineage. `renamed` returns the final name of a column that is read.
    """

    target: str
    line: int
    mode: Mode = ""
    label: DatasetLabel | None = None
    reads: Reads = field(default_factory=Reads)
    columns: Columns = field(default_factory=list)
    rows: SqlRows = field(default_factory=SqlRows)
    assumed: bool = False
    changed: str = ""
    renamed: Callable[[SqlColumn], SqlColumn] | None = None

    def rename(self, renamed: Callable[[SqlColumn], SqlColumn]) -> None:
        """Give columns that are read the names that `renamed` returns, after those that they have so far."""
        before = self.renamed
        self.renamed = renamed if before is None else lambda column: renamed(before(column))

    def lineage(self) -> tuple[Iterable[ColumnFlow[str]], Iterable[Influence[str]]]:
        """Return the flows into the columns, and the influences on the rows."""
        flows = drop_copies(derive_flows(self.columns), self.changed)
        influences = (one for one in derive_influences(self.rows) if one.source != self.changed)
        return map(self._rename, flows), map(self._rename, influences)

    def _rename(self, edge: _Edge) -> _Edge:
        if self.renamed is None:
            return edge
        column = self.renamed(SqlColumn(edge.source, edge.column))
        return replace(edge, source=column.source, column=column.column)

    @property
    def is_assumed(self) -> bool:
        """Return whether names of columns are assumed, of the target or of what it reads."""
        return self.assumed or any(read.assumed for read in self.reads.values())


class LoadedColumns(NamedTuple):
    """The columns that a load of files fills; `problem`: why they are unknown; `assumed`: as in `Write`."""

    columns: Columns
    problem: str = ""
    assumed: bool = False


# Of a COPY into a table with these columns (empty: unknown), from these datasets.
LoadColumns = Callable[[exp.Copy, Sequence[str], Collection[str]], LoadedColumns]


@dataclass(slots=True)
class Note:
    """A problem with a statement: `kind` as in `model.elements.Problem`."""

    kind: Literal["rejected", "skipped", "not-joined", "no-columns", "notice"]
    line: int
    message: str
