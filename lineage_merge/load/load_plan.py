"""A merge to load, its comparison with the graph, and the planned changes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import add, attrgetter
from typing import Literal, TypeVar

from lineage_merge.graph_format.schema import RUN_LABELS, Row
from lineage_merge.infra.embedded.graph_tables import GraphTables
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.diff import UNWRITTEN, Change, ChangeKind
from lineage_merge.load.graph_state import GraphState, StoredEdge, StoredVertex
from lineage_merge.load.renames import Renames
from lineage_merge.load.result import ChangedIds, LoadResult
from lineage_merge.load.shard_digests import MergeDigests
from lineage_merge.merge.alias_resolution import IdentityRow
from lineage_merge.merge.report import Report
from lineage_merge.merge.source_completeness import NOTHING, SourceCompleteness
from lineage_merge.model.elements import JobKey

# Edges of column lineage. A job type without any of them may only lack a parser.
COLUMN_EDGE_LABELS = frozenset({"feeds_column", "influences"})

# Kind, change, and for column lineage the job type, for nodes whether they have properties of a run.
_Key = tuple[Literal["node", "edge", "cleared", "interim"], str, str]
_RUN = "run"
# Maximum number of changed elements whose ids this process lists.
MAX_CHANGED_IDS = 100_000
_INTERIM: _Key = ("interim", "", "")
_CLEARED: _Key = ("cleared", "", "")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DiffCounts:
    """Elements per change (`load.diff.ChangeKind`).

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

    def total(self, change: ChangeKind) -> int:
        """Return the number of nodes and edges with a change."""
        return self.nodes.get(change, 0) + self.edges.get(change, 0)

    @property
    def stored_edges(self) -> int:
        """Return the number of stored edges of the DAG."""
        return sum(count for change, count in self.edges.items() if change != "new")

    @property
    def nodes_to_write(self) -> int:
        """Return the number of nodes that are new or differ."""
        return _sum_writes(self.nodes)

    @property
    def edges_to_write(self) -> int:
        """Return the number of edges that are new or differ."""
        return _sum_writes(self.edges)


