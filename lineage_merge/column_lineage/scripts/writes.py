"""Lineage of one statement and one target dataset. Pure."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sqlglot import exp

from lineage_merge.column_lineage.sql.derivation import Columns, Influences
from lineage_merge.model.elements import DatasetLabel

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

    `columns`: the derivation of each written column. `assumed`: they have the names of the query's.
    """

    target: str
    line: int
    mode: Mode = ""
    label: DatasetLabel | None = None
    reads: Reads = field(default_factory=Reads)
    columns: Columns = field(default_factory=list)
    influences: Influences = field(default_factory=dict)
    assumed: bool = False

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
