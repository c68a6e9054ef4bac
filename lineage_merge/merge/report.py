"""What a merge read, made and joined, and what it could not join: counts and a short list."""

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.merge.join import Merged
from lineage_merge.merge.outcome import MOST_PROBLEMS, Joined, Report
from lineage_merge.model import Problem

# Rules that join without a name of their own.
SAME_NAME = "same-name"


def report(records: DataFrame, merged: Merged) -> Report:
    """Count and list. Runs a few Spark jobs over records, aliases, nodes and edges."""
    read, told = _told(records)
    problems = [*told, *_ambiguous(merged), *_loose_ends(merged)]
    totals: dict[str, int] = {}
    for problem in problems:
        totals[problem.kind] = totals.get(problem.kind, 0) + 1
    return Report(
        read=read,
        nodes=_by_label(merged.nodes),
        edges=_by_label(merged.edges),
        joined=tuple(_joined(records, merged)),
        problems=tuple(sorted(problems, key=lambda each: (each.kind, each.document, each.field))),
        totals=totals,
    )


def _by_label(elements: DataFrame) -> dict[str, int]:
    rows = elements.groupBy("label").count().collect()
    return {row["label"]: row["count"] for row in sorted(rows)}


def _told(records: DataFrame) -> tuple[dict[str, int], list[Problem]]:
    """The counts of what was read, and the problems that were met on the way."""
    found = (
        records.where("kind in ('count', 'problem')")
        .groupBy("kind", "rule", "document", "field", "message")
        .agg(F.sum("at").alias("number"))
        .orderBy("kind", "document", "field")  # counts come first
        .limit(MOST_PROBLEMS)
        .collect()
    )
    read = {row["rule"]: row.number for row in found if row.kind == "count"}
    problems = [
        Problem(row["rule"], row.document, row.field, row.message) for row in found if row.kind == "problem"
    ]
    return dict(sorted(read.items())), problems


def _ambiguous(merged: Merged) -> Iterator[Problem]:
    several = merged.aliases.where("size(candidates) > 1").orderBy("source").limit(MOST_PROBLEMS)
    for row in several.collect():
        message = f"could mean {len(row.candidates)} datasets: {', '.join(row.candidates[:5])}"
        yield Problem("not-joined", row.source, "", message)


def _loose_ends(merged: Merged) -> Iterator[Problem]:
    """Tables that dbt reads and nothing writes, and outputs of jobs that run which nothing reads."""
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
    for row in ends.orderBy("id").limit(MOST_PROBLEMS).collect():
        if row.dbt_reads:
            yield Problem("unfed", row.id, "", "dbt reads it, nothing writes it")
        else:
            yield Problem("unread", row.id, "", f"{row.writer.capitalize()} writes it, nothing reads it")


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
