"""What a merge read, made and joined, and what it could not join: counts and a short list."""

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.kept import keep
from lineage_merge.merge.join import Merged
from lineage_merge.merge.outcome import MERGE, MOST_PROBLEMS, Joined, Report
from lineage_merge.model import Problem

# Rules that join without a name of their own.
SAME_NAME = "same-name"

_PROBLEM = ("source", "rule", "document", "field", "message")


def of_source(records: DataFrame, key: str) -> DataFrame:
    """Note in the problems among the records of a source which source reported them (`source`)."""
    reporter = F.when(F.col("kind") == "problem", F.lit(key)).otherwise(F.col("source"))
    return records.withColumn("source", reporter)


def report(records: DataFrame, merged: Merged) -> Report:
    """Count and list. Runs a few Spark jobs over records, aliases, nodes and edges."""
    problems = keep(
        records.where("kind = 'problem'")
        .withColumn("source", F.coalesce("source", F.lit(MERGE)))
        .select(*_PROBLEM)
        .unionByName(_ambiguous(merged))
        .unionByName(_loose_ends(merged))
    )
    by_source = _counts(problems)
    totals: dict[str, int] = {}
    for kinds in by_source.values():
        for kind, number in kinds.items():
            totals[kind] = totals.get(kind, 0) + number
    return Report(
        read=_read(records),
        nodes=_by_label(merged.nodes),
        edges=_by_label(merged.edges),
        joined=tuple(_joined(records, merged)),
        problems=_examples(problems) if totals else (),
        totals=dict(sorted(totals.items())),
        by_source=by_source,
    )


def _by_label(elements: DataFrame) -> dict[str, int]:
    rows = elements.groupBy("label").count().collect()
    return {row["label"]: row["count"] for row in sorted(rows)}


def _read(records: DataFrame) -> dict[str, int]:
    counts = records.where("kind = 'count'").groupBy("rule").agg(F.sum("at").alias("number")).collect()
    return {row["rule"]: row.number for row in sorted(counts)}


def _counts(problems: DataFrame) -> dict[str, dict[str, int]]:
    """How many different problems there are, by source and kind. Several workers may report the same one."""
    number = F.count_distinct(F.struct("document", "field", "message")).alias("number")
    found: dict[str, dict[str, int]] = {}
    for row in sorted(problems.groupBy("source", "rule").agg(number).collect()):
        found.setdefault(row.source, {})[row["rule"]] = row.number
    return found


def _examples(problems: DataFrame) -> tuple[Problem, ...]:
    """The first problems of each source and kind."""
    place = Window.partitionBy("source", "rule").orderBy("document", "field", "message")
    first = (
        problems.distinct()
        .withColumn("_place", F.row_number().over(place))
        .where(f"_place <= {MOST_PROBLEMS}")
    )
    # The same problem of two sources is shown once.
    found = {Problem(row["rule"], row.document, row.field, row.message) for row in first.collect()}
    return tuple(sorted(found, key=lambda each: (each.kind, each.document, each.field, each.message)))


def _problem(kind: Column, document: str, message: Column) -> list[Column]:
    return [
        F.lit(MERGE).alias("source"),
        kind.alias("rule"),
        F.col(document).alias("document"),
        F.lit("").alias("field"),
        message.alias("message"),
    ]


def _ambiguous(merged: Merged) -> DataFrame:
    """Names that could be several datasets, as problems."""
    datasets = F.array_join(F.slice("candidates", 1, 5), ", ")
    message = F.concat(F.lit("could mean "), F.size("candidates"), F.lit(" datasets: "), datasets)
    several = merged.aliases.where("size(candidates) > 1")
    return several.select(*_problem(F.lit("not-joined"), "source", message))


def _loose_ends(merged: Merged) -> DataFrame:
    """Tables that dbt reads and nothing writes, and outputs of jobs that nothing reads, as problems."""
    feeds = F.col("label") == "feeds"
    ends = (
        merged.edges.select(
            F.col("from").alias("id"),
            feeds.alias("is_read"),
            (feeds & (F.col("job_type") == "dbt")).alias("dbt_reads"),
            F.lit(False).alias("is_written"),
            F.lit("").alias("writer"),
        )
        .where("is_read")
        .unionByName(
            merged.edges.where("label = 'writes'").select(
                F.col("to").alias("id"),
                F.lit(False).alias("is_read"),
                F.lit(False).alias("dbt_reads"),
                F.lit(True).alias("is_written"),
                F.when(F.col("job_type") == "dbt", "").otherwise(F.col("job_type")).alias("writer"),
            )
        )
        .groupBy("id")
        .agg(*(F.max(flag).alias(flag) for flag in ("is_read", "dbt_reads", "is_written", "writer")))
        .where("(dbt_reads and not is_written) or (writer <> '' and not is_read)")
    )
    kind = F.when(F.col("dbt_reads"), "unfed").otherwise("unread")
    writer = F.concat(F.upper(F.substring("writer", 1, 1)), F.lower(F.expr("substring(writer, 2)")))
    unread = F.concat(writer, F.lit(" writes it, nothing reads it"))
    message = F.when(F.col("dbt_reads"), "dbt reads it, nothing writes it").otherwise(unread)
    return ends.select(*_problem(kind, "id", message))


def _joined(records: DataFrame, merged: Merged) -> Iterator[Joined]:
    by_rule = (
        records.where("kind = 'joined'")
        .select("rule", F.col("target").alias("id"))
        .unionByName(
            merged.aliases.where("size(candidates) = 1").select("rule", F.col("candidates")[0].alias("id"))
        )
        .groupBy("rule")
        .agg(F.countDistinct("id").alias("datasets"))
    )
    feeds = merged.edges.where("label = 'feeds'")
    ends = [feeds.select(F.col(end).alias("id"), "job_type") for end in ("from", "to")]
    shared = (
        ends[0]
        .unionByName(ends[1])
        .groupBy("id")
        .agg(F.countDistinct("job_type").alias("sides"))
        .where("sides > 1")
        .agg(F.count("*").alias("datasets"))
        .select(F.lit(SAME_NAME).alias("rule"), "datasets")
    )
    for row in sorted(by_rule.unionByName(shared).collect()):
        if row.datasets:
            yield Joined(row["rule"], row.datasets)
