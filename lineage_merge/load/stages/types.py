"""Inputs and outputs of the stages of a load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import DiffCounts
from lineage_merge.load.graph_state import GraphState
from lineage_merge.load.prune.plan import Deletions
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


class ResolvedNames(NamedTuple):
    """A merge and the stored graph, with one id per dataset in both.

    `moves`: the canonical id of each duplicate vertex.
    """

    nodes: Rows[Row]
    edges: Rows[Row]
    existing: GraphState
    moves: Mapping[str, str]
    renames: Renames


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """All changes of the graph.

    `moves`: the canonical id of each duplicate vertex. `result`: the counts of the load if the plan is
    carried out. `names_digest`: digest of the resolved names. `may_store_state`: whether the next load may
    compare with this merge. `shards`: those of the merge, if the comparison was incremental.
    """

    existing: GraphState
    nodes: Rows[Compared]
    edges: Rows[Compared]
    moves: Mapping[str, str]
    renames: Renames
    deletions: Deletions
    counts: DiffCounts
    result: LoadResult
    names_digest: str
    may_store_state: bool
    shards: Rows[Shard] | None = None
