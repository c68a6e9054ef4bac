"""Lineage of one statement and one target dataset. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from lineage_merge.column_lineage.sql.derivation import Columns, Influences
from lineage_merge.model.elements import DatasetLabel

Mode = Literal["append", "overwrite", "merge", "update", "delete", ""]


@dataclass(slots=True)
class Read:
    """How a statement reads a dataset: with the temporary tables between; not `rows`: only its metadata."""

    via: set[str] = field(default_factory=set)
    rows: bool = False


class Reads(dict[str, Read]):
    """The datasets that a statement reads."""

    def add(self, key: str, via: Iterable[str] = (), *, rows: bool = True) -> None:
        """Add a read of a dataset."""
        read = self.setdefault(key, Read())
        read.via.update(via)
        read.rows = read.rows or rows

    def include(self, others: "Reads", via: Iterable[str] = ()) -> None:
        """Add the reads of a query, or of a temporary table, whose name is then `via`."""
        for key, read in others.items():
            self.add(key, {*read.via, *via}, rows=read.rows)


@dataclass(slots=True)
class Write:
    """A statement's write to one dataset. Datasets are keys of `names.Datasets`.

    `columns`: the derivation of each written column. `columns_lost`: the columns of the data are unknown.
    `assumed`: the written columns have the names of the query's.
    """

    target: str
    line: int
    mode: Mode = ""
    label: DatasetLabel | None = None
    reads: Reads = field(default_factory=Reads)
    columns: Columns = field(default_factory=list)
    influences: Influences = field(default_factory=dict)
    columns_lost: bool = False
    assumed: bool = False


@dataclass(slots=True)
class Note:
    """A problem with a statement: `kind` as in `model.Problem`."""

    kind: Literal["rejected", "skipped", "not-joined", "no-columns", "notice"]
    line: int
    message: str
