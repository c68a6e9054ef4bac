"""Two vertices that turn out to be one dataset: the loser's tags, edges and columns go to the winner.

Everything is there twice before anything is taken away, so that a move may be cut off at any
point and made again.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.errors import GraphRejected
from lineage_merge.graph.labels import one_label
from lineage_merge.graph.schema import DATASET_LABELS
from lineage_merge.load import requests, texts
from lineage_merge.load.connection import Endpoint
from lineage_merge.load.existing import Existing, dataset_of, end_is_column
from lineage_merge.load.requests import Upsert
from lineage_merge.load.sending import Asker, asking, send
from lineage_merge.load.snapshot import Edge, Snapshot, take
from lineage_merge.merge.grouping import edge_id as edge_id_in_spark
from lineage_merge.merge.grouping import encoded
from lineage_merge.model import JobKey, edge_id

_ATTEMPTS = 5
# What a vertex is called belongs to its identity, and that is the winner's.
_IDENTITY = frozenset({"name", "namespace", "qualified_name", "location"})
# Nor does the format of its own files, such as those of a temporary directory, apply to the other vertex.
_OF_VERTEX = _IDENTITY | {"format"}


def move(endpoint: Endpoint, pairs: Iterable[tuple[str, str]]) -> int:
    """Move (loser, winner) vertices by id; how many losers there were.

    The winners must be in the graph. Raises GraphUnreachable and GraphRejected.
    """
    moved = 0
    with asking(endpoint) as ask:
        for loser, winner in pairs:
            moved += _move(endpoint, ask, loser, winner)
    return moved


def taking_out(g: GraphTraversalSource, vertex: str, edge_count: int, dags: list[str]) -> GraphTraversal:
    """Drop a vertex, if it has no more edges and no other tags than were moved."""
    others = __.values("dag_name").is_(P.without(dags))
    return g.V(vertex).where(__.both_e().count().is_(edge_count)).not_(others).drop()


def _move(endpoint: Endpoint, ask: Asker, loser: str, winner: str) -> int:
    for attempt in range(_ATTEMPTS):
        found = take(ask, loser)
        if found is None:
            return 1 if attempt else 0
        # Each DAG has an edge of its own to a column.
        hanging = [edge.to_id for edge in found.edges if edge.label == "has_column" and edge.from_id == loser]
        hanging = [column for column in hanging if column.startswith(f"{loser}|")]
        columns = [column for each in sorted(set(hanging)) if (column := take(ask, each))]
        new_ids = {loser: winner, **{each.id: winner + each.id[len(loser) :] for each in columns}}
        _copy(endpoint, ask, [found, *columns], new_ids)
        for column in columns:
            ask(partial(taking_out, vertex=column.id, edge_count=column.edge_count, dags=column.dags))
        left = found.edge_count - len(hanging)
        ask(partial(taking_out, vertex=loser, edge_count=left, dags=found.dags))
    if take(ask, loser) is None:
        return 1
    raise GraphRejected(f"{loser}: it was not moved to {winner}: others kept writing to it")


def _copy(endpoint: Endpoint, ask: Asker, found: list[Snapshot], new_ids: dict[str, str]) -> None:
    def vertices() -> Iterator[Upsert]:
        for each in found:
            there = take(ask, new_ids[each.id])
            known = frozenset(there.values) if there else frozenset()
            label = one_label(there.label if there else each.label)
            identity = frozenset() if each.label == "column" else _OF_VERTEX
            yield each.upsert(new_ids[each.id], label, known | identity)

    edges = {edge.id: edge for edge in chain.from_iterable(each.edges for each in found)}
    # A dataset does not feed itself because it had two names.
    anew = (_of(edge, new_ids) for edge in edges.values())
    kept = (edge for edge in anew if edge.from_id != edge.to_id)
    send(endpoint, requests.batches(vertices()))
    send(endpoint, requests.batches(edge.upsert() for edge in kept))


def _of(edge: Edge, new_ids: dict[str, str]) -> Edge:
    start, end = new_ids.get(edge.from_id, edge.from_id), new_ids.get(edge.to_id, edge.to_id)
    held = edge.properties
    job = JobKey(held["job_type"], held["job_name"]) if "job_name" in held else None
    identifier = edge_id(held["environment"], held["dag_name"], job, start, edge.label, end)
    return Edge(identifier, edge.label, start, end, held)


# The same on what was read, in Spark: what a merge is compared with is the graph after the moves.


def moved_edges(edges: DataFrame, pairs: DataFrame, environment: str, dag_name: str) -> DataFrame:
    """Existing edges as they will be; `pairs` are `other` and `means`."""
    moved = renamed_ends(edges, pairs)
    job = [texts.one(name).alias(name) for name in ("job_type", "job_name")]
    own = [F.lit(environment).alias("environment"), F.lit(dag_name).alias("dag_name")]
    keys = moved.select("*", *job, *own).withColumn(
        "id", F.when(F.col("_moved"), edge_id_in_spark()).otherwise(F.col("id"))
    )
    return (
        keys.where(~F.col("_moved") | (F.col("from") != F.col("to")))
        .select(*edges.columns)
        .dropDuplicates(["id", "interim"])
    )


def moved_vertices(vertices: DataFrame, pairs: DataFrame) -> DataFrame:
    """Existing vertices without the losers and their columns."""
    losers = pairs.select(F.col("other").alias("_dataset"))
    return (
        vertices.withColumn("_dataset", dataset_of("id"))
        .join(losers, "_dataset", "leftanti")
        .drop("_dataset")
    )


def renamed_nodes(nodes: DataFrame, pairs: DataFrame) -> DataFrame:
    """Nodes of a merge that knows datasets (`other`) by a name behind which the graph knows another.

    What such a node tells of its own name is left out; where the merge knows the other one too,
    that one has the word.
    """
    found = nodes.withColumn("_dataset", dataset_of("id")).join(_pairs(pairs, "_dataset"), "_dataset", "left")
    renamed = F.col("_means").isNotNull()
    of_dataset = renamed & (F.col("label") != "column")
    rest = F.expr("substring(id, length(_dataset) + 1)")
    found = (
        found.withColumn("_rank", F.when(renamed, 0).otherwise(1))
        .withColumn("id", F.when(renamed, F.concat("_means", rest)).otherwise(F.col("id")))
        .withColumn("label", F.when(of_dataset, F.col("_label")).otherwise(F.col("label")))
    )
    for name in _IDENTITY:
        found = found.withColumn(name, F.when(of_dataset, None).otherwise(F.col(name)))
    values = []
    for name in nodes.columns:
        if name == "id":
            continue
        known = F.when(F.col(name).isNotNull(), F.struct("_rank", F.col(name).alias("value")))
        values.append(F.max(known)["value"].alias(name))
    return found.groupBy("id").agg(*values).select(*nodes.columns)


def renamed_edges(edges: DataFrame, pairs: DataFrame) -> DataFrame:
    """The merge's edges likewise."""
    moved = renamed_ends(edges, pairs)
    identifier = F.when(F.col("_moved"), edge_id_in_spark()).otherwise(F.col("id"))
    return (
        moved.where(~F.col("_moved") | (F.col("from") != F.col("to")))
        .withColumn("id", identifier)
        .select(*edges.columns)
        .dropDuplicates(["id"])
    )


