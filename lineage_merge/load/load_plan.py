"""A merge to load, its comparison with the graph, and the planned changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import DiffCounts
from lineage_merge.load.graph_state import GraphState, StoredVertex
from lineage_merge.load.renames import Renames
from lineage_merge.load.result import LoadResult
from lineage_merge.load.shard_digests import Shard
from lineage_merge.merge.alias_resolution import IdentityRow
from lineage_merge.merge.report import Report
from lineage_merge.merge.source_completeness import NOTHING, SourceCompleteness
from lineage_merge.model.elements import JobKey


@dataclass(frozen=True, slots=True)
class MergeOutput:
    """The output of a merge of one environment and DAG.

    `aliases`: the candidate ids of each alias id. `runs`: number of successful runs of each job that a source
    read (the smallest of several sources). `identities`: the dataset that each name resolves to
    (`merge.alias_resolution`). `coverage`: what may be deleted. `report`: stored on the `merge_run` vertex.
    """

    nodes: Rows[Row]
    edges: Rows[Row]
    aliases: Mapping[str, Sequence[str]] | None = None
    runs: Mapping[JobKey, int] | None = None
    identities: Rows[IdentityRow] | None = None
    coverage: SourceCompleteness = NOTHING
    report: Report | None = None

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

    `existing`: the elements that were read. `vertices`: the stored vertices on which deletions depend.
    `moves`: the canonical id of each duplicate vertex. `may_store_state`: whether the next load may compare
    with this merge. `shards`: those of the merge; None after a full comparison.
    """

    nodes: Rows[Compared]
    edges: Rows[Compared]
    counts: DiffCounts
    existing: GraphState
    vertices: Rows[StoredVertex]
    moves: Mapping[str, str] = field(default_factory=dict)
    renames: Renames = field(default_factory=Renames)
    may_store_state: bool = True
    shards: Rows[Shard] | None = None


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
