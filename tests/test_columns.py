"""Column lineage through the whole merge: from the documents of jobs and models to edges."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge.graph_format.schema import EDGE_PROPERTIES
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.expected import WAREHOUSE
from tests.sources.spline.columns.plan_building import PLAN, PlanBuilder
from tests.spline_documents import write_collections

pytestmark = pytest.mark.jvm

RAW, STAGING, LAKE = "dev|s3://tickit-raw", "dev|s3://tickit-staging", "dev|s3://tickit-lake|sales_dl"
SALES = f"dev|{WAREHOUSE}|dev.public.sales"
MART = f"dev|{WAREHOUSE}|dev.tickit_marts.top_events_by_sales"

Row = dict[str, Any]


@pytest.fixture(scope="module")
def tickit(spark: SparkSession, data: Path) -> list[Row]:
    """The edges of the two Spark applications and the dbt project, merged."""
    return edges(
        spark,
        {
            "spline": {"export": str(data / "spline"), "applications": ["tickit_*"]},
            "dbt": [{"manifest": str(data / "dbt/redshift_v12/manifest.json"), "namespace": WAREHOUSE}],
            "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
        },
    )


def edges(spark: SparkSession, settings: Row) -> list[Row]:
    built = pipeline.build(spark, CONFIGURATION.parse({"dag_name": "t", "environment": "dev", **settings}))
    unknown = {each.name: None for each in EDGE_PROPERTIES}
    return [unknown | row for row in built.edges.collect()]


def of_label(found: list[Row], label: str, job: str = "") -> list[Row]:
    return [each for each in found if each["label"] == label and (not job or each["job_name"] == job)]


def same(columns: str, source: str, target: str) -> set[tuple[str, str, str]]:
    return {(f"{source}|{each}", "IDENTITY", f"{target}|{each}") for each in columns.split()}


def test_columns_of_a_spark_job_come_from_where_its_code_takes_them(tickit: list[Row]) -> None:
    found = of_label(tickit, "feeds_column", "tickit_sales_ingest")

    sales = "salesid eventid buyerid sellerid qtysold pricepaid commission"
    assert {(each["from"], each["transformation"], each["to"]) for each in found} == {
        *same(f"{sales} saletime", f"{RAW}|sales", f"{STAGING}|sales"),
        (f"{RAW}|sales|saletime", "TRANSFORMATION", f"{STAGING}|sales|saledate"),
        *same("eventid venueid catid dateid starttime", f"{RAW}|event", f"{STAGING}|event"),
        (f"{RAW}|event|eventname", "TRANSFORMATION", f"{STAGING}|event|eventname"),
        *same(f"{sales} saledate", f"{STAGING}|sales", LAKE),
        *same("eventname", f"{STAGING}|event", LAKE),
        (f"{STAGING}|sales|pricepaid", "TRANSFORMATION", f"{LAKE}|net"),
        (f"{STAGING}|sales|commission", "TRANSFORMATION", f"{LAKE}|net"),
    }
    expressions = {each["to"]: each["expression"] for each in found if each["expression"]}
    assert expressions == {
        f"{STAGING}|sales|saledate": "to_date(saletime)",
        f"{STAGING}|event|eventname": "trim(eventname)",
        f"{LAKE}|net": "pricepaid - commission",
    }


def test_what_decides_on_rows_influences_the_dataset(tickit: list[Row]) -> None:
    found = of_label(tickit, "influences", "tickit_sales_ingest")

    assert {(each["from"], each["transformation"], each["to"]) for each in found} == {
        (f"{RAW}|sales|qtysold", "FILTER", f"{STAGING}|sales"),
        (f"{STAGING}|sales|eventid", "JOIN", LAKE),
        (f"{STAGING}|event|eventid", "JOIN", LAKE),
    }


def test_a_raw_price_reaches_the_total_of_the_mart(tickit: list[Row]) -> None:
    steps: dict[str, set[str]] = {}
    for each in of_label(tickit, "feeds_column"):
        steps.setdefault(each["from"], set()).add(each["to"])
    staging = f"dev|{WAREHOUSE}|dev.tickit_staging.stg_sales"
    path = [f"{RAW}|sales", f"{STAGING}|sales", LAKE, SALES, staging]

    for here, there in zip(path, [*path[1:], None], strict=True):
        target = f"{there}|pricepaid" if there else f"{MART}|total_sales"
        assert target in steps[f"{here}|pricepaid"]


def test_every_column_belongs_to_its_dataset_and_no_job(tickit: list[Row]) -> None:
    found = of_label(tickit, "has_column")

    columns = "salesid eventid buyerid sellerid qtysold pricepaid commission saledate eventname net"
    assert {each["to"] for each in found if each["from"] == LAKE} == {
        f"{LAKE}|{column}" for column in columns.split()
    }
    assert {each["job_name"] for each in found} == {None}
    assert len({each["id"] for each in found}) == len({each["to"] for each in found}) == len(found)


def test_operations_and_the_order_of_writes_stand_on_edges_between_datasets(tickit: list[Row]) -> None:
    found = of_label(tickit, "feeds", "tickit_sales_ingest")

    assert {(each["to"], each["from"], each["operations"], each["sequence"]) for each in found} == {
        (f"{STAGING}|sales", f"{RAW}|sales", "Filter > Project > Project", 1),
        (f"{STAGING}|event", f"{RAW}|event", "Project", 2),
        (LAKE, f"{STAGING}|sales", "Join > Project > Project", 3),
        (LAKE, f"{STAGING}|event", "Join > Project > Project", 3),
    }


def test_the_queries_of_tpch_have_the_columns_that_their_sql_mentions(
    spark: SparkSession, data: Path
) -> None:
    truth = json.loads((data / "truth" / "tpch_columns.json").read_text())

    found = of_label(edges(spark, {"spline": {"export": str(data / "spline/tpch")}}), "feeds_column")

    tables, queries = "dev|file|/user/hive/warehouse/tpch.db/", "dev|file|/data/tpch/"
    assert {(each["from"], each["to"]) for each in found} == {
        (f"{tables}{table}|{column}", f"{queries}{query}|{target}")
        for query, columns in truth.items()
        for table, column, target in columns
    }
    assert len(found) == 89


def test_a_chain_from_file_to_file_over_a_database_keeps_its_columns(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    """A captured job fills a table over JDBC; another one reads a query over it."""
    copytree(data / "spline" / "tickit_sales_load", tmp_path / "load")
    plan = PlanBuilder()
    url = "jdbc:redshift://tickit-wh.abc123xyz789.us-east-1.redshift.amazonaws.com:5439/dev"
    query = (
        "(select e.eventid, upper(e.eventname) as name, count(*) as n"
        " from public.event e where e.starttime > '2008-01-01' group by e.eventid, e.eventname) q"
    )
    rows = plan.read(f"{url}:{query}", "eventid", "name string", "n bigint")
    plan.write("s3://tickit-lake/event_names", rows)
    header = {"_key": PLAN, "name": "names", "extra": {"dataTypes": list(plan.types.values())}}
    write_collections({**plan.contents, "executionPlan": [header]}, tmp_path / "names")

    found = edges(spark, {"spline": {"export": str(tmp_path)}})

    event, names = f"dev|{WAREHOUSE}|dev.public.event", "dev|s3://tickit-lake|event_names"
    first = [each for each in of_label(found, "feeds_column") if each["to"].startswith(event)]
    assert {(each["from"], each["to"]) for each in first} >= {
        (f"{STAGING}|event|eventid", f"{event}|eventid"),
        (f"{STAGING}|event|eventname", f"{event}|eventname"),
    }
    second = of_label(found, "feeds_column", "names")
    assert {(each["from"], each["transformation"], each["to"], each["expression"]) for each in second} == {
        (f"{event}|eventid", "IDENTITY", f"{names}|eventid", None),
        (f"{event}|eventname", "TRANSFORMATION", f"{names}|name", "upper(eventname)"),
    }
    decided = {(each["from"], each["transformation"]) for each in of_label(found, "influences", "names")}
    assert decided == {
        (f"{event}|starttime", "FILTER"),
        (f"{event}|eventid", "GROUP_BY"),
        (f"{event}|eventname", "GROUP_BY"),
    }
    [feeds] = of_label(found, "feeds", "names")
    assert (feeds["from"], feeds["column_lineage"]) == (event, None)
