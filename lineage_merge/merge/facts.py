"""What one record says of nodes and edges: one pass over the records, whatever their kind."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.merge.grouping import column_id, job_id, operation_id
from lineage_merge.model import Authority


def resolved(records: DataFrame, followed: DataFrame) -> DataFrame:
    """The records with each dataset under the id that counts.

    `followed` has `other` and what it `means`; `is_other` says that the target was such a one.
    """
    for end in ("source", "target"):
        means = followed.select(F.col("other").alias(end), F.col("means").alias(f"{end}_means"))
        records = records.join(means, end, "left").withColumn(end, F.coalesce(f"{end}_means", end))
    is_other = F.col("target_means").isNotNull()
    return records.withColumn("is_other", is_other).drop("source_means", "target_means")


def node_facts(resolved: DataFrame, environment: str, dag_name: str) -> DataFrame:
    """`id`, `rank`, `label`, `properties`, `sets`: a row for everything that is said of a node."""
    kind = F.col("kind")
    job = job_id(environment, dag_name)
    # What the name of another identity tells is not true of the dataset itself.
    says = (kind == "dataset") & ~(F.col("is_other") & (F.col("authority") == int(Authority.PLATFORM)))
    authority = F.col("authority").cast("bigint")
    facts = (
        F.when(says, _fact(F.col("target"), authority, F.col("label"), F.col("properties"))),
        F.when(kind == "column", _column("target", authority, F.col("properties"))),
        *(
            # A column that only lineage names is one too: its vertex must be there before its edges.
            F.when(
                kind.isin("feeds_column", "influences") & F.col(f"{end}_column").isNotNull(),
                _column(end, F.lit(0).cast("bigint"), _map(name=F.col(f"{end}_column"))),
            )
            for end in ("source", "target")
        ),
        F.when(
            kind == "job",
            _fact(job, F.coalesce("at", F.lit(0).cast("bigint")), kind, _told(name=F.col("job_name"))),
        ),
        F.when(
            kind == "operation",
            _fact(
                operation_id(job, F.col("source")),
                F.lit(0).cast("bigint"),
                kind,
                _told(job_name=F.col("job_name")),
            ),
        ),
    )
    return resolved.select(_each(facts), F.when(says, F.col("sets")).alias("sets")).select("fact.*", "sets")


def edge_facts(resolved: DataFrame, environment: str, dag_name: str) -> DataFrame:
    """`label`, `from`, `to`, the job, `properties` and `sets`: a row for all that is said of an edge."""
    kind = F.col("kind")
    job = job_id(environment, dag_name)
    start = F.when(kind == "writes", job).when(kind == "follows", operation_id(job, F.col("source")))
    end = F.when(kind == "follows", operation_id(job, F.col("target")))
    facts = (
        F.when(
            kind.isin("feeds", "writes", "feeds_column", "influences", "follows"),
            _edge(kind, start.otherwise(_end("source")), end.otherwise(_end("target"))),
        ),
        *(
            F.when(
                kind.isin("column", "feeds_column", "influences") & F.col(f"{end}_column").isNotNull(),
                _edge(F.lit("has_column"), F.col(end), _end(end)),
            )
            for end in ("source", "target")
        ),
    )
    own = F.col("fact.label") != "has_column"  # belongs to no job
    of_record = ("job_type", "job_name", "properties", "sets")
    return resolved.select(_each(facts), *of_record).select(
        "fact.*", *(F.when(own, F.col(name)).alias(name) for name in of_record)
    )


def _each(facts: tuple[Column, ...]) -> Column:
    return F.explode(F.filter(F.array(*facts), lambda fact: fact.isNotNull())).alias("fact")


def _fact(identifier: Column, rank: Column, label: Column, properties: Column) -> Column:
    return F.struct(
        identifier.alias("id"), rank.alias("rank"), label.alias("label"), properties.alias("properties")
    )


def _column(end: str, rank: Column, properties: Column) -> Column:
    return _fact(_end(end), rank, F.lit("column"), properties)


def _edge(label: Column, start: Column, end: Column) -> Column:
    return F.struct(label.alias("label"), start.alias("from"), end.alias("to"))


def _end(end: str) -> Column:
    """The id of a record's end: the dataset, or its column where the record names one."""
    column = F.col(f"{end}_column")
    return F.when(column.isNull(), F.col(end)).otherwise(column_id(F.col(end), column))


def _told(**more: Column) -> Column:
    return F.map_concat(F.col("properties"), _map(job_type=F.col("job_type"), **more))


def _map(**values: Column) -> Column:
    return F.create_map(*(part for name, value in values.items() for part in (F.lit(name), value)))
