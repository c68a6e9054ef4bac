"""Facts into nodes: one for each id, of all that sources say of it."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.schema import NODE_KEYS, NODE_PROPERTIES
from lineage_merge.merge.facts import node_facts
from lineage_merge.merge.grouping import all_of, best_of
from lineage_merge.model import Authority, encode


def nodes(resolved: DataFrame, followed: DataFrame, environment: str, dag_name: str) -> DataFrame:
    """The nodes as rows of `graph.schema.node_ddl`."""
    values = [all_of(item.name) if item.many else best_of(item, F.col("rank")) for item in NODE_PROPERTIES]
    label = F.max(F.when(F.col("label").isNotNull(), F.struct("rank", "label")))["label"].alias("label")
    return (
        node_facts(resolved, environment, dag_name)
        .unionByName(_other_identities(followed))
        .groupBy("id")
        .agg(label, *values)
        # A file's path is its name already.
        .withColumn("location", F.when(F.col("label") != "file", F.col("location")))
        .withColumn("resolved_names", _of_dag(dag_name))
        .withColumn("environment", F.lit(environment))
        .withColumn("dag_name", F.lit(dag_name))
        .select(*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
    )


def _of_dag(dag_name: str) -> Column:
    """`resolved_names`, each with the DAG whose configuration says so."""
    dag = F.lit(f"{encode(dag_name)}|")
    return F.transform("resolved_names", lambda each: F.concat(dag, each))


def _other_identities(followed: DataFrame) -> DataFrame:
    return followed.select(
        F.col("means").alias("id"),
        F.lit(int(Authority.PLATFORM)).cast("bigint").alias("rank"),
        F.lit(None).cast("string").alias("label"),
        "properties",
        F.create_map(F.lit("aliases"), F.col("aliases")).alias("sets"),
    )
