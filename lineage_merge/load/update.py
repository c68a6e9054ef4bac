"""Loads a merge into the graph: compares, writes what differs, deletes what the pipeline no longer has.

In stages: read what the graph has; resolve names that mean other datasets now; compare; plan deletions;
write; record what was done. All is read and decided before anything is written. What is written is in an
order in which a load may be killed anywhere and run again: vertices before edges, everything new before
anything old is deleted. Neptune's bulk loader (`load.neptune_bulk.bulk_load`) changes nothing of that: labels
and moves come before it, and deletions when it has loaded, because a load that fails must delete nothing.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import and_, itemgetter
from typing import NamedTuple, Self, TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P
from gremlin_python.statics import long

from lineage_merge.graph_format.labels import labels_of
from lineage_merge.graph_format.schema import DATASET_LABELS, EDGE_KEYS, NODE_KEYS, Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.telemetry import step
from lineage_merge.load import (
    crash_recovery,
    diff,
    merge_run,
    merge_state,
    shard_digests,
    vertex_merge,
)
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import DiffCounts, count_differences
from lineage_merge.load.first_rows import first_rows
from lineage_merge.load.graph_state import (
    GraphState,
    StoredEdge,
    StoredVertex,
    dataset_of,
    dataset_of_end,
    other_names,
    read,
)
from lineage_merge.load.gremlin.connection import Endpoint, check
from lineage_merge.load.gremlin.executor import by_request, open_executor
from lineage_merge.load.gremlin.traffic import counted
from lineage_merge.load.incremental_diff import Changes, compare_changes, names_digest
from lineage_merge.load.label_replacement import replace_labels, settle_interim
from lineage_merge.load.merge_run import Begun
from lineage_merge.load.neptune_bulk import bulk_load
from lineage_merge.load.neptune_bulk.bulk_load import BulkLoad
from lineage_merge.load.property_values import values_to_write
from lineage_merge.load.prune.delete_stale import take_out
from lineage_merge.load.prune.plan import Deletions, plan_deletions
from lineage_merge.load.renames import Change, Renames, find_renames, replaced_edges
from lineage_merge.load.result import LoadResult
from lineage_merge.load.shard_digests import (
    MOST_LEFT,
    SHARD_ELEMENTS,
    Entry,
    RunState,
    Shard,
    digest_of_entries,
    packed,
    shard_count,
)
from lineage_merge.load.snapshot import Edge
from lineage_merge.load.vertex_merge import Renamed
from lineage_merge.load.writer import WriteProgress, write
from lineage_merge.merge.report import Report
from lineage_merge.merge.resolved_names import IdentityRow
from lineage_merge.merge.source_completeness import NOTHING, SourceCompleteness
from lineage_merge.model.elements import JobKey
from lineage_merge.model.errors import GraphRejected, GraphUnsupported, RetireRefused

# Another merge of the DAG may delete what this one found in the graph: then all is compared again.
_ATTEMPTS = 3
_SHOWN = 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Merge:
    """What a merge knows, of one environment and DAG.

    `aliases`: the ids that each other id could mean. `runs`: how many successful runs of each job a source
    read, the fewest where several did. `identities`: what each name means (`merge.resolved_names`). Without
    one of them, nothing of that kind is known. `coverage` says what may be retired, `report` goes to the
    `merge_run` vertex.
    """

    nodes: Rows[Row]
    edges: Rows[Row]
    aliases: Mapping[str, Sequence[str]] | None = None
    runs: Mapping[JobKey, int] | None = None
    identities: Rows[IdentityRow] | None = None
    coverage: SourceCompleteness = NOTHING
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done. `moves`: the vertices that are moved, each with the id it is moved to."""

    existing: GraphState
    nodes: Rows[Compared]
    edges: Rows[Compared]
    moves: Mapping[str, str]
    renames: Renames
    deletions: Deletions
    found: DiffCounts
    counts: LoadResult
    names: str
    may_leave_state: bool
    shards: Rows[Shard] | None = None


