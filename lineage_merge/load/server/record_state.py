"""Last stage of a load: stores statistics and the state for the next load, and removes the token."""

from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from lineage_merge.infra.batches import batched
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load import shard_digests
from lineage_merge.load.diff import Change
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.load.gremlin import merge_state, running_load
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.load_plan import LoadPlan, MergeOutput
from lineage_merge.load.result import LoadResult
from lineage_merge.load.shard_digests import (
    MAX_UNMATCHED,
    SHARD_ELEMENTS,
    Entry,
    RunState,
    digest_of_entries,
    encode_entries,
    shard_count,
)


def record_state(merge: MergeOutput, target: LoadTarget, plan: LoadPlan, result: LoadResult) -> None:
    """Mark other DAGs whose vertices changed, store the state of the load, and remove its token."""
    others = _other_dags(plan, target)
    running_load.mark_dags(target, others.of_changed | others.of_new)
    may_store_state = plan.comparison.may_store_state and not others.of_new
    state = _store_state(merge, target, plan) if may_store_state else None
    running_load.end(target, result, merge.report, state)


class _OtherDags(NamedTuple):
    """Other DAGs whose tags are on vertices that this load changed, and on vertices that were new to it."""

    of_changed: frozenset[str]
    of_new: frozenset[str]


def _other_dags(plan: LoadPlan, target: LoadTarget) -> _OtherDags:
    endpoint, _, dag_name, started_load = target
    compared = plan.comparison
    read = partial(merge_state.other_dags, endpoint, dag_name)

    if plan.result.nodes and not running_load.has_other_dags(target):
        return _OtherDags(frozenset(), frozenset())

    def tags_of(ids: Rows[str]) -> frozenset[str]:
        return frozenset(ids.repartition(ids.engine.parallelism).map_partitions(read).distinct().collect())

    changed = _tags(compared.nodes.filter(attrgetter("is_written")))
    if started_load.overlaps:
        # The writes of a killed load are unknown.
        changed |= _tags(compared.existing.vertices)
    if compared.counts.edges_to_write or plan.deletions.edge_count:
        # The builder of a dataset determines the precedence of values.
        changed |= tags_of(compared.edges.flat_map(_find_built).distinct())
    if compared.moves or plan.deletions.vertex_count or compared.renames.changes:
        renamed = [*compared.moves.values(), *(change.id for change in compared.renames.changes)]
        changed |= tags_of(compared.nodes.engine.rows(renamed))
        changed |= _tags(compared.nodes.filter(_is_unmatched))
    if compared.moves:
        changed |= _tags(compared.nodes)
    new_nodes = compared.nodes.filter(lambda node: node.kind == "new")
    new = tags_of(new_nodes.map(_id)) if plan.result.nodes else frozenset()
    return _OtherDags(changed - {dag_name}, new)


def _tags(elements: Rows[Change] | Rows[StoredVertex]) -> frozenset[str]:
    return frozenset(elements.flat_map(attrgetter("others")).distinct().collect())


def _is_unmatched(element: Change) -> bool:
    return element.kind == "unmatched"


def _id(element: Change) -> str:
    identifier: str = element.row["id"]
    return identifier


def _find_built(edge: Change) -> Iterable[str]:
    is_changed = edge.kind in ("new", "unmatched") and edge.row.get("label") == "writes"
    return (edge.row["to"],) if is_changed else ()


def _store_state(merge: MergeOutput, target: LoadTarget, plan: LoadPlan) -> RunState | None:
    """Store digests for an incremental comparison; None if the next load must compare in full."""
    compared, deletions = plan.comparison, plan.deletions
    counts, engine = compared.counts, compared.nodes.engine
    unmatched_count = counts.total("unmatched")
    if unmatched_count > MAX_UNMATCHED:
        return None
    last = target.started_load.state
    if compared.shards is not None and not (
        last.left or plan.result.nodes or plan.result.edges or unmatched_count
    ):
        return last  # nothing was written: the next load counts the elements that `last` says
    vertices, edges = merge_state.read_counts(target)
    if sum(vertices.values()) != sum(counts.nodes.values()) - deletions.vertex_count:
        return None
    if sum(edges.values()) != counts.stored_edges + counts.edges.get("new", 0) - deletions.edge_count:
        return None
    shards = compared.shards
    if shards is None:
        elements = sum(counts.nodes.values()) + sum(counts.edges.values()) - unmatched_count
        number = shard_count(elements, len(last.shards))
        shards = shard_digests.shards(merge.nodes, merge.edges, number).cache()
        stored: tuple[str, ...] = ()
    else:
        number, stored = len(last.shards), last.shards
    digests = [digest_of_entries(())] * number
    for index, digest in shards.map(lambda shard: (shard.number, shard.digest)).collect():
        digests[index] = digest
    changed = frozenset(index for index in range(number) if digests[index] not in stored[index : index + 1])
    if not merge_state.write_shards(shards, target, engine.share(changed)):
        return None
    elements_left = compared.nodes.union(compared.edges).filter(_is_unmatched)
    unmatched = elements_left.map(
        lambda element: Entry("e" if "from" in element.row else "v", _id(element))
    ).collect()
    texts = [encode_entries(entries) for entries in batched(unmatched, SHARD_ELEMENTS)]
    if not all(merge_state.write_texts(target, enumerate(texts, start=number))):
        return None
    merge_state.drop_surplus_shards(target, number + len(texts), len(last.shards) + last.left)
    return RunState(
        shards=tuple(digests), left=len(texts), names=plan.names_digest, vertices=vertices, edges=edges
    )
