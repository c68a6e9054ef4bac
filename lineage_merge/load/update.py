"""A merge into the graph: compared, written where it differs, and what is gone taken out.

Everything is read and decided before anything is written. What is written stands in an order in
which a load may be killed anywhere and run again: vertices before edges, everything new before
anything old goes. Neptune's bulk loader (`load.bulk`) changes nothing of that: labels and moves come
before it, and what is gone goes when it has loaded, because a load that fails must take nothing out.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P
from gremlin_python.statics import long
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.errors import GraphRejected, GraphUnsupported, RetireRefused
from lineage_merge.graph.schema import DATASET_LABELS, EDGE_KEYS, NODE_KEYS
from lineage_merge.kept import keep_planned, keeping, let_go
from lineage_merge.load import bulk, difference, moves, summary, texts, unfinished
from lineage_merge.load.bulk import BulkLoad
from lineage_merge.load.connection import Endpoint, check
from lineage_merge.load.existing import Existing, dataset_of, other_names, read
from lineage_merge.load.loader import Progress, write
from lineage_merge.load.outcome import Loaded
from lineage_merge.load.renames import Renames, find_renames, replaced_edges
from lineage_merge.load.replace import replace_labels, settle_interim
from lineage_merge.load.retire.find import Gone, find_gone, find_stray
from lineage_merge.load.retire.take_out import take_out
from lineage_merge.load.sending import asking, by_request
from lineage_merge.load.snapshot import Edge
from lineage_merge.load.tally import Tally, tally
from lineage_merge.merge.coverage import NOTHING, Coverage
from lineage_merge.merge.identities import IDENTITY_DDL
from lineage_merge.merge.outcome import Report
from lineage_merge.progress import Say, silent
from lineage_merge.spark import own_errors
from lineage_merge.telemetry import step

RUNS_DDL = "job_type string, job_name string, runs bigint"
ALIAS_DDL = "source string, candidates array<string>"

# Another merge of the DAG may take out what this one found in the graph: then all is compared again.
_ATTEMPTS = 3
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Merge:
    """What a merge knows, of one environment and DAG.

    `aliases`: `source` (an id) and `candidates` (ids it could mean). `runs`: how many successful runs of
    each job the sources read (`RUNS_DDL`). `identities`: what each name means (`merge.identities`). Without
    one of them, nothing of that kind is known. `coverage` says what may be retired, `report` goes to the
    `merge_run` vertex.
    """

    nodes: DataFrame
    edges: DataFrame
    aliases: DataFrame | None = None
    runs: DataFrame | None = None
    identities: DataFrame | None = None
    coverage: Coverage = NOTHING
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done."""

    existing: Existing
    nodes: DataFrame
    edges: DataFrame
    moves: DataFrame
    renames: Renames
    gone: Gone
    tally: Tally
    counts: Loaded
    kept: tuple[DataFrame, ...] = ()

    def release(self) -> None:
        """Give the memory back."""
        let_go(self.kept)


class _Target(NamedTuple):
    """Where, whose, and the token of this load (`load.summary`)."""

    endpoint: Endpoint
    environment: str
    dag_name: str
    token: str


