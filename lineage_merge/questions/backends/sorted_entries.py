"""A graph of sorted entries of the history: a walk decodes the row groups that have its elements.

Other questions read whole columns, and so do walks once they have searched several times as many row groups
as there are: a walk with many steps through all of a graph searches the same ones again and again.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from itertools import product

from lineage_merge.graph_format.columns import LateColumns, rows_at, values_at
from lineage_merge.graph_format.elements import COLUMN, Edge, Vertex, edge_of_row, vertex_of_row
from lineage_merge.graph_format.schema import Row
from lineage_merge.history.row_groups import GroupColumns, RowGroups
from lineage_merge.history.sorted_entries import SortedEntry, picture_of_entries
from lineage_merge.questions.backends.columnar import ColumnarGraph, select_rows
from lineage_merge.questions.backends.indexed_graph import FIELDS, HAS_FULL_NAME, NAMES, Match
from lineage_merge.questions.graph import Direction

# Searches per row group after which a graph reads whole columns.
SEARCHES = 4.0
# A row group, and the texts that it may have.
_Found = tuple[GroupColumns, Sequence[str]]


class SortedEntriesGraph(ColumnarGraph):
    """A `LineageGraph` of entries, one per DAG, by precedence: of nodes with the same id the last."""

    def __init__(self, entries: Sequence[SortedEntry]) -> None:
        picture = cache(partial(picture_of_entries, entries))
        super().__init__(LateColumns(lambda: picture().nodes), LateColumns(lambda: picture().edges))
        self._entries = entries
        self._searched = 0
        self._nodes = [groups for entry in entries for groups in entry.nodes]
        self._existing: dict[str, bool] = {}

    def environments(self) -> list[str]:
        """See `LineageGraph`."""
        return sorted({entry.scope.environment for entry in self._entries if any(map(len, entry.nodes))})

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        """See `LineageGraph`."""
        wanted = list(dict.fromkeys(ids))
        if self._reads_columns:
            return super().vertices(wanted)
        rows: dict[str, Row] = {}
        dags: dict[str, list[str]] = {}
        for entry in self._entries:
            environment, dag = entry.scope
            own = {
                row["id"]: row
                for groups in entry.nodes
                for row in _rows(self._find(groups, "id", wanted), "id")
            }
            for identifier, row in own.items():
                dags.setdefault(identifier, []).append(dag)
                rows[identifier] = {"environment": environment, "dag_name": dags[identifier], **row}
        return [vertex_of_row(rows[identifier]) for identifier in wanted if identifier in rows]

    def find_named(
        self, text: str, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        conditions = [Match(("label",), tuple(labels))]
        ids = {text}
        for groups, key in product(self._nodes, NAMES):
            found = ((group, (text,)) for group in groups.scan(key, text))
            ids.update(_values(found, key, "id", conditions))
        return [
            vertex
            for vertex in self.vertices(sorted(ids))  # of the newest entry, which may have another name
            if vertex.label in labels
            and text in (vertex.id, *(vertex.properties.get(key) for key in NAMES))
            and environment in (None, vertex.environment)
            and (dag is None or dag in vertex.dags)
        ]

    def edges_from(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        wanted = sorted(set(ids))
        if self._reads_columns:
            return super().edges_from(wanted, labels, dag)
        targets = self._neighbors(wanted, labels, "down", dag)
        return self._read_edges(
            targets, [Match(("from",), tuple(wanted)), Match(("label",), tuple(labels))], dag
        )

    def edges_to(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        wanted = sorted(set(ids))
        if self._reads_columns:
            return super().edges_to(wanted, labels, dag)
        return self._read_edges(wanted, [Match(("label",), tuple(labels))], dag)

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """See `LineageGraph`."""
        starts = set(ids)
        along = [label for label in labels if label != FIELDS]
        reached: set[str] = set()
        frontier = starts
        hops = 0
        while frontier and (depth is None or hops < depth):
            if self._reads_columns:
                return super().reach(starts, labels, direction, depth, dag)
            here = self._find_existing(frontier)
            following = self._neighbors(here, along, direction, dag)
            if FIELDS in labels and (fields := self._neighbors(here, [FIELDS], "down", dag)):
                following |= fields if self._has_fields else set()
            frontier = self._find_existing(following - reached)
            reached |= frontier
            hops += 1
        return reached

    def edges_below(
        self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None, ends: Sequence[str] = ()
    ) -> list[Edge]:
        """See `LineageGraph`."""
        starts = set(ids)
        return self.edges_from(starts | self.reach(starts, labels, "down", None, dag), (*labels, *ends), dag)

    @property
    def _reads_columns(self) -> bool:
        """Whether walks read so much that whole columns cost less."""
        row_groups = sum(len(entry.edges_to) + sum(map(len, entry.nodes)) for entry in self._entries)
        return self._searched > SEARCHES * row_groups

    def _find(self, groups: RowGroups, column: str, texts: Collection[str]) -> Iterator[_Found]:
        for found in groups.find(column, texts):
            self._searched += 1
            yield found

    @cached_property
    def _has_fields(self) -> bool:
        conditions = [Match(("label",), (COLUMN,)), HAS_FULL_NAME]
        row_groups = (group for groups in self._nodes for group in groups)
        return any(len(select_rows(group, conditions, None)) for group in row_groups)

    def _entries_of(self, dag: str | None) -> Iterator[SortedEntry]:
        return (entry for entry in self._entries if dag in (None, entry.scope.dag_name))

    def _find_existing(self, ids: Collection[str]) -> set[str]:
        """Return those ids that have a vertex: edges without both ends are omitted."""
        unknown = {identifier for identifier in ids if identifier not in self._existing}
        for groups in self._nodes:
            if not unknown:
                break
            found = set(_values(self._find(groups, "id", unknown), "id", "id", []))
            self._existing.update(dict.fromkeys(found, True))
            unknown -= found
        self._existing.update(dict.fromkeys(unknown, False))
        return {identifier for identifier in ids if self._existing[identifier]}

    def _neighbors(
        self, ids: Collection[str], labels: Sequence[str], direction: Direction, dag: str | None
    ) -> set[str]:
        """Return the other ends of edges, which need not exist."""
        others: set[str] = set()
        conditions = [Match(("label",), tuple(labels))]
        for entry in self._entries_of(dag) if labels else ():
            if direction == "down":
                found = self._find(entry.edges_from, "from", ids)
                others.update(_values(found, "from", "to", conditions))
            else:
                others.update(_values(self._find(entry.edges_to, "to", ids), "to", "from", conditions))
        return others

    def _read_edges(
        self, targets: Collection[str], conditions: Sequence[Match], dag: str | None
    ) -> list[Edge]:
        rows = [
            {**entry.scope._asdict(), **row}
            for entry in self._entries_of(dag)
            for row in _rows(self._find(entry.edges_to, "to", targets), "to", conditions)
        ]
        existing = self._find_existing({row[end] for row in rows for end in ("from", "to")})
        return [edge_of_row(row) for row in rows if row["from"] in existing and row["to"] in existing]


def _rows(found: Iterable[_Found], key: str, conditions: Sequence[Match] = ()) -> Iterator[Row]:
    """Yield the rows whose key is one of those texts of their row group, and that meet conditions."""
    for group, texts in found:
        if len(rows := _select(group, texts, key, conditions)):
            group.decode(group.names)
            yield from rows_at(group, rows)


def _values(found: Iterable[_Found], key: str, name: str, conditions: Sequence[Match]) -> Iterator[str]:
    """Yield the values of a column of such rows."""
    for group, texts in found:
        yield from values_at(group, name, _select(group, texts, key, conditions))


def _select(
    group: GroupColumns, texts: Sequence[str], key: str, conditions: Sequence[Match]
) -> Sequence[int]:
    has_key = Match((key,), tuple(texts))
    rows = select_rows(group, [has_key], None)
    # Other columns are decoded only if a row has the key.
    return select_rows(group, [has_key, *conditions], None) if conditions and len(rows) else rows
