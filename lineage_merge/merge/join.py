"""Records of all sources into nodes and edges, in Spark: joins and groupings only."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.schema import EDGE_KEYS, EDGE_PROPERTIES, NODE_KEYS, NODE_PROPERTIES, Property
from lineage_merge.model import Authority

_PER_EDGE = tuple(item for item in EDGE_PROPERTIES if item.name not in ("job_type", "job_name"))


@dataclass(frozen=True, slots=True)
class Merged:
    """The graph as node and edge rows (`lineage_merge.graph.schema`).

    `aliases` has the other identities that were met: `source` (an id), `candidates` (the
    ids it could mean; only one that could mean a single dataset was followed) and `rule`.
    """

    nodes: DataFrame
    edges: DataFrame
    aliases: DataFrame


def merge(records: DataFrame, environment: str, dag_name: str) -> Merged:
    """Join the records of all sources. They are read several times: persist them."""
    aliases = (
        records.where("kind = 'alias'")
        .groupBy("source")
        .agg(
            F.sort_array(F.collect_set("target")).alias("candidates"),
            F.max("rule").alias("rule"),
            _all("aliases"),
        )
        .persist()
    )
    followed = aliases.where("size(candidates) = 1").select(
        F.col("source").alias("other"), F.col("candidates")[0].alias("means"), "aliases"
    )
    return Merged(
        nodes=_nodes(records, followed, environment, dag_name),
        edges=_edges(records, followed, environment, dag_name),
        aliases=aliases,
    )


def _edges(records: DataFrame, followed: DataFrame, environment: str, dag_name: str) -> DataFrame:
    moved = records.where("kind in ('feeds', 'writes')").select(
        F.col("kind").alias("label"), "source", "target", "job_type", "job_name", "properties", "sets"
    )
    for end in ("source", "target"):
        means = followed.select(F.col("other").alias(end), F.col("means").alias(f"{end}_means"))
        moved = moved.join(means, end, "left").withColumn(end, F.coalesce(f"{end}_means", end))
    job = _id(environment, dag_name, "job_type", "job_name")
    return (
        moved.withColumn("from", F.when(F.col("label") == "feeds", F.col("source")).otherwise(job))
        .withColumnRenamed("target", "to")
        .groupBy("label", "from", "to", "job_type", "job_name")
        .agg(*(_all(item.name) if item.name == "via" else _best(item, F.lit(0)) for item in _PER_EDGE))
        .withColumn("via", F.array_join("via", " | "))
        .withColumn("environment", F.lit(environment))
        .withColumn("dag_name", F.lit(dag_name))
        .withColumn("id", _edge_id())
        .select(*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))
    )


def _nodes(records: DataFrame, followed: DataFrame, environment: str, dag_name: str) -> DataFrame:
    said = (
        records.where("kind = 'dataset'")
        .join(followed.select(F.col("other").alias("target"), "means"), "target", "left")
        # What the name of another identity tells is not true of the dataset itself.
        .where(f"means is null or authority <> {int(Authority.PLATFORM)}")
        .select(
            F.coalesce("means", "target").alias("id"),
            F.col("authority").cast("bigint").alias("rank"),
            "label",
            "properties",
            "sets",
        )
    )
    other_identities = followed.select(
        F.col("means").alias("id"),
        F.lit(0).cast("bigint").alias("rank"),
        F.lit(None).cast("string").alias("label"),
        F.create_map().cast("map<string,string>").alias("properties"),
        F.create_map(F.lit("aliases"), F.col("aliases")).alias("sets"),
    )
    jobs = records.where("kind = 'job'").select(
        _id(environment, dag_name, "job_type", "job_name").alias("id"),
        F.col("at").alias("rank"),
        F.lit("job").alias("label"),
        F.map_concat(
            F.col("properties"),
            F.create_map(F.lit("name"), F.col("job_name"), F.lit("job_type"), F.col("job_type")),
        ).alias("properties"),
        "sets",
    )
    columns = [_all(item.name) if item.many else _best(item, F.col("rank")) for item in NODE_PROPERTIES]
    label = F.max(F.when(F.col("label").isNotNull(), F.struct("rank", "label")))["label"].alias("label")
    return (
        said.unionByName(other_identities)
        .unionByName(jobs)
        .groupBy("id")
        .agg(label, *columns)
        # A file's path is its name already.
        .withColumn("location", F.when(F.col("label") != "file", F.col("location")))
        .withColumn("environment", F.lit(environment))
        .withColumn("dag_name", F.lit(dag_name))
        .select(*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
    )


def _best(item: Property, rank: Column) -> Column:
    """The value with the highest rank; of equals the greatest, so that order never counts."""
    text = F.col("properties")[item.name]
    value = text.cast("bigint") if item.type == "long" else text
    known = F.when(value.isNotNull(), F.struct(rank.alias("rank"), value.alias("value")))
    return F.max(known)["value"].alias(item.name)


def _all(name: str) -> Column:
    """All values of a set, sorted; null where there is none."""
    values = F.sort_array(F.array_distinct(F.flatten(F.collect_list(F.col("sets")[name]))))
    return F.when(F.size(values) > 0, values).alias(name)


def _encoded(value: Column) -> Column:
    """`lineage_merge.model.encode` in Spark."""
    return F.replace(F.replace(value, F.lit("%"), F.lit("%25")), F.lit("|"), F.lit("%7C"))


def _id(environment: str, dag_name: str, *columns: str) -> Column:
    parts = (F.lit(environment), F.lit(dag_name), *(F.col(column) for column in columns))
    return F.concat_ws("|", *(_encoded(part) for part in parts))


def _edge_id() -> Column:
    """`lineage_merge.model.edge_id` in Spark."""
    parts = ("environment", "dag_name", "job_type", "job_name", "from", "label", "to")
    text = F.concat_ws("|", *(_encoded(F.col(part)) for part in parts))
    return F.substring(F.sha2(text, 256), 1, 20)
