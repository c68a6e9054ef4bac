"""Facts into edges: one for each job, start, label and end, whoever told it and how often."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.schema import EDGE_KEYS, EDGE_PROPERTIES, Property
from lineage_merge.merge.edge_texts import LONGEST_EXPRESSION, SEVERAL, TRANSFORMATIONS
from lineage_merge.merge.facts import edge_facts
from lineage_merge.merge.grouping import all_of, best_of, edge_id


def edges(resolved: DataFrame, environment: str, dag_name: str) -> DataFrame:
    """The edges as rows of `graph.schema.edge_ddl`."""
    per_edge = [each for each in EDGE_PROPERTIES if each.name not in ("job_type", "job_name")]
    return (
        edge_facts(resolved, environment, dag_name)
        .groupBy("label", "from", "to", "job_type", "job_name")
        .agg(*map(_value, per_edge))
        .withColumn("environment", F.lit(environment))
        .withColumn("dag_name", F.lit(dag_name))
        .withColumn("id", edge_id())
        .select(*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))
    )


def _value(item: Property) -> Column:
    if item.name == "transformation":
        found = F.flatten(F.collect_list(F.col("sets")[item.name]))
        known = F.array(*map(F.lit, TRANSFORMATIONS))
        text = F.array_join(F.filter(known, lambda each: F.array_contains(found, each)), ",")
        return F.when(F.length(text) > 0, text).alias(item.name)
    if item.name in SEVERAL:
        text = F.array_join(all_of(item.name), " | ")
        shown = F.substring(text, 1, LONGEST_EXPRESSION) if item.name == "expression" else text
        return F.when(F.length(text) > 0, shown).alias(item.name)
    if item.name == "sequence":
        return F.min(F.col("properties")[item.name].cast("bigint")).alias(item.name)
    return best_of(item, F.lit(0))
