"""A graph of columns, such as those of Parquet files.

Conditions are evaluated on columns, and edges are followed by the positions of their ends, as sorted 32-bit
integers. Only the elements of an answer become Python objects.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from typing import Any

from lineage_merge.graph_format.columns import Columns, rows_at, values_at
from lineage_merge.graph_format.elements import Edge, Vertex, edge_of_row, vertex_of_row
from lineage_merge.infra.arrow_tables import all_positions, position_array, positions_of, text_array
from lineage_merge.model.elements import decode
from lineage_merge.questions.backends.indexed_graph import Adjacency, IndexedGraph, Match
from lineage_merge.questions.graph import Direction

# Requests of ids that read all ids; after these, ids are sorted for requests of few.
_SCANS = 50
_FEW = 50


class ColumnarGraph(IndexedGraph):
    """A `LineageGraph` of the columns of nodes and edges; edges without both ends are omitted."""

    def __init__(self, nodes: Columns, edges: Columns) -> None:
        super().__init__(ColumnarVertices(nodes), _Edges(edges, nodes))


class ColumnarVertices:
    """Vertices of columns, by position."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._scans = 0

    def positions(self, ids: Iterable[str]) -> list[int]:
        import pyarrow.compute as pc

        wanted = list(dict.fromkeys(ids))
        column = self._columns.column("id")
        if not wanted or column is None:
            return []
        self._scans += 1
        if self._scans > _SCANS and len(wanted) < _FEW:
            return [position for identifier in wanted if (position := self._position(identifier)) is not None]
        # The few ids are the hash table, not those of the graph.
        order = pc.index_in(column, value_set=text_array(wanted))
        positions = pc.indices_nonzero(pc.is_valid(order))
        # The first of rows with the same id.
        by_order: dict[int, int] = {}
        for place, position in zip(positions_of(order.take(positions)), positions_of(positions), strict=True):
            by_order.setdefault(place, position)
        return [by_order[place] for place in sorted(by_order)]

    def _position(self, identifier: str) -> int | None:
        """Return the position of an id by binary search."""
        ids, order = self._columns.column("id"), self._order
        place = bisect_left(order, identifier, key=lambda position: str(ids[position].as_py()))
        if place < len(order) and ids[order[place]].as_py() == identifier:
            return order[place]
        return None

    @cached_property
    def _order(self) -> "memoryview[int]":
        """The positions sorted by id; of equal ids the first one is the first."""
        import pyarrow.compute as pc

        return positions_of(pc.sort_indices(self._columns.column("id")))

    def ids(self, positions: Sequence[int]) -> list[str]:
        return values_at(self._columns, "id", positions)

    def take(self, positions: Sequence[int]) -> list[Vertex]:
        return list(map(vertex_of_row, rows_at(self._columns, positions)))

    def select(
        self, labels: Sequence[str], environment: str | None, dag: str | None, match: Match | None = None
    ) -> Sequence[int]:
        conditions = match_scope(labels, environment, dag)
        return select_rows(self._columns, [*conditions, match] if match else conditions, self._duplicates)

    def environments(self) -> list[str]:
        import pyarrow.compute as pc

        column, ids = self._columns.column("environment"), self._columns.column("id")
        if ids is None:
            return []
        environments: set[str] = set()
        if column is not None:
            environments.update(pc.drop_null(pc.unique(column)).dictionary_decode().to_pylist())
            ids = ids.filter(pc.is_null(column))
        return sorted(environments | {decode(prefix.partition("|")[0]) for prefix in ids.to_pylist()})

    @cached_property
    def _duplicates(self) -> Any:
        """Whether a row is the first of its id; None: all are, as in all files that a build writes."""
        import pyarrow.compute as pc

        column = self._columns.column("id")
        if column is None or pc.count_distinct(column).as_py() == len(column):
            return None
        first = pc.index_in(column, value_set=column)
        return pc.is_in(all_positions(len(column)), value_set=pc.unique(first))


def match_scope(labels: Sequence[str], environment: str | None, dag: str | None) -> list[Match]:
    scope = (("environment", environment), ("dag_name", dag))
    return [
        Match(("label",), tuple(labels)),
        *(Match((key,), (value,)) for key, value in scope if value is not None),
    ]