def update(
    merge: Merge,
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    *,
    allow_retire: bool = False,
    dry_run: bool = False,
    on_progress: Progress | None = None,
    in_bulk: BulkLoad | None = None,
    say: Say = silent,
) -> Loaded:
    """Make the graph what the merge says; with `dry_run` only say what would be done.

    With `in_bulk` a large difference goes through Neptune's bulk loader; `say` is told how that
    stands. Raises GraphUnreachable, GraphRejected, BulkLoadFailed, IntermediateError (a row without
    a key), and RetireRefused before anything is written.
    """
    check(endpoint)
    started = time.monotonic()
    for attempt in range(1, _ATTEMPTS + 1):
        if in_bulk and not dry_run:
            bulk.await_earlier(in_bulk, environment, dag_name, say)
        if not dry_run and summary.is_unfinished(endpoint, environment, dag_name):
            # Before this one's token takes the place of that which tells.
            with own_errors():
                unfinished.settle(merge.nodes, endpoint, environment, dag_name)
        token = "" if dry_run else summary.begin(endpoint, environment, dag_name)
        with step("compare"), own_errors(), keeping() as kept:
            plan = replace(_plan(merge, endpoint, environment, dag_name), kept=tuple(kept))
        if in_bulk and in_bulk.takes(plan.counts.nodes + plan.counts.edges):
            plan = replace(plan, counts=replace(plan.counts, way="bulk"))
        try:
            with own_errors():
                refusal = "" if allow_retire else plan.gone.refusal
                if dry_run:
                    seconds = time.monotonic() - started
                    changes = _shown(plan)
                    return replace(
                        plan.counts, seconds=seconds, dry_run=True, refusal=refusal, changes=changes
                    )
                if refusal:
                    summary.give_up(endpoint, environment, dag_name, token)
                    raise RetireRefused(refusal)
                with step("write"):
                    chosen = in_bulk if plan.counts.way == "bulk" else None
                    target = _Target(endpoint, environment, dag_name, token)
                    requests = _carry_out(plan, target, on_progress, chosen, say)
        except GraphRejected as error:
            if attempt == _ATTEMPTS or isinstance(error, GraphUnsupported):
                raise
            continue
        finally:
            plan.release()
        done = replace(plan.counts, requests=requests, seconds=time.monotonic() - started)
        retired = done.retired_nodes + done.retired_edges
        facts = summary.Facts(done.nodes + done.edges, retired, merge.report)
        summary.end(endpoint, environment, dag_name, token, facts)
        return done
    raise AssertionError("unreachable")


def _plan(merge: Merge, endpoint: Endpoint, environment: str, dag_name: str) -> _Plan:
    spark = merge.nodes.sparkSession
    nodes, edges = merge.nodes, merge.edges
    runs = merge.runs if merge.runs is not None else spark.createDataFrame([], RUNS_DDL)
    identities = merge.identities
    if identities is None:
        identities = spark.createDataFrame([], IDENTITY_DDL)
    pairs = keep_planned(_pairs(spark, merge))
    names_known = pairs.select(F.col("other").alias("id")).unionByName(
        identities.where("other <> means").select(F.col("other").alias("id"))
    )
    ids = nodes.select("id").unionByName(names_known)
    existing = read(ids, endpoint, environment, dag_name)
    renames = find_renames(identities, nodes, existing, environment, dag_name)
    if "move" in renames.kinds:
        moved = renames.of_kind("move").select(F.col("id").alias("other"), "means")
        pairs = keep_planned(pairs.unionByName(moved).distinct())
    losers = keep_planned(_losers(pairs, existing))
    missing, move_count = _missing_and_losers(nodes, losers, existing)
    # A name that the graph knows to be another dataset's.
    names = _named_by_the_graph(nodes, existing, pairs, renames, endpoint, environment) if missing else None
    if names is not None:
        nodes = keep_planned(moves.renamed_nodes(nodes, names))
        edges = keep_planned(moves.renamed_edges(edges, names))
        ids = nodes.select("id").unionByName(names_known)
        existing = read(ids, endpoint, environment, dag_name)
        losers = keep_planned(_losers(pairs, existing))
        _, move_count = _missing_and_losers(nodes, losers, existing)
    if move_count:
        existing = Existing(
            keep_planned(moves.moved_vertices(existing.vertices, losers)),
            keep_planned(moves.moved_edges(existing.edges, losers, environment, dag_name)),
        )
    new_nodes = keep_planned(difference.compared_nodes(nodes, edges, existing))
    new_edges = keep_planned(difference.compared_edges(edges, existing))
    stray = keep_planned(find_stray(new_nodes, existing))
    found = tally(new_nodes, new_edges, stray, existing)
    if "newer" in found.nodes:
        # What only newer jobs touch is left as it is, and so is no stray vertex: `stray` stays.
        new_nodes, new_edges = map(keep_planned, _without_newer(new_nodes, new_edges))
        found = tally(new_nodes, new_edges, stray, existing)
        # An older merge knows an older configuration.
        renames = Renames(renames.changes.limit(0))
    replaced = replaced_edges(new_edges, renames, environment, dag_name)
    gone = find_gone(new_nodes, new_edges, runs, stray, replaced, found, existing, merge.coverage)
    counts = Loaded(
        nodes=found.nodes_to_write,
        edges=found.edges_to_write,
        requests=0,
        seconds=0.0,
        unchanged=found.unchanged,
        retired_nodes=gone.vertex_count,
        retired_edges=gone.edge_count,
        relabelled=found.nodes.get("label", 0),
        moved=move_count,
        retirements=gone.examples,
    )
    return _Plan(existing, new_nodes, new_edges, losers, renames, gone, found, counts)


