"""How facts about one element are put together, and how ids are made, in Spark's expressions."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.schema import Property


def best_of(item: Property, rank: Column) -> Column:
    """The value with the highest rank; of equals the greatest, so that order never counts."""
    text = F.col("properties")[item.name]
    value = text.cast("bigint") if item.type == "long" else text
    known = F.when(value.isNotNull(), F.struct(rank.alias("rank"), value.alias("value")))
    return F.max(known)["value"].alias(item.name)


def all_of(name: str) -> Column:
    """All values of a set, sorted; null where there is none."""
    values = F.sort_array(F.array_distinct(F.flatten(F.collect_list(F.col("sets")[name]))))
    return F.when(F.size(values) > 0, values).alias(name)


def encoded(value: Column) -> Column:
    """`lineage_merge.model.encode` in Spark."""
    return F.replace(F.replace(value, F.lit("%"), F.lit("%25")), F.lit("|"), F.lit("%7C"))


def job_id(environment: str, dag_name: str) -> Column:
    """`lineage_merge.model.job_id` of the columns `job_type` and `job_name`."""
    parts = (F.lit(environment), F.lit(dag_name), F.col("job_type"), F.col("job_name"))
    return F.concat_ws("|", *(encoded(part) for part in parts))


def column_id(dataset: Column, column: Column) -> Column:
    """`lineage_merge.model.column_id` in Spark."""
    return F.concat_ws("|", dataset, encoded(F.lower(column)))


def operation_id(job: Column, key: Column) -> Column:
    """`lineage_merge.model.operation_id` in Spark."""
    return F.concat_ws("|", job, encoded(key))


def edge_id() -> Column:
    """`lineage_merge.model.edge_id` of the edge's columns; a job that is null is no part of it."""
    parts = ("environment", "dag_name", "job_type", "job_name", "from", "label", "to")
    text = F.concat_ws("|", *(encoded(F.col(part)) for part in parts))
    return F.substring(F.sha2(text, 256), 1, 20)
