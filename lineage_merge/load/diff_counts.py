"""Counts of compared elements by kind and change. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from operator import add, attrgetter
from typing import Literal

from lineage_merge.graph_format.schema import RUN_LABELS
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.diff import UNWRITTEN, Compared
from lineage_merge.load.graph_state import StoredEdge

# Edges of column lineage. A job type without any of them may only lack a parser.
COLUMN_EDGE_LABELS = frozenset({"feeds_column", "influences"})

# Kind, change, and for column lineage the job type, for nodes whether they have properties of a run.
_Key = tuple[Literal["node", "edge", "cleared", "interim"], str, str]
_RUN = "run"
_INTERIM: _Key = ("interim", "", "")


@dataclass(frozen=True, slots=True)
class DiffCounts:
    """Elements per change (`load.diff.Change`).

    `cleared`: elements from which a property, or a value of a set, is removed. `interim`: edges with an
    interim id, left by a killed load. `column_job_types`: types of the jobs for which the merge has column
    lineage. `changed_runs`: changed jobs and assertions.
    """

    nodes: dict[str, int]
    edges: dict[str, int]
    cleared: int
    interim: int
    column_job_types: frozenset[str]
    changed_runs: int = 0

    @property
    def unmatched_vertices(self) -> int:
        """Return the number of vertices with the DAG's tag that the merge does not have."""
        return self.nodes.get("unmatched", 0)

    @property
    def unmatched_edges(self) -> int:
        """Return the number of edges of the DAG that the merge does not have."""
        return self.edges.get("unmatched", 0)

    @property
    def stored_edges(self) -> int:
        """Return the number of stored edges of the DAG."""
        return sum(count for change, count in self.edges.items() if change != "new")

    @property
    def unchanged(self) -> int:
        """Return the number of elements that are identical in the graph."""
        return self.nodes.get("unchanged", 0) + self.edges.get("unchanged", 0)

    @property
    def nodes_to_write(self) -> int:
        """Return the number of nodes that are new or differ."""
        return _to_write(self.nodes)

    @property
    def edges_to_write(self) -> int:
        """Return the number of edges that are new or differ."""
        return _to_write(self.edges)

    @property
    def new(self) -> int:
        """Return the number of elements that the graph does not have."""
        return self.nodes.get("new", 0) + self.edges.get("new", 0)


def count_differences(
    nodes: Rows[Compared], edges: Rows[Compared], stored_edges: Rows[StoredEdge]
) -> DiffCounts:
    """Count compared elements, and stored edges with an interim id."""
    keys: Rows[tuple[_Key, int]] = nodes.flat_map(_keys_of_node)
    interim = stored_edges.filter(attrgetter("interim")).map(lambda _: (_INTERIM, 1))
    found = keys.union(edges.flat_map(_keys_of_edge), interim).reduce_by_key(add).collect()
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, change, _), count in found:
        by_kind[kind][change] += count
    return DiffCounts(
        nodes=dict(by_kind["node"]),
        edges=dict(by_kind["edge"]),
        cleared=by_kind["cleared"].total(),
        interim=by_kind["interim"].total(),
        column_job_types=frozenset(
            job_type
            for (kind, change, job_type), _ in found
            if kind == "edge" and job_type and change != "unmatched"
        ),
        changed_runs=sum(count for key, count in found if key == ("node", "changed", _RUN)),
    )


def _keys_of_node(node: Compared) -> Iterator[tuple[_Key, int]]:
    yield ("node", node.change, _RUN if node.row.get("label") in RUN_LABELS else ""), 1
    if node.cleared or node.dropped:
        yield ("cleared", "", ""), 1


def _keys_of_edge(edge: Compared) -> Iterator[tuple[_Key, int]]:
    job_type = edge.row.get("job_type", "") if edge.row.get("label") in COLUMN_EDGE_LABELS else ""
    yield ("edge", edge.change, job_type), 1
    if edge.cleared:
        yield ("cleared", "", ""), 1


def _to_write(counts: dict[str, int]) -> int:
    return sum(count for change, count in counts.items() if change not in UNWRITTEN)