def _pairs(spark: SparkSession, merge: Merge) -> DataFrame:
    """`other` and `means`: the ids that this merge knows to be one."""
    aliases = merge.aliases if merge.aliases is not None else spark.createDataFrame([], ALIAS_DDL)
    known = aliases.where("size(candidates) = 1 and source <> candidates[0]")
    return known.select(F.col("source").alias("other"), F.col("candidates")[0].alias("means"))


def _losers(pairs: DataFrame, existing: Existing) -> DataFrame:
    labels = F.split("label", "::")  # of one with two, see `graph.labels`
    is_dataset = F.arrays_overlap(labels, F.array(*map(F.lit, DATASET_LABELS)))
    there = existing.vertices.where(is_dataset).select(F.col("id").alias("other"))
    return pairs.join(there, "other", "leftsemi")


def _missing(nodes: DataFrame, existing: Existing) -> DataFrame:
    datasets = nodes.where(F.col("label").isin(*DATASET_LABELS)).select("id")
    return datasets.join(existing.vertices.select("id"), "id", "leftanti")


def _missing_and_losers(nodes: DataFrame, losers: DataFrame, existing: Existing) -> tuple[int, int]:
    """How many datasets the graph lacks, and how many it has under an id that is another's."""
    missing = _missing(nodes, existing).select(F.lit("missing").alias("kind"))
    known = losers.select(F.lit("loser").alias("kind"))
    rows = missing.union(known).groupBy("kind").count().collect()
    counts = {row.kind: row["count"] for row in rows}
    return counts.get("missing", 0), counts.get("loser", 0)


def _named_by_the_graph(
    nodes: DataFrame,
    existing: Existing,
    pairs: DataFrame,
    renames: Renames,
    endpoint: Endpoint,
    environment: str,
) -> DataFrame | None:
    """`other`, `means` and `label`; None where there is none, which is usual."""
    aliases = other_names(nodes.sparkSession, endpoint, environment)
    if "ignore" in renames.kinds:
        ignored = renames.of_kind("ignore").select("id", F.col("value").alias("alias"))
        aliases = aliases.join(ignored, ["id", "alias"], "leftanti").select(aliases.columns)
    names = moves.named_by_the_graph(nodes, existing, aliases)
    # What this merge itself puts together, it has put together already.
    names = keep_planned(names.join(pairs.select("other"), "other", "leftanti"))
    return names if names.take(1) else None


