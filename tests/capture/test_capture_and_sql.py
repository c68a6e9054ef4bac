"""The same query as a Spark plan and as SQL: both have the same columns and the same influences."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge import capture
from tests.capture.capture_cases import VIEWS, flows_of, influences_of, prepare
from tests.sources.sql.sql_reading import lineage_of

pytestmark = pytest.mark.jvm

_SCHEMA = (
    "create table sales (id int, price double, city string);"
    " create table cities (city string, country string)"
)
QUERIES = (
    "select distinct city, price + 1 as more from sales",
    "select city from sales union select country from cities",
    "select city from sales union all select country from cities",
    "select city from sales intersect select city from cities",
    "select city from sales except all select country from cities",
    "select id from sales s left semi join cities c on s.city = c.city",
    "select id from sales s left anti join cities c on s.city = c.city where price > 1",
    "select s.id, c.country from sales s left join cities c on s.city = c.city",
    "select id, word from sales lateral view explode(split(city, ' ')) w as word",
    "select city, sum(price) as total from sales group by city having max(id) > 3",
    "select id from sales where city in (select city from cities)",
    "select id from sales order by price limit 3",
)


@pytest.fixture(scope="module")
def views(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    prepare(spark, Path(tmp_path_factory.mktemp("views")))
    yield spark
    for view in VIEWS:
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_has_the_same_lineage_as_a_plan_and_as_sql(query: str, views: SparkSession) -> None:
    captured = capture(views.sql(query), target="s3://lake/o")
    sql = lineage_of(f"create table o as {query}", "spark", schema=_SCHEMA)

    plan = {
        f"{source.replace('.', '#')} > o#{column} {kinds}" for source, column, kinds, _ in flows_of(captured)
    }
    assert plan == sql.columns
    decided = {
        f"{edge.split()[0].replace('.', '#')} > o {edge.split()[1]}" for edge in influences_of(captured)
    }
    assert decided == sql.influences