class _Target(NamedTuple):
    """Where, whose, and what this load found when it began (`load.merge_run`)."""

    endpoint: Endpoint
    environment: str
    dag_name: str
    begun: Begun


def update(
    merge: Merge,
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    *,
    allow_retire: bool = False,
    dry_run: bool = False,
    on_written: WriteProgress | None = None,
    in_bulk: BulkLoad | None = None,
    verify: bool = False,
    on_progress: ProgressCallback = no_progress,
) -> LoadResult:
    """Make the graph what the merge says; with `dry_run` only say what would be done.

    What the last load wrote is not read again where it is certain that the graph has it; with `verify` all
    is. With `in_bulk` a large difference goes through Neptune's bulk loader; `on_progress` gets its progress.
    Raises GraphUnreachable, GraphRejected, BulkLoadFailed, IntermediateError (a row without a key), and
    RetireRefused before anything is written.
    """
    check(endpoint)
    started = time.monotonic()
    traffic = counted(merge.nodes.engine)
    endpoint = replace(endpoint, traffic=traffic)
    with merge.nodes.engine.own_errors():
        for attempt in range(1, _ATTEMPTS + 1):
            target = _begin(merge, endpoint, environment, dag_name, dry_run, in_bulk, on_progress)
            with step("compare"):
                plan = _plan(merge, target, verify)
            if in_bulk and in_bulk.takes(plan.counts.nodes + plan.counts.edges):
                plan = replace(plan, counts=replace(plan.counts, way="bulk"))
            refusal = "" if allow_retire else plan.deletions.refusal
            if dry_run:
                changes = _shown(plan)
                seconds = time.monotonic() - started
                return replace(
                    plan.counts,
                    seconds=seconds,
                    dry_run=True,
                    refusal=refusal,
                    changes=changes,
                    all_requests=traffic.requests.value,
                    elements_read=traffic.read.value,
                )
            if refusal:
                merge_run.give_up(endpoint, environment, dag_name, target.begun)
                raise RetireRefused(refusal)
            try:
                with step("write"):
                    requests = _write(
                        plan, target, on_written, in_bulk if plan.counts.way == "bulk" else None, on_progress
                    )
            except GraphRejected as error:
                if attempt == _ATTEMPTS or isinstance(error, GraphUnsupported):
                    raise
                continue
            done = replace(plan.counts, requests=requests, seconds=time.monotonic() - started)
            _record(merge, target, plan, done)
            return replace(done, all_requests=traffic.requests.value, elements_read=traffic.read.value)
    raise AssertionError("unreachable")


def _begin(
    merge: Merge,
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    dry_run: bool,
    in_bulk: BulkLoad | None,
    on_progress: ProgressCallback,
) -> _Target:
    """Wait for what an earlier load left under way, correct what it left half done, and leave a token."""
    if in_bulk and not dry_run:
        bulk_load.await_earlier(in_bulk, environment, dag_name, on_progress)
    held = merge_run.read_run(endpoint, environment, dag_name)
    if dry_run:
        return _Target(endpoint, environment, dag_name, merge_run.seen(held))
    if "loading" in held:
        # Before this load's token replaces the one that says so.
        crash_recovery.settle(merge.nodes.flat_map(_own_id), endpoint, environment, dag_name)
    return _Target(endpoint, environment, dag_name, merge_run.begin(endpoint, environment, dag_name, held))


def _record(merge: Merge, target: _Target, plan: _Plan, done: LoadResult) -> None:
    """Record what was done and what the next load must know, and remove the token."""
    endpoint, environment, dag_name, begun = target
    others = _touched_dags(plan, target)
    merge_run.mark(endpoint, environment, others.of_changed | others.of_new, begun)
    left = None if others.of_new or not plan.may_leave_state else _leave_state(merge, target, plan)
    retired = done.retired_nodes + done.retired_edges
    traffic = endpoint.traffic
    facts = merge_run.Facts(
        done.nodes + done.edges,
        retired,
        merge.report,
        traffic.requests.value if traffic else 0,
        traffic.read.value if traffic else 0,
    )
    merge_run.end(endpoint, environment, dag_name, begun, facts, left)