def renamed_ends(edges: DataFrame, pairs: DataFrame) -> DataFrame:
    """Edges with the ends that they will have, and `_moved`: whether one of them is another."""
    moved: Column = F.lit(False)
    for end in ("from", "to"):
        dataset = dataset_of(end, end_is_column(end))
        edges = edges.withColumn("_dataset", dataset).join(_pairs(pairs, "_dataset"), "_dataset", "left")
        rest = F.expr(f"substring(`{end}`, length(_dataset) + 1)")
        is_moved = F.col("_means").isNotNull()
        edges = (
            edges.withColumn(f"_{end}_moved", is_moved)
            .withColumn(end, F.when(is_moved, F.concat("_means", rest)).otherwise(F.col(end)))
            .drop("_dataset", "_means", "_label")
        )
        moved = moved | F.col(f"_{end}_moved")
    return edges.withColumn("_moved", moved)


def _pairs(pairs: DataFrame, key: str) -> DataFrame:
    label = F.col("label") if "label" in pairs.columns else F.lit(None).cast("string")
    return pairs.select(F.col("other").alias(key), F.col("means").alias("_means"), label.alias("_label"))


def named_by_the_graph(nodes: DataFrame, existing: Existing, aliases: DataFrame) -> DataFrame:
    """Datasets of a merge that the graph knows under another id: `other`, `means`, its `label`.

    `aliases` are `existing.other_names`. A name that several vertices claim is followed to none.
    """
    missing = nodes.where(F.col("label").isin(*DATASET_LABELS)).select("id", "environment")
    missing = missing.join(existing.vertices.select("id"), "id", "leftanti")
    named = F.regexp_extract("alias", r"^(.*) \([^()]*\)$", 1)
    parts = (F.substring_index(named, "|", 1), F.expr("substring(_named, instr(_named, '|') + 1)"))
    told = (
        aliases.withColumn("_named", named)
        .where(F.col("_named").contains("|"))
        .select(F.concat_ws("|", *map(encoded, parts)).alias("_name"), F.col("id").alias("means"), "label")
        .distinct()
    )
    only = told.groupBy("_name").agg(
        F.count("*").alias("_count"), F.max("means").alias("means"), F.max("label").alias("label")
    )
    prefix = F.concat(F.col("environment"), F.lit("|"))
    return (
        missing.withColumn("_name", F.expr("substring(id, length(environment) + 2)"))
        .where(F.col("id").startswith(prefix))
        .join(only.where("_count = 1"), "_name")
        .where("id <> means")
        .select(F.col("id").alias("other"), "means", "label")
    )