class _Edges:
    def __init__(self, columns: Columns, nodes: Columns) -> None:
        self._columns = columns
        self._nodes = nodes
        self._adjacencies: dict[tuple[str, Direction, str | None], Adjacency] = {}

    def adjacency(self, label: str, direction: Direction, dag: str | None) -> Adjacency:
        key = label, direction, dag
        if key not in self._adjacencies:
            self._adjacencies[key] = self._adjacency(*key)
        return self._adjacencies[key]

    def _adjacency(self, label: str, direction: Direction, dag: str | None) -> Adjacency:
        import pyarrow.compute as pc

        edges = position_array(self.select([label], None, dag))
        if not len(edges):
            return Adjacency((), (), ())
        starts, ends = (column.take(edges) for column in self._ends)
        here, there = (starts, ends) if direction == "down" else (ends, starts)
        order = pc.sort_indices(here)
        ordered = [positions_of(column.take(order)) for column in (here, there, edges)]
        return Adjacency(ordered[0], ordered[1], ordered[2])

    def select(self, labels: Sequence[str], environment: str | None, dag: str | None) -> Sequence[int]:
        return select_rows(self._columns, match_scope(labels, environment, dag), self._complete)

    def ends(self, positions: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        if not len(positions):
            return (), ()
        edges = position_array(positions)
        starts, ends = (positions_of(column.take(edges)) for column in self._ends)
        return starts, ends

    def take(self, positions: Sequence[int]) -> list[Edge]:
        return list(map(edge_of_row, rows_at(self._columns, positions)))

    def values(self, key: str, positions: Sequence[int]) -> list[str]:
        return [value or "" for value in values_at(self._columns, key, positions)]

    @cached_property
    def _ends(self) -> tuple[Any, Any]:
        """The positions of the vertices where edges start and end; null for a missing vertex."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = self._nodes.column("id")
        ends = []
        for name in ("from", "to"):
            column = self._columns.column(name)
            if ids is None or column is None:
                ends.append(pa.nulls(self._columns.num_rows, pa.int32()))
            else:
                ends.append(pc.index_in(column.dictionary, value_set=ids).take(column.indices))
        return ends[0], ends[1]

    @cached_property
    def _complete(self) -> Any:
        """Whether an edge has both ends; None: all have."""
        import pyarrow.compute as pc

        if not any(column.null_count for column in self._ends):
            return None
        return pc.and_(*map(pc.is_valid, self._ends))


def select_rows(columns: Columns, conditions: Iterable[Match], only: Any) -> Sequence[int]:
    """Return the positions of rows that meet all conditions, and for which `only` is true (None: all)."""
    import pyarrow.compute as pc

    masks = [_mask(columns, condition) for condition in conditions]
    if any(mask is None for mask in masks):
        return ()
    if only is not None:
        masks.append(only)
    return positions_of(pc.indices_nonzero(reduce(pc.and_, masks)))


def _mask(columns: Columns, match: Match) -> Any:
    """Return for each row whether a condition holds; None: for no row."""
    import pyarrow.compute as pc

    known = [column for key in match.keys if (column := columns.column(key)) is not None]
    return reduce(pc.or_, [_mask_of_column(column, match) for column in known]) if known else None


def _mask_of_column(column: Any, match: Match) -> Any:
    """Return for each row whether a condition holds, false for unknown values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(column.type):
        rows = pc.list_parent_indices(column)
        if match.values is not None:
            rows = rows.filter(_mask_of_column(pc.list_flatten(column), match))
        return pc.is_in(all_positions(len(column)), value_set=pc.unique(rows.cast(pa.int32())))
    if match.values is None:
        return pc.is_valid(column)
    if pa.types.is_dictionary(column.type):
        distinct = pc.indices_nonzero(_mask_of_column(column.dictionary, match)).cast(pa.int32())
        return pc.is_in(column.indices, value_set=distinct)
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    if match.is_part:
        return reduce(pc.or_, [pc.match_substring(column, value) for value in match.values])
    return pc.is_in(column, value_set=text_array(match.values))