class _Touched(NamedTuple):
    """Other DAGs whose tags are on vertices that this load changed, and on those that were new to it."""

    of_changed: frozenset[str]
    of_new: frozenset[str]


def _touched_dags(plan: _Plan, target: _Target) -> _Touched:
    endpoint, _, dag_name, begun = target
    ask = partial(merge_state.other_dags, endpoint, dag_name)

    def found(ids: Rows[str]) -> frozenset[str]:
        return frozenset(ids.repartition(ids.engine.parallelism).map_partitions(ask).distinct().collect())

    changed = frozenset(plan.nodes.flat_map(_others_if_changed).distinct().collect())
    if begun.overlaps:
        # What an earlier load wrote before it was killed is not known.
        changed |= frozenset(plan.existing.vertices.flat_map(_others).distinct().collect())
    if plan.found.edges_to_write or plan.deletions.edge_count:
        # Who builds a dataset decides whose values take precedence.
        changed |= found(plan.edges.flat_map(_built_if_changed).distinct())
    if plan.moves or plan.deletions.vertex_count or plan.renames.changes:
        named = [*plan.moves.values(), *(change.id for change in plan.renames.changes)]
        changed |= found(plan.nodes.engine.rows(named))
        changed |= frozenset(plan.nodes.flat_map(_others_if_unmatched).distinct().collect())
    if plan.moves:
        changed |= frozenset(plan.nodes.flat_map(_others_of_all).distinct().collect())
    new = found(plan.nodes.flat_map(_id_if_new)) if plan.counts.nodes else frozenset()
    return _Touched(changed - {dag_name}, new)


def _others(vertex: StoredVertex) -> Iterable[str]:
    return vertex.others


def _others_of_all(node: Compared) -> Iterable[str]:
    return node.others


def _others_if_changed(node: Compared) -> Iterable[str]:
    return node.others if node.is_written else ()


def _others_if_unmatched(node: Compared) -> Iterable[str]:
    return node.others if node.change == "unmatched" else ()


def _built_if_changed(edge: Compared) -> Iterable[str]:
    is_changed = edge.change in ("new", "absent") and edge.row.get("label") == "writes"
    return (edge.row["to"],) if is_changed else ()


def _id_if_new(node: Compared) -> Iterable[str]:
    return (node.row["id"],) if node.change == "new" else ()


def _leave_state(merge: Merge, target: _Target, plan: _Plan) -> RunState | None:
    """Write what the next load must know to compare only changes; None where it has to compare in full."""
    endpoint, environment, dag_name, begun = target
    found, deletions, engine = plan.found, plan.deletions, plan.nodes.engine
    if found.unmatched + found.absent > MOST_LEFT:
        return None
    last = begun.state
    is_unchanged = not (plan.counts.nodes or plan.counts.edges or found.unmatched or found.absent)
    vertices, edges = merge_state.counts_of(endpoint, environment, dag_name)
    if sum(vertices.values()) != sum(found.nodes.values()) - deletions.vertex_count:
        return None
    if sum(edges.values()) != found.stored_edges + found.edges.get("new", 0) - deletions.edge_count:
        return None
    shards = plan.shards
    if shards is None:
        elements = sum(found.nodes.values()) + sum(found.edges.values()) - found.unmatched - found.absent
        number = shard_count(elements, len(last.shards))
        shards = shard_digests.shards(merge.nodes, merge.edges, number).cache()
        known: tuple[str, ...] = ()
    else:
        number, known = len(last.shards), last.shards
        if is_unchanged and not last.left:
            return last
    digests = [digest_of_entries(())] * number
    for each in shards.map(shard_digests.summary_of).collect():
        digests[each.number] = each.digest
    wanted = frozenset(place for place in range(number) if digests[place] not in known[place : place + 1])
    if not merge_state.write_shards(shards, endpoint, environment, dag_name, engine.share(wanted)):
        return None
    left = plan.nodes.flat_map(_left_vertex).union(plan.edges.flat_map(_left_edge_entry)).collect()
    texts = [packed(left[at : at + SHARD_ELEMENTS]) for at in range(0, len(left), SHARD_ELEMENTS)]
    numbered = ((number + place, text) for place, text in enumerate(texts))
    if not all(merge_state.write_texts(endpoint, environment, dag_name, numbered)):
        return None
    merge_state.drop_others(
        endpoint, environment, dag_name, number + len(texts), len(last.shards) + last.left
    )
    return RunState(shards=tuple(digests), left=len(texts), names=plan.names, vertices=vertices, edges=edges)