@dataclass(frozen=True, slots=True)
class MergeOutput:
    """The output of a merge of one environment and DAG.

    `aliases`: the candidate ids of each alias id. `runs`: number of successful runs of each job that a source
    read (the smallest of several sources). `identities`: the dataset that each name resolves to
    (`merge.alias_resolution`). `coverage`: what may be deleted. `report`: stored on the `merge_run` vertex.
    `tables`: the same nodes and edges as tables of Arrow, if files were read; rows are then read when needed.
    """

    nodes: Rows[Row]
    edges: Rows[Row]
    aliases: Mapping[str, Sequence[str]] | None = None
    runs: Mapping[JobKey, int] | None = None
    identities: Rows[IdentityRow] | None = None
    coverage: SourceCompleteness = NOTHING
    report: Report | None = None
    tables: GraphTables | None = None

    @property
    def canonical_ids(self) -> dict[str, str]:
        """Return the canonical id of each alias id with one candidate."""
        return {
            alias_id: candidates[0]
            for alias_id, candidates in (self.aliases or {}).items()
            if len(candidates) == 1 and candidates[0] != alias_id
        }

    @property
    def names(self) -> Rows[IdentityRow]:
        """Return the resolved names."""
        return self.nodes.engine.empty() if self.identities is None else self.identities

    @property
    def alias_ids(self) -> Rows[str]:
        """Return the ids that resolve to other datasets."""
        aliases = self.names.filter(lambda identity: identity.alias_id != identity.canonical_id)
        return aliases.map(attrgetter("alias_id")).union(self.nodes.engine.rows(self.canonical_ids))

    @property
    def drops_values(self) -> bool:
        """Return whether no document was rejected, which may contain tags or owners."""
        return self.report is None or not self.report.totals.get("rejected")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A merge compared with the graph.

    `nodes`, `edges`: an incremental comparison in which nothing is unmatched has no unchanged elements but
    jobs and assertions; `counts` has all. `existing`: the elements that were read. `vertices`: the stored
    vertices on which deletions depend. `moves`: the canonical id of each duplicate vertex. `may_store_state`:
    whether the next load may compare with this merge. `digests`: those of the merge; None after a full
    comparison.
    """

    nodes: Rows[Change]
    edges: Rows[Change]
    counts: DiffCounts
    existing: GraphState
    vertices: Rows[StoredVertex]
    moves: Mapping[str, str] = field(default_factory=dict)
    renames: Renames = field(default_factory=Renames)
    may_store_state: bool = True
    digests: MergeDigests | None = None


@dataclass(frozen=True, slots=True)
class Deletions:
    """Ids of the `edges` and `vertices` to delete.

    A vertex loses the DAG's tag, and is dropped if it then has no tag and no edge. `examples`: the first
    edges as text. `refusal`: the reason if the deletions are likely to be a mistake.
    """

    edges: Rows[str]
    vertices: Rows[str]
    edge_count: int = 0
    vertex_count: int = 0
    examples: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """All changes of the graph.

    `result`: the counts of the load if the plan is carried out. `names_digest`: digest of the resolved names.
    """

    comparison: Comparison
    deletions: Deletions
    result: LoadResult
    names_digest: str

    def changed_ids(self) -> ChangedIds | None:
        """Return what the load changes; None if it is much, or not all that differs from the last load."""
        compared, counts = self.comparison, self.comparison.counts
        written = counts.nodes_to_write + counts.edges_to_write
        deleted = self.deletions.vertex_count + self.deletions.edge_count
        is_full = compared.digests is None or compared.moves or compared.renames.changes or counts.interim
        if is_full or self.result.relabelled or written + deleted > MAX_CHANGED_IDS:
            return None
        (vertices, edges) = (
            rows.filter(attrgetter("is_written")).map(lambda element: str(element.row["id"]))
            for rows in (compared.nodes, compared.edges)
        )
        return ChangedIds(
            frozenset(vertices.union(self.deletions.vertices).collect()),
            frozenset(edges.union(self.deletions.edges).collect()),
        )


def count_differences(
    nodes: Rows[Change],
    edges: Rows[Change],
    stored_edges: Rows[StoredEdge],
    unchanged: Rows[Row] | None = None,
) -> DiffCounts:
    """Count compared elements, further `unchanged` rows, and stored edges with an interim id."""
    keys: Rows[tuple[_Key, int]] = nodes.map_partitions(partial(_count, _keys_of_node))
    keys = keys.union(
        edges.map_partitions(partial(_count, _keys_of_edge)),
        stored_edges.filter(attrgetter("interim")).map(lambda _: (_INTERIM, 1)),
    )
    if unchanged is not None:
        keys = keys.union(unchanged.map_partitions(_count_unchanged))
    counts = keys.reduce_by_key(add).collect()
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, change, _), count in counts:
        by_kind[kind][change] += count
    return DiffCounts(
        nodes=dict(by_kind["node"]),
        edges=dict(by_kind["edge"]),
        cleared=by_kind["cleared"].total(),
        interim=by_kind["interim"].total(),
        column_job_types=frozenset(
            job_type
            for (kind, change, job_type), _ in counts
            if kind == "edge" and job_type and change != "unmatched"
        ),
        changed_runs=sum(count for key, count in counts if key == ("node", "changed", _RUN)),
    )


def _count(keys: Callable[[T], Iterable[_Key]], elements: Iterable[T]) -> Iterable[tuple[_Key, int]]:
    return Counter(chain.from_iterable(map(keys, elements))).items()


def _keys_of_node(node: Change) -> Iterator[_Key]:
    yield _key_of_node(node.kind, node.row)
    if node.cleared or node.dropped:
        yield _CLEARED


def _keys_of_edge(edge: Change) -> Iterator[_Key]:
    yield _key_of_edge(edge.kind, edge.row)
    if edge.cleared:
        yield _CLEARED


def _count_unchanged(rows: Iterable[Row]) -> Iterator[tuple[_Key, int]]:
    """Count rows as `_count` does unchanged elements, in less time: they are nearly all."""
    counted = [None if "from" not in row else _column_job_type(row) for row in rows]
    for job_type, number in Counter(counted).items():
        yield ("node", "unchanged", "") if job_type is None else ("edge", "unchanged", job_type), number


def _key_of_node(change: ChangeKind, row: Row) -> _Key:
    return "node", change, _RUN if row.get("label") in RUN_LABELS else ""


def _key_of_edge(change: ChangeKind, row: Row) -> _Key:
    return "edge", change, _column_job_type(row)


def _column_job_type(edge: Row) -> str:
    return edge.get("job_type", "") if edge.get("label") in COLUMN_EDGE_LABELS else ""


def _sum_writes(counts: dict[str, int]) -> int:
    return sum(count for change, count in counts.items() if change not in UNWRITTEN)