def _without_newer(nodes: DataFrame, edges: DataFrame) -> tuple[DataFrame, DataFrame]:
    """What was compared, without jobs that the graph knows from a later run, and what only they touch.

    Of their edges those that are in the graph stay as they are.
    """
    newer = nodes.where("change = 'newer'").select("id", "job_type", F.col("name").alias("job_name"))
    job = newer.select("job_type", "job_name", F.lit(True).alias("_newer"))
    marked = edges.join(job, ["job_type", "job_name"], "left").withColumn(
        "_newer", F.coalesce("_newer", F.lit(False)) & (F.col("change") != "absent")
    )
    ends = []
    for end in ("from", "to"):
        is_column = F.col("label") == "has_column"
        ends.append(
            marked.where(~is_column & (F.col("change") != "absent")).select(F.col(end).alias("id"), "_newer")
        )
    alone = ends[0].unionByName(ends[1]).groupBy("id").agg(F.min("_newer").alias("_newer")).where("_newer")
    operations = nodes.where("label = 'operation'").join(job, ["job_type", "job_name"], "leftsemi")
    alone = alone.select("id").unionByName(newer.select("id")).unionByName(operations.select("id")).distinct()
    of_datasets = alone.select(F.col("id").alias("_of"))
    kept = nodes.withColumn("_of", dataset_of("id")).join(of_datasets, "_of", "leftanti")
    kept = kept.drop("_of").join(alone, "id", "leftanti").select(nodes.columns)
    there = marked.where(~(F.col("_newer") & (F.col("change") == "new")))
    there = there.withColumn("change", F.when(F.col("_newer"), "same").otherwise(F.col("change")))
    for end in ("from", "to"):
        lost = alone.select(F.col("id").alias(end), F.lit(True).alias("_lost"))
        there = there.join(lost, end, "left").where("_lost is null or change <> 'new'").drop("_lost")
    return kept, there.select(edges.columns)


def _shown(plan: _Plan) -> tuple[str, ...]:
    """The first changes, in words."""
    nodes = _changed(plan.nodes).orderBy("id").limit(_SHOWN).collect()
    edges = _changed(plan.edges).orderBy("from", "label", "to").limit(_SHOWN).collect()
    moved = plan.moves.orderBy("other").limit(_SHOWN).collect() if plan.counts.moved else []
    removed: list[Any] = []
    if "remove" in plan.renames.kinds:
        aliases = plan.renames.of_kind("remove").where("property = 'aliases'")
        removed = aliases.orderBy("id", "value").limit(_SHOWN).collect()
    return (
        *(f"moved {row.other} to {row.means}" for row in moved),
        *(f"removed from {row.id}: alias {row.value}" for row in removed),
        *(f"{row.change} {row.label} {row.id}" for row in nodes),
        *(f"{row.change} {row['from']} -{row.label}-> {row.to}" for row in edges),
    )


def _changed(elements: DataFrame) -> DataFrame:
    return elements.where(~F.col("change").isin(*difference.UNWRITTEN))


def _carry_out(
    plan: _Plan, target: _Target, on_progress: Progress | None, in_bulk: BulkLoad | None, say: Say
) -> int:
    endpoint, environment, dag_name, token = target
    if plan.counts.relabelled:
        changes = plan.nodes.where("change = 'label'").select("id", "old_label", "label")

        def relabel(rows: Iterable[Any]) -> Iterator[int]:
            yield replace_labels(endpoint, ((row.id, row.old_label, row.label) for row in rows))

        # One after the other: neighbours would be in each other's way.
        changes.coalesce(1).rdd.mapPartitions(relabel).collect()
    requests = 0
    nodes, edges = _changed(plan.nodes), _changed(plan.edges)
    parts = bulk.parts(nodes, edges, plan.moves) if in_bulk else None
    if plan.counts.nodes:
        told = parts.first if parts else texts.told(nodes.select(*NODE_KEYS, "told", "text"))
        requests += write("nodes", told, endpoint, None, on_progress)[1]
    if plan.counts.moved:

        def move(rows: Iterable[Any]) -> Iterator[int]:
            yield moves.move(endpoint, ((row.other, row.means) for row in rows))

        plan.moves.coalesce(1).rdd.mapPartitions(move).collect()
    if in_bulk and parts:
        counts = plan.counts.nodes, plan.counts.edges
        bulk.load(in_bulk, endpoint, environment, dag_name, plan.nodes, parts, counts, say)
    if plan.counts.edges:
        told = parts.last if parts else texts.told(edges.select(*EDGE_KEYS, "told", "text"))
        requests += write("edges", told, endpoint, None, on_progress)[1]
    if plan.tally.cleared:
        _clear(plan.edges, endpoint)
        _clear_runs(plan.nodes, endpoint)
    if plan.tally.interim:
        _settle(plan.existing, endpoint, environment, dag_name)
    take_out(plan.gone, endpoint, summary.run_id(environment, dag_name), token, dag_name)
    # Last: until then a load that is run again finds what the names meant.
    if "remove" in plan.renames.kinds:
        _remove_values(plan.renames.of_kind("remove"), endpoint)
    return requests