def _left_vertex(node: Compared) -> Iterable[Entry]:
    return (Entry("v", node.row["id"]),) if node.change == "unmatched" else ()


def _left_edge_entry(edge: Compared) -> Iterable[Entry]:
    return (Entry("e", edge.row["id"]),) if edge.change == "absent" else ()


def _plan(merge: Merge, target: _Target, verify: bool) -> _Plan:
    """Read and compare, and decide what is to be done."""
    pairs, identities = _pairs(merge), _identities(merge)
    names = names_digest(pairs, identities)
    last = target.begun.state
    if target.begun.may_trust and not verify and last.names == names:
        known = _names_known(pairs, identities)
        changes = compare_changes(merge.nodes, merge.edges, known, last, *target[:3])
        if changes:
            counts = count_differences(changes.nodes, changes.edges, changes.existing.edges)
            if "newer" not in counts.nodes:
                return _planned(merge, target, _Comparison.of(changes), counts, names)
    return _plan_in_full(merge, target, names)


class _Comparison(NamedTuple):
    """A merge compared with the graph: what was read, the jobs of the DAG, and what follows from names."""

    nodes: Rows[Compared]
    edges: Rows[Compared]
    existing: GraphState
    vertices: Rows[StoredVertex]
    moves: Mapping[str, str] = {}
    renames: Renames = Renames()
    may_leave_state: bool = True
    shards: Rows[Shard] | None = None

    @classmethod
    def of(cls, changes: Changes) -> Self:
        """The comparison of what changed."""
        vertices = changes.existing.vertices.union(changes.jobs)
        return cls(changes.nodes, changes.edges, changes.existing, vertices, shards=changes.shards)


def _plan_in_full(merge: Merge, target: _Target, names: str) -> _Plan:
    resolved = _resolve_names(merge, target)
    nodes, edges, existing = resolved.nodes, resolved.edges, resolved.existing
    new_nodes = diff.compare_nodes(nodes, edges, existing).cache()
    new_edges = diff.compare_edges(edges, existing).cache()
    found = count_differences(new_nodes, new_edges, existing.edges)
    renames = resolved.renames
    # The state is of ids as the merge has them.
    may_leave_state = nodes is merge.nodes and not found.interim
    if "newer" in found.nodes:
        # What only newer jobs touch is left as it is, and so is every vertex that the merge does not have.
        new_nodes, new_edges = (rows.cache() for rows in _without_newer(new_nodes, new_edges))
        found = count_differences(new_nodes, new_edges, existing.edges)
        # An older merge knows an older configuration.
        renames = Renames()
        may_leave_state = False
    comparison = _Comparison(
        new_nodes, new_edges, existing, existing.vertices, resolved.moves, renames, may_leave_state
    )
    return _planned(merge, target, comparison, found, names)


def _planned(merge: Merge, target: _Target, comparison: _Comparison, found: DiffCounts, names: str) -> _Plan:
    nodes, edges, existing, vertices, moved, renames, may_leave_state, shards = comparison
    replaced = replaced_edges(edges, renames, target.environment, target.dag_name)
    deletions = plan_deletions(nodes, edges, vertices, found, merge.runs or {}, replaced, merge.coverage)
    counts = LoadResult(
        nodes=found.nodes_to_write,
        edges=found.edges_to_write,
        requests=0,
        seconds=0.0,
        unchanged=found.unchanged,
        retired_nodes=deletions.vertex_count,
        retired_edges=deletions.edge_count,
        relabelled=found.nodes.get("label", 0),
        moved=len(moved),
        retirements=deletions.examples,
        compared="in full" if shards is None else "what changed",
    )
    return _Plan(
        existing, nodes, edges, moved, renames, deletions, found, counts, names, may_leave_state, shards
    )


