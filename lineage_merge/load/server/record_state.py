"""Last stage of a load: stores statistics and the state for the next load, and removes the token."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

from lineage_merge.graph_format.schema import RUN_LABELS
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load import shard_digests
from lineage_merge.load.diff import Change
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.load.gremlin import merge_state, running_load
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.load_plan import LoadPlan, MergeOutput
from lineage_merge.load.result import LoadResult
from lineage_merge.load.shard_digests import Entry, MergeDigests, digests_of, entries_of, shard_count
from lineage_merge.load.shard_state import MAX_UNMATCHED, RunState


def mark_shared(plan: LoadPlan, target: LoadTarget) -> None:
    """Mark other DAGs whose vertices the load is about to change: it may be killed before `record_state`."""
    compared = plan.comparison
    others = _tags(compared.nodes.filter(attrgetter("is_written")))
    if compared.moves:
        moved = compared.nodes.engine.rows([*compared.moves, *compared.moves.values()])
        others |= _read_tags(target, moved)
    if others:
        running_load.mark_dags(target, others - {target.dag_name})


def record_state(merge: MergeOutput, target: LoadTarget, plan: LoadPlan, result: LoadResult) -> str:
    """Mark other DAGs whose vertices changed, store the state of the load, and remove its token.

    Returns the edition that the load leaves (`running_load.end`).
    """
    others = _other_dags(plan, target)
    running_load.mark_dags(target, others.of_changed | others.of_new)
    may_store_state = plan.comparison.may_store_state and not others.of_new
    state = _store_state(merge, target, plan) if may_store_state else None
    return running_load.end(target, result, merge.report, state)


class _OtherDags(NamedTuple):
    """Other DAGs whose tags are on vertices that this load changed, and on vertices that were new to it."""

    of_changed: frozenset[str]
    of_new: frozenset[str]


def _other_dags(plan: LoadPlan, target: LoadTarget) -> _OtherDags:
    _, _, dag_name, started_load = target
    compared = plan.comparison
    tags_of = partial(_read_tags, target)

    if plan.result.nodes and not running_load.has_other_dags(target):
        return _OtherDags(frozenset(), frozenset())

    changed = _tags(compared.nodes.filter(attrgetter("is_written")))
    # Others may have started to use a vertex since the comparison.
    changed |= tags_of(compared.nodes.filter(_may_be_shared).map(_id))
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


def _read_tags(target: LoadTarget, ids: Rows[str]) -> frozenset[str]:
    """Return the other DAGs whose tags vertices have now."""
    read = partial(merge_state.other_dags, target.endpoint, target.dag_name)
    return frozenset(ids.repartition(ids.engine.parallelism).map_partitions(read).distinct().collect())


def _may_be_shared(element: Change) -> bool:
    """Return whether a vertex was changed, and is not one of a job of this DAG."""
    return element.kind in ("changed", "label") and element.row.get("label") not in RUN_LABELS


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
    compared = plan.comparison
    last = target.started_load.state
    unmatched_count = compared.counts.total("unmatched")
    if unmatched_count > MAX_UNMATCHED:
        return None
    if compared.digests is not None and not (
        last.left or plan.result.nodes or plan.result.edges or unmatched_count
    ):
        return last  # nothing was written: the next load counts the elements that `last` says
    counted = count_stored(target, plan)
    if counted is None:
        return None
    digests = compared.digests or _digests_of_all(merge, plan, len(last.shards))
    if not merge_state.write_shards(digests.entries, target):
        return None
    left = compared.nodes.union(compared.edges).filter(_is_unmatched).map(_entry_of).collect()
    number = len(digests.shards)
    left_count = merge_state.write_unmatched(merge.nodes.engine, left, target, number)
    if left_count is None:
        return None
    merge_state.drop_surplus_shards(target, number + left_count, last.shard_count)
    vertices, edges = counted
    return RunState(
        shards=digests.shards, left=left_count, names=plan.names_digest, vertices=vertices, edges=edges
    )


def count_stored(target: LoadTarget, plan: LoadPlan) -> tuple[dict[str, int], dict[str, int]] | None:
    """Return the numbers of the DAG's vertices and edges per label; None if they are not those of the plan.

    If nothing was deleted, moved or relabelled, they follow from the plan, and need not be read: the next
    load counts before it trusts them.
    """
    compared, deletions = plan.comparison, plan.deletions
    deleted = deletions.vertex_count + deletions.edge_count
    if not (deleted or compared.moves or plan.result.relabelled):
        last = target.started_load.state
        if compared.digests is None:
            return _count_labels(compared.nodes), _count_labels(compared.edges)
        vertices = _count_labels(compared.nodes.filter(_is_new), last.vertices)
        return vertices, _count_labels(compared.edges.filter(_is_new), last.edges)
    counts = compared.counts
    vertices, edges = merge_state.read_counts(target)
    if sum(vertices.values()) != sum(counts.nodes.values()) - deletions.vertex_count:
        return None
    if sum(edges.values()) != counts.stored_edges + counts.edges.get("new", 0) - deletions.edge_count:
        return None
    return vertices, edges


def _count_labels(elements: Rows[Change], before: Mapping[str, int] = MappingProxyType({})) -> dict[str, int]:
    """Return the number of elements per label, added to the numbers of `before`."""
    labels = elements.map_partitions(lambda part: Counter(each.row["label"] for each in part).items())
    counts = Counter(before)
    for label, number in labels.collect():
        counts[label] += number
    return dict(counts)


def _is_new(element: Change) -> bool:
    return element.kind == "new"


def _digests_of_all(merge: MergeOutput, plan: LoadPlan, earlier: int) -> MergeDigests:
    counts = plan.comparison.counts
    elements = sum(counts.nodes.values()) + sum(counts.edges.values()) - counts.total("unmatched")
    number = shard_count(elements, earlier)
    shards = shard_digests.shards(merge.nodes, merge.edges, number).cache()
    return MergeDigests(digests_of(shards, number), shards.map(entries_of))


def _entry_of(element: Change) -> Entry:
    return Entry("e" if "from" in element.row else "v", _id(element))
