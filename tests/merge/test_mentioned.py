"""A catalog's tables and what other sources speak of."""

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.merge import names, rules
from lineage_merge.merge.mentioned import DESCRIBED_DDL, described, of_mentioned
from lineage_merge.model import (
    Alias,
    Authority,
    Column,
    Count,
    Dataset,
    Element,
    Feeds,
    JobKey,
    Problem,
    Reference,
)
from lineage_merge.records import RECORD_DDL, records

KNOWN = names.Names("dev", rules.Rules())
JOB = JobKey("spark", "one")
OUT = Reference("", "s3://out/a")


def told(spark: SparkSession, *elements: Element) -> DataFrame:
    return spark.createDataFrame(list(records(elements, KNOWN)), RECORD_DDL)


def catalog(spark: SparkSession, about: dict[str | None, list[Element]]) -> DataFrame:
    rows = [row for name, elements in about.items() for row in described(name, records(elements, KNOWN))]
    return spark.createDataFrame(rows, DESCRIBED_DDL)


def table(name: str) -> list[Element]:
    path, called = Reference("", f"s3://lake/db/{name}"), Reference("spark_catalog", f"db.{name}")
    return [
        Dataset(path, Authority.CATALOG, "table", {"name": name}),
        Column(path, "id", Authority.CATALOG, {"position": 0}),
        Alias(called, path, "glue-catalog"),
        Problem("not-joined", name, "", "something about it"),
    ]


def test_only_what_is_about_a_mentioned_thing_counts_under_whichever_name(spark: SparkSession) -> None:
    listed = catalog(
        spark,
        {
            "by path": table("a"),
            "by name": table("b"),
            "unmentioned": table("c"),
            None: [Count("Glue tables", 3), Problem("not-joined", "catalog", "", "of the whole")],
        },
    )
    others = told(
        spark,
        Feeds(JOB, Reference("", "s3://lake/db/a/day=1/part-00000.parquet"), OUT),
        Feeds(JOB, Reference("spark_catalog", "db.B"), OUT),
    )

    found = of_mentioned(listed, others)

    assert found.columns == others.columns
    rows = found.collect()
    assert sorted(
        (row.kind, row.target or row.document) for row in rows if row.kind not in ("dataset", "count")
    ) == [
        ("alias", "dev|s3://lake|db/a"),
        ("alias", "dev|s3://lake|db/b"),
        ("column", "dev|s3://lake|db/a"),
        ("column", "dev|s3://lake|db/b"),
        ("problem", "a"),
        ("problem", "b"),
        ("problem", "catalog"),
        ("resolved", "dev|s3://lake|db/a"),
        ("resolved", "dev|s3://lake|db/b"),
    ]
    assert {row.target for row in rows if row.kind == "dataset"} == {
        "dev|s3://lake|db/a",
        "dev|s3://lake|db/b",
    }