class _Resolved(NamedTuple):
    """A merge and the graph that it is compared with, when each dataset has one id in both."""

    nodes: Rows[Row]
    edges: Rows[Row]
    existing: GraphState
    moves: Mapping[str, str]
    renames: Renames


def _resolve_names(merge: Merge, target: _Target) -> _Resolved:
    """Read what the graph has, and resolve the names that the merge or the graph has for other datasets."""
    endpoint, environment, dag_name, _ = target
    nodes, edges, engine = merge.nodes, merge.edges, merge.nodes.engine
    pairs, identities = _pairs(merge), _identities(merge)
    names_known = _names_known(pairs, identities)
    existing = read(nodes.flat_map(_own_id).union(names_known), endpoint, environment, dag_name)
    renames = find_renames(identities, nodes, existing, environment, dag_name)
    pairs |= {change.id: change.means or "" for change in renames.of_kind("move")}
    names = {}
    if not _missing(nodes, existing).is_empty():
        # A name that the graph has for another vertex. What this merge itself joins, it has joined already.
        ignored = frozenset((change.id, change.value or "") for change in renames.of_kind("ignore"))
        aliases = other_names(engine, endpoint, environment)
        found = vertex_merge.named_by_the_graph(nodes, existing, aliases, ignored, environment)
        names = {other: renamed for other, renamed in found.items() if other not in pairs}
    if names:
        shared = engine.share(names)
        nodes = vertex_merge.renamed_nodes(nodes, shared).cache()
        edges = vertex_merge.renamed_edges(edges, shared).cache()
        existing = read(nodes.flat_map(_own_id).union(names_known), endpoint, environment, dag_name)
    moved = _stored_duplicates(pairs, existing)
    if moved:
        shared = engine.share({other: Renamed(means) for other, means in moved.items()})
        existing = GraphState(
            vertex_merge.moved_vertices(existing.vertices, shared).cache(),
            vertex_merge.moved_edges(existing.edges, shared, environment, dag_name).cache(),
        )
    return _Resolved(nodes, edges, existing, moved, renames)


def _pairs(merge: Merge) -> dict[str, str]:
    """Return the ids that this merge knows to mean another one."""
    aliases = (merge.aliases or {}).items()
    return {
        other: candidates[0]
        for other, candidates in aliases
        if len(candidates) == 1 and candidates[0] != other
    }


def _identities(merge: Merge) -> Rows[IdentityRow]:
    return merge.nodes.engine.empty() if merge.identities is None else merge.identities


def _names_known(pairs: Mapping[str, str], identities: Rows[IdentityRow]) -> Rows[str]:
    """Return the ids that mean other datasets in the merge."""
    return identities.flat_map(_other_name).union(identities.engine.rows(pairs))


def _own_id(node: Row) -> Iterable[str]:
    return (node["id"],) if node.get("id") else ()


def _other_name(identity: IdentityRow) -> Iterable[str]:
    return (identity.alias_id,) if identity.alias_id != identity.canonical_id else ()


def _missing(nodes: Rows[Row], existing: GraphState) -> Rows[str]:
    """Return the ids of datasets that the graph lacks."""
    ids: Rows[tuple[str, bool]] = nodes.flat_map(_dataset_id)
    return ids.union(existing.vertices.map(_stored_id)).group(itemgetter(0), _if_missing)


def _dataset_id(node: Row) -> Iterable[tuple[str, bool]]:
    return ((node["id"], False),) if node.get("label") in DATASET_LABELS and node.get("id") else ()


