"""A graph with a walk index (`infra.walk_index`): a question reads what its answer needs, whatever the size.

Names and ids are found by binary search, edges by the position of their ends. Where a question has other
conditions, these are evaluated on columns, as in a graph without an index.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lineage_merge.graph_format.columns import Columns, ColumnTable, rows_at, values_at
from lineage_merge.graph_format.elements import Edge, edge_of_row
from lineage_merge.infra.arrow_tables import position_array, positions_of
from lineage_merge.infra.walk_index.reading import NAME_KEYS, WalkIndex
from lineage_merge.questions.backends.columnar import ColumnarVertices, match_scope, select_rows
from lineage_merge.questions.backends.indexed_graph import (
    Adjacency,
    IndexedGraph,
    Match,
)
from lineage_merge.questions.graph import Direction

# Ids of which so many are asked at once are searched in the column, which reads all of it.
_SCANNED_SHARE = 50
_INDEXED = frozenset({"id", *NAME_KEYS})


class MappedGraph(IndexedGraph):
    """A `LineageGraph` of a walk index."""

    def __init__(self, index: WalkIndex) -> None:
        vertices = _Vertices(index)
        super().__init__(vertices, _Edges(index, vertices))
        self._index = index

    @cached_property
    def _has_fields(self) -> bool:
        return self._index.has_fields


def _columns_of(batch: Any) -> ColumnTable:
    return ColumnTable(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)


@dataclass(frozen=True)
class _Rows:
    """Some rows of columns, with dictionaries of their texts only."""

    columns: Columns
    positions: Sequence[int]

    @property
    def num_rows(self) -> int:
        return len(self.positions)

    @property
    def names(self) -> Collection[str]:
        return self.columns.names

    def column(self, name: str) -> Any:
        import pyarrow as pa

        column = self.columns.column(name)
        if column is None:
            return None
        taken = column.take(position_array(self.positions))
        is_encoded = pa.types.is_dictionary(taken.type)
        return taken.dictionary_decode().dictionary_encode() if is_encoded else taken


class _Vertices(ColumnarVertices):
    """The vertices of an index, whose ids are sorted and there once."""

    def __init__(self, index: WalkIndex) -> None:
        super().__init__(_columns_of(index.vertices))
        self._index = index

    def positions(self, ids: Iterable[str]) -> list[int]:
        wanted = list(dict.fromkeys(ids))
        if len(wanted) * _SCANNED_SHARE > self._index.vertices.num_rows:
            return super().positions(wanted)
        return self._index.positions_of_ids(wanted)

    def select(
        self, labels: Sequence[str], environment: str | None, dag: str | None, match: Match | None = None
    ) -> Sequence[int]:
        candidates = self._candidates(match)
        if candidates is None or match is None:
            return super().select(labels, environment, dag, match)
        conditions = [*match_scope(labels, environment, dag), match]
        rows = select_rows(_Rows(self._columns, candidates), conditions, None)
        return [candidates[row] for row in rows]

    def _candidates(self, match: Match | None) -> list[int] | None:
        """Return the positions of rows that may meet a condition, ascending; None: it has no index."""
        if match is None or match.values is None or not _INDEXED.issuperset(match.keys):
            return None
        if match.is_part:
            return None if "id" in match.keys else self._index.positions_containing(match.values)
        found = {position for value in match.values for position in self._index.positions_named(value)}
        if "id" in match.keys:
            found.update(self._index.positions_of_ids(match.values))
        return sorted(found)

    def environments(self) -> list[str]:
        import pyarrow.compute as pc

        column = self._columns.column("environment")
        if column is None or column.null_count:
            return super().environments()
        return sorted(pc.unique(column).dictionary_decode().to_pylist())

    @cached_property
    def _duplicates(self) -> Any:
        return None


class _Edges:
    """The edges of an index, which all have both ends."""

    def __init__(self, index: WalkIndex, vertices: _Vertices) -> None:
        self._index = index
        self._vertices = vertices
        self._columns = _columns_of(index.edges)

    def adjacency(self, label: str, direction: Direction, dag: str | None) -> Adjacency:
        return Adjacency(*self._index.adjacency(label, direction), self._is_of(dag))

    def _is_of(self, dag: str | None) -> Callable[[int], bool] | None:
        import pyarrow.compute as pc

        if dag is None:
            return None
        column = self._columns.column("dag_name")
        code = None if column is None else pc.index(column.dictionary, dag).as_py()
        if code is None or code < 0:
            return lambda _edge: False
        codes = positions_of(column.indices.fill_null(-1))
        return lambda edge: codes[edge] == code

    def select(self, labels: Sequence[str], environment: str | None, dag: str | None) -> Sequence[int]:
        return select_rows(self._columns, match_scope(labels, environment, dag), None)

    def ends(self, positions: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        if not len(positions):
            return (), ()
        edges = position_array(positions)
        starts, ends = (positions_of(self._columns.column(end).take(edges)) for end in ("from", "to"))
        return starts, ends

    def take(self, positions: Sequence[int]) -> list[Edge]:
        rows = rows_at(self._columns, positions)
        ends = self.ends(positions)
        vertices = sorted({*ends[0], *ends[1]})
        ids = dict(zip(vertices, self._vertices.ids(vertices), strict=True))
        return [
            edge_of_row({**row, "from": ids[start], "to": ids[end]})
            for row, start, end in zip(rows, *ends, strict=True)
        ]

    def values(self, key: str, positions: Sequence[int]) -> list[str]:
        return [value or "" for value in values_at(self._columns, key, positions)]