def _remove_values(removals: DataFrame, endpoint: Endpoint) -> None:
    """Remove what vertices say of names that mean other datasets now."""

    def remove(rows: Iterable[Any]) -> Iterator[int]:
        values: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            values.setdefault((row.id, row.property), []).append(row.value)
        with asking(endpoint) as ask:
            for (vertex, name), found in values.items():
                for some in by_request(found):
                    ask(partial(_removing_values, vertex=vertex, name=name, values=some))
        yield len(values)

    removals.coalesce(1).rdd.mapPartitions(remove).collect()


def _removing_values(g: GraphTraversalSource, vertex: str, name: str, values: list[str]) -> GraphTraversal:
    return g.V(vertex).properties(name).has_value(P.within(values)).drop()


def _clear(edges: DataFrame, endpoint: Endpoint) -> None:
    """Remove the properties that an edge has no more."""

    def clear(rows: Iterable[Any]) -> Iterator[int]:
        ids: dict[str, list[str]] = {}
        for row in rows:
            for name in row.cleared:
                ids.setdefault(name, []).append(row.id)
        with asking(endpoint) as ask:
            for name, found in ids.items():
                for some in by_request(found):
                    ask(partial(_removing, ids=some, name=name))
        yield len(ids)

    edges.where("size(cleared) > 0").select("id", "cleared").coalesce(1).rdd.mapPartitions(clear).collect()


def _clear_runs(nodes: DataFrame, endpoint: Endpoint) -> None:
    """Remove what jobs hold of an earlier run, and their newest one does not say."""

    def clear(rows: Iterable[Any]) -> Iterator[int]:
        count = 0
        with asking(endpoint) as ask:
            for row in rows:
                ask(partial(_removing_of_run, job=row.id, names=list(row.cleared), at=row.last_run_at))
                count += 1
        yield count

    cleared = nodes.where("size(cleared) > 0").select("id", "cleared", "last_run_at")
    cleared.coalesce(1).rdd.mapPartitions(clear).collect()


def _removing_of_run(g: GraphTraversalSource, job: str, names: list[str], at: int) -> GraphTraversal:
    """Remove properties of a job, unless a later run has been merged meanwhile."""
    return g.V(job).not_(__.has("last_run_at", P.gt(long(at)))).properties(*names).drop()


def _removing(g: GraphTraversalSource, ids: list[str], name: str) -> GraphTraversal:
    return g.E(*ids).properties(name).drop()


def _settle(existing: Existing, endpoint: Endpoint, environment: str, dag_name: str) -> None:
    """Set the ids right of edges that a replacement left half way when it was killed."""
    found = existing.edges.where("interim")

    def settle(rows: Iterable[Any]) -> Iterator[int]:
        own = {"environment": environment, "dag_name": dag_name}
        edges = [
            Edge(
                row.id,
                row.label,
                row["from"],
                row["to"],
                texts.read(row.held) | own,
            )
            for row in rows
        ]
        with asking(endpoint) as ask:
            settle_interim(endpoint, ask, edges)
        yield len(edges)

    found.coalesce(1).rdd.mapPartitions(settle).collect()