def _stored_id(vertex: StoredVertex) -> tuple[str, bool]:
    return vertex.id, True


def _if_missing(identifier: str, found: list[tuple[str, bool]]) -> Iterable[str]:
    return () if any(is_stored for _, is_stored in found) else (identifier,)


def _stored_duplicates(pairs: Mapping[str, str], existing: GraphState) -> dict[str, str]:
    """Return the pairs of which the graph has a dataset by the other id."""
    if not pairs:
        return {}
    others = existing.vertices.engine.share(frozenset(pairs))
    found = existing.vertices.flat_map(partial(_dataset_if_wanted, others)).collect()
    return {other: pairs[other] for other in sorted(found)}


def _dataset_if_wanted(wanted: Shared[frozenset[str]], vertex: StoredVertex) -> Iterable[str]:
    is_dataset = not set(labels_of(vertex.label)).isdisjoint(DATASET_LABELS)
    return (vertex.id,) if is_dataset and vertex.id in wanted.value else ()


def _without_newer(nodes: Rows[Compared], edges: Rows[Compared]) -> tuple[Rows[Compared], Rows[Compared]]:
    """Return what was compared, without jobs that the graph has from a later run, and what only they touch.

    Of their edges those that are in the graph stay as they are.
    """
    newer = nodes.filter(_is_newer).collect()
    jobs = nodes.engine.share({JobKey(row.get("job_type", ""), row["name"]) for _, row, *_ in newer})
    touched: Rows[tuple[_End, bool]] = edges.flat_map(partial(_touched_ends, jobs))
    alone = (
        touched.combine(bool, and_, and_)
        .flat_map(_if_newer)
        .union(
            nodes.flat_map(partial(_operation_of, jobs)),
            nodes.engine.rows([_End(row["id"], row["id"]) for _, row, *_ in newer]),
        )
        .cache()
    )
    of_dataset: Rows[tuple[str, Compared | _End]] = nodes.map(_by_dataset)
    left_nodes = of_dataset.union(alone.map(_end_by_dataset)).group(itemgetter(0), _left_nodes)
    left_edges = edges.flat_map(partial(_left_edge, jobs))
    for end in ("from", "to"):
        by_end: Rows[tuple[str, Compared | _End]] = left_edges.map(partial(_by_end, end))
        left_edges = by_end.union(alone.map(_end_by_id)).group(itemgetter(0), _with_both_ends)
    return left_nodes, left_edges


class _End(NamedTuple):
    """A vertex that an edge has at an end, and the dataset that it belongs to."""

    id: str
    dataset: str


_Jobs = Shared[set[JobKey]]


def _is_newer(element: Compared) -> bool:
    return element.change == "newer"


def _is_of_newer(jobs: set[JobKey], row: Row) -> bool:
    return "job_name" in row and JobKey(row.get("job_type", ""), row["job_name"]) in jobs


def _touched_ends(jobs: _Jobs, edge: Compared) -> Iterator[tuple[_End, bool]]:
    """Yield the ends of an edge of the merge, with whether a newer job has it."""
    row = edge.row
    if edge.change != "absent" and row["label"] != "has_column":
        for end in ("from", "to"):
            yield _End(row[end], dataset_of_end(row, end)), _is_of_newer(jobs.value, row)


def _if_newer(found: tuple[_End, bool]) -> Iterable[_End]:
    return (found[0],) if found[1] else ()


def _operation_of(jobs: _Jobs, node: Compared) -> Iterable[_End]:
    row = node.row
    is_operation = row.get("label") == "operation" and node.change != "unmatched"
    return (_End(row["id"], row["id"]),) if is_operation and _is_of_newer(jobs.value, row) else ()


def _by_dataset(node: Compared) -> tuple[str, Compared | _End]:
    row = node.row
    return dataset_of(row.get("id") or "", row.get("label") == "column"), node


def _end_by_dataset(end: _End) -> tuple[str, Compared | _End]:
    return end.dataset, end


def _end_by_id(end: _End) -> tuple[str, Compared | _End]:
    return end.id, end


