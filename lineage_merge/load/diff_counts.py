"""Counts the elements of a comparison by kind and change. No connection."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import add
from typing import Literal

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.diff import UNWRITTEN, Compared
from lineage_merge.load.graph_state import StoredEdge

# Columns' edges: a job type that has none of them may only lack a parser.
OF_COLUMNS = frozenset({"feeds_column", "influences"})

# The kind, the change, and of an edge between columns the type of its job.
_Key = tuple[Literal["node", "edge", "cleared", "interim"], str, str]


@dataclass(frozen=True, slots=True)
class DiffCounts:
    """Numbers of a comparison, by change (`load.diff.Change`).

    `cleared`: vertices and edges that lose a property. `interim`: edges whose id a killed load left to be
    corrected. `column_job_types`: the types of jobs of which the merge has edges between columns.
    """

    nodes: dict[str, int]
    edges: dict[str, int]
    cleared: int
    interim: int
    column_job_types: frozenset[str]

    @property
    def unmatched(self) -> int:
        """Vertices with the DAG's tag that the merge does not have."""
        return self.nodes.get("unmatched", 0)

    @property
    def absent(self) -> int:
        """Edges of the DAG that the merge does not have."""
        return self.edges.get("absent", 0)

    @property
    def stored_edges(self) -> int:
        """Edges of the DAG that the graph has."""
        return sum(count for change, count in self.edges.items() if change != "new")

    @property
    def unchanged(self) -> int:
        """Elements that are equal in the graph."""
        return self.nodes.get("same", 0) + self.edges.get("same", 0)

    @property
    def nodes_to_write(self) -> int:
        """Nodes that are new or differ."""
        return _to_write(self.nodes)

    @property
    def edges_to_write(self) -> int:
        """Edges that are new or differ."""
        return _to_write(self.edges)


def count_differences(
    nodes: Rows[Compared], edges: Rows[Compared], stored_edges: Rows[StoredEdge]
) -> DiffCounts:
    """Count what `load.diff` compared, and the edges of the graph whose id is to be corrected."""
    keys: Rows[tuple[_Key, int]] = nodes.flat_map(_keys_of_node)
    counts = keys.union(edges.flat_map(_keys_of_edge), stored_edges.flat_map(_key_of_interim))
    found = counts.combine(_itself, add, add).collect()
    return DiffCounts(
        nodes=_by_change(found, "node"),
        edges=_by_change(found, "edge"),
        cleared=sum(_by_change(found, "cleared").values()),
        interim=sum(_by_change(found, "interim").values()),
        column_job_types=frozenset(
            job_type
            for (kind, change, job_type), _ in found
            if kind == "edge" and job_type and change != "absent"
        ),
    )


def _keys_of_node(node: Compared) -> Iterator[tuple[_Key, int]]:
    yield ("node", node.change, ""), 1
    if node.cleared:
        yield ("cleared", "", ""), 1


def _keys_of_edge(edge: Compared) -> Iterator[tuple[_Key, int]]:
    job_type = edge.row.get("job_type", "") if edge.row.get("label") in OF_COLUMNS else ""
    yield ("edge", edge.change, job_type), 1
    if edge.cleared:
        yield ("cleared", "", ""), 1


def _key_of_interim(edge: StoredEdge) -> Iterable[tuple[_Key, int]]:
    return ((("interim", "", ""), 1),) if edge.interim else ()


def _itself(count: int) -> int:
    return count


def _by_change(found: Iterable[tuple[_Key, int]], wanted: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for (kind, change, _), count in found:
        if kind == wanted:
            counts[change] = counts.get(change, 0) + count
    return counts


def _to_write(counts: dict[str, int]) -> int:
    return sum(count for change, count in counts.items() if change not in UNWRITTEN)