def _by_end(end: str, edge: Compared) -> tuple[str, Compared | _End]:
    return edge.row[end], edge


def _left_nodes(dataset: str, items: list[tuple[str, Compared | _End]]) -> Iterator[Compared]:
    alone = {item.id for _, item in items if isinstance(item, _End)}
    for _, item in items:
        if isinstance(item, Compared) and (
            item.change == "unmatched" or (item.row.get("id") not in alone and dataset not in alone)
        ):
            yield item


def _left_edge(jobs: _Jobs, edge: Compared) -> Iterator[Compared]:
    if edge.change == "absent" or not _is_of_newer(jobs.value, edge.row):
        yield edge
    elif edge.change != "new":
        yield edge._replace(change="same", to_write=(), cleared=())


def _with_both_ends(_id: str, items: list[tuple[str, Compared | _End]]) -> Iterator[Compared]:
    lost = any(isinstance(item, _End) for _, item in items)
    for _, item in items:
        if isinstance(item, Compared) and not (lost and item.change == "new"):
            yield item


def _shown(plan: _Plan) -> tuple[str, ...]:
    """The first changes, in words."""
    nodes = first_rows(plan.nodes.filter(_is_written), _SHOWN, _place_of_node)
    edges = first_rows(plan.edges.filter(_is_written), _SHOWN, _place_of_edge)
    removed = [change for change in plan.renames.of_kind("remove") if change.property == "aliases"]
    return (
        *(f"moved {other} to {means}" for other, means in sorted(plan.moves.items())[:_SHOWN]),
        *(f"removed from {change.id}: alias {change.value}" for change in removed[:_SHOWN]),
        *(f"{change} {row['label']} {row['id']}" for change, row, *_ in nodes),
        *(f"{change} {row['from']} -{row['label']}-> {row['to']}" for change, row, *_ in edges),
    )


def _is_written(element: Compared) -> bool:
    return element.is_written


def _place_of_node(node: Compared) -> str:
    return node.row.get("id") or ""


def _place_of_edge(edge: Compared) -> tuple[str, ...]:
    return tuple(edge.row.get(name) or "" for name in ("from", "label", "to"))


def _write(
    plan: _Plan,
    target: _Target,
    on_written: WriteProgress | None,
    in_bulk: BulkLoad | None,
    on_progress: ProgressCallback,
) -> int:
    """Write what differs, then delete; how many requests wrote elements."""
    endpoint, environment, dag_name, begun = target
    nodes, edges = plan.nodes.filter(_is_written), plan.edges.filter(_is_written)
    if plan.counts.relabelled:
        # One after the other: neighbours would be in each other's way.
        _in_one_partition(nodes.flat_map(_relabelled), partial(_replace_labels, endpoint))
    requests = 0
    parts = bulk_load.parts(nodes, edges, frozenset(plan.moves.values())) if in_bulk else None
    if plan.counts.nodes:
        rows = parts.first if parts else nodes.map(partial(_values_of, NODE_KEYS))
        requests += write("nodes", rows, endpoint, None, on_written)[1]
    if plan.moves:
        _in_one_partition(plan.nodes.engine.rows(plan.moves.items()), partial(_move, endpoint))
    if in_bulk and parts:
        counts = plan.counts.nodes, plan.counts.edges
        bulk_load.load(in_bulk, endpoint, environment, dag_name, plan.nodes, parts, counts, on_progress)
    if plan.counts.edges:
        rows = parts.last if parts else edges.map(partial(_values_of, EDGE_KEYS))
        requests += write("edges", rows, endpoint, None, on_written)[1]
    if plan.found.cleared:
        _in_one_partition(edges.flat_map(_cleared), partial(_clear, endpoint))
        _in_one_partition(nodes.filter(_is_cleared), partial(_clear_runs, endpoint))
    if plan.found.interim:
        _in_one_partition(
            plan.existing.edges.filter(_is_interim), partial(_settle, endpoint, environment, dag_name)
        )
    take_out(plan.deletions, endpoint, merge_run.run_id(environment, dag_name), begun.token, dag_name)
    # Last: until then a load that is run again finds what the names meant.
    if removals := plan.renames.of_kind("remove"):
        _in_one_partition(plan.nodes.engine.rows(removals), partial(_remove_values, endpoint))
    return requests


def _in_one_partition(rows: Rows[T], function: Callable[[Iterable[T]], Iterable[int]]) -> None:
    rows.repartition(1).map_partitions(function).collect()


def _values_of(keys: tuple[str, ...], element: Compared) -> Row:
    return values_to_write(element.row, keys, element.to_write)


def _relabelled(node: Compared) -> Iterable[tuple[str, str, str]]:
    return ((node.row["id"], node.old_label or "", node.row["label"]),) if node.change == "label" else ()


def _replace_labels(endpoint: Endpoint, changes: Iterable[tuple[str, str, str]]) -> Iterator[int]:
    yield replace_labels(endpoint, changes)


def _move(endpoint: Endpoint, pairs: Iterable[tuple[str, str]]) -> Iterator[int]:
    yield vertex_merge.move(endpoint, pairs)


def _remove_values(endpoint: Endpoint, removals: Iterable[Change]) -> Iterator[int]:
    """Remove what vertices say of names that mean other datasets now."""
    values: dict[tuple[str, str], list[str]] = {}
    for removal in removals:
        values.setdefault((removal.id, removal.property or ""), []).append(removal.value or "")
    with open_executor(endpoint) as ask:
        for (vertex, name), found in values.items():
            for some in by_request(found):
                ask(partial(_removing_values, vertex=vertex, name=name, values=some))
    yield len(values)


def _removing_values(g: GraphTraversalSource, vertex: str, name: str, values: list[str]) -> GraphTraversal:
    return g.V(vertex).properties(name).has_value(P.within(values)).drop()


def _cleared(edge: Compared) -> Iterator[tuple[str, str]]:
    for name in edge.cleared:
        yield name, edge.row["id"]


def _clear(endpoint: Endpoint, cleared: Iterable[tuple[str, str]]) -> Iterator[int]:
    """Remove the properties that an edge has no more."""
    ids: dict[str, list[str]] = {}
    for name, edge in cleared:
        ids.setdefault(name, []).append(edge)
    with open_executor(endpoint) as ask:
        for name, found in ids.items():
            for some in by_request(found):
                ask(partial(_removing, ids=some, name=name))
    yield len(ids)


def _is_cleared(element: Compared) -> bool:
    return bool(element.cleared)


def _clear_runs(endpoint: Endpoint, jobs: Iterable[Compared]) -> Iterator[int]:
    """Remove what jobs hold of an earlier run, and their newest one does not say."""
    count = 0
    with open_executor(endpoint) as ask:
        for job in jobs:
            at = job.row["last_run_at"]
            ask(partial(_removing_of_run, job=job.row["id"], names=list(job.cleared), at=at))
            count += 1
    yield count


def _removing_of_run(g: GraphTraversalSource, job: str, names: list[str], at: int) -> GraphTraversal:
    """Remove properties of a job, unless a later run has been merged meanwhile."""
    return g.V(job).not_(__.has("last_run_at", P.gt(long(at)))).properties(*names).drop()


def _removing(g: GraphTraversalSource, ids: list[str], name: str) -> GraphTraversal:
    return g.E(*ids).properties(name).drop()


def _is_interim(edge: StoredEdge) -> bool:
    return edge.interim


def _settle(
    endpoint: Endpoint, environment: str, dag_name: str, found: Iterable[StoredEdge]
) -> Iterator[int]:
    """Correct the ids of edges that a replacement left half done when it was killed."""
    own = {"environment": environment, "dag_name": dag_name}
    edges = [Edge(each.id, each.label, each.from_id, each.to_id, each.held | own) for each in found]
    with open_executor(endpoint) as ask:
        settle_interim(endpoint, ask, edges)
    yield len(edges)
