"""DataFrames and statements with their expected lineage, for Spark 3.5 and Spark 4.

`sales` (id, price, city) and `cities` (city, country) are files of a folder, and temporary views.
"""

from collections.abc import Callable, Set
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.model.elements import FeedsColumn, Influences, dot_path
from lineage_merge.spark_capture import Captured

# (source column, target column, transformations, expression)
Flow = tuple[str, str, str, str]

# All that is left behind in a session.
VIEWS = ("sales", "cities", "first_view", "second_view")

_ID = ("sales.id", "id", "IDENTITY", "")
_PRICE = ("sales.price", "price", "IDENTITY", "")
_CITY = ("sales.city", "city", "IDENTITY", "")
_RUNNING = "sum(price) OVER (PARTITION BY city ORDER BY id)"
_UNION = "(select city as name, price from sales union all select country, 0.0D from cities)"
_NAME = {("sales.city", "name", "IDENTITY", ""), ("cities.country", "name", "IDENTITY", "")}


class Case(NamedTuple):
    """What is captured, and what must be found; `influences` as ``sales.id FILTER``."""

    make: Callable[[SparkSession], DataFrame | str]
    flows: Set[Flow]
    influences: Set[str] = frozenset()


def prepare(spark: SparkSession, folder: Path) -> None:
    """The files and the views."""
    for name, rows, ddl in (
        ("sales", [(1, 2.5, "Bonn"), (2, 1.0, "Rome")], "id int, price double, city string"),
        ("cities", [("Bonn", "DE")], "city string, country string"),
    ):
        spark.createDataFrame(rows, ddl).write.mode("overwrite").parquet(f"{folder}/{name}")
        spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)


def flows_of(captured: Captured) -> set[Flow]:
    """The column edges that were captured."""
    return {
        (
            f"{_short(each.source.name)}.{dot_path(each.source_column)}",
            dot_path(each.target_column),
            ",".join(each.transformations),
            each.expression,
        )
        for each in captured.elements()
        if isinstance(each, FeedsColumn)
    }


def influences_of(captured: Captured) -> set[str]:
    """What decides on rows."""
    return {
        f"{_short(each.source.name)}.{dot_path(each.source_column)} {','.join(each.transformations)}"
        for each in captured.elements()
        if isinstance(each, Influences)
    }


def _short(name: str) -> str:
    return name.rstrip("/").replace("/", ".").rpartition(".")[2]


def _sql(text: str) -> Callable[[SparkSession], str]:
    return lambda _spark: text


def _cached(spark: SparkSession) -> DataFrame:
    cached = spark.table("sales").select("id", (F.col("price") * 2).alias("twice")).cache()
    return cached.where("twice > 1")


def _python_function(spark: SparkSession) -> DataFrame:
    @F.udf("string")
    def shout(text: str) -> str:
        return text.upper()

    return spark.table("sales").select(shout("city").alias("loud"))


def _metadata_of_files(spark: SparkSession) -> DataFrame:
    folder = Path(spark.table("sales").inputFiles()[0]).parent
    return (
        spark.read.parquet(str(folder)).where("_metadata.file_size > 1").select("id", "_metadata.file_path")
    )


def _pivot(spark: SparkSession) -> DataFrame:
    return spark.table("sales").groupBy("id").pivot("city", ["Bonn"]).agg(F.sum("price"))


def _views_over_views(spark: SparkSession) -> str:
    spark.sql("select id, price + 1 as more from sales").createOrReplaceTempView("first_view")
    spark.sql("create or replace temporary view second_view as select id, more * 2 as most from first_view")
    return "select most from second_view"


CASES: dict[str, Case] = {
    "constants": Case(
        _sql("select * from (select substr(a+1,0,1) as c, a+3 as d from (select 1 as a, 2 as b))"), set()
    ),
    "metadata of files": Case(_metadata_of_files, {_ID}),
    "join": Case(
        _sql("select s.id, c.country from sales s join cities c on s.city = c.city"),
        {_ID, ("cities.country", "country", "IDENTITY", "")},
        {"sales.city JOIN", "cities.city JOIN"},
    ),
    "semi join": Case(
        _sql("select id from sales left semi join cities using (city)"),
        {_ID},
        {"sales.city FILTER", "cities.city FILTER"},
    ),
    "self join": Case(
        _sql("select l.price, r.price as other from sales l join sales r on l.id = r.id"),
        {_PRICE, ("sales.price", "other", "IDENTITY", "")},
        {"sales.id JOIN"},
    ),
    "union": Case(
        _sql(
            "select upper(name) as name"
            " from (select city as name from sales union all select country from cities)"
        ),
        {
            ("sales.city", "name", "TRANSFORMATION", "upper(name)"),
            ("cities.country", "name", "TRANSFORMATION", "upper(name)"),
        },
    ),
    "intersection": Case(
        _sql("select city from sales intersect select city from cities"),
        {_CITY},
        {"sales.city JOIN", "cities.city JOIN"},
    ),
    "difference": Case(
        _sql("select city from sales except select city from cities"),
        {_CITY},
        {"sales.city JOIN", "cities.city JOIN"},
    ),
    "window": Case(
        _sql("select sum(price) over (partition by city order by id) as running from sales"),
        {
            ("sales.price", "running", "AGGREGATION", _RUNNING),
            ("sales.city", "running", "WINDOW", _RUNNING),
            ("sales.id", "running", "WINDOW", _RUNNING),
        },
    ),
    "case": Case(
        _sql("select case when id > 1 then price else 0.0D end as price_or_zero from sales"),
        {
            ("sales.id", "price_or_zero", "CONDITIONAL", "CASE WHEN id > 1 THEN price ELSE 0.0 END"),
            ("sales.price", "price_or_zero", "TRANSFORMATION", "CASE WHEN id > 1 THEN price ELSE 0.0 END"),
        },
    ),
    "aggregation with a filter, an order and a limit": Case(
        _sql(
            "select city, max(price) filter (where id > 1) as most from sales where price > 0"
            " group by city order by city limit 3"
        ),
        {
            _CITY,
            ("sales.price", "most", "AGGREGATION", "max(price) FILTER (WHERE id > 1)"),
            ("sales.id", "most", "CONDITIONAL", "max(price) FILTER (WHERE id > 1)"),
        },
        {"sales.city GROUP_BY,SORT", "sales.price FILTER"},
    ),
    "scalar subquery": Case(
        _sql("select id, price - (select max(price) from sales) as below from sales"),
        {_ID, ("sales.price", "below", "TRANSFORMATION,AGGREGATION", "price - (SELECT max(price))")},
    ),
    "correlated subquery": Case(
        _sql("select (select max(country) from cities c where c.city = s.city) as country from sales s"),
        {("cities.country", "country", "AGGREGATION", "max(country)")},
        {"sales.city FILTER", "cities.city FILTER"},
    ),
    "IN and EXISTS": Case(
        _sql(
            "select id from sales s where city in (select city from cities)"
            " and exists (select 1 from cities c where c.country = s.city)"
        ),
        {_ID},
        {"sales.city FILTER", "cities.city FILTER", "cities.country FILTER"},
    ),
    "lateral subquery": Case(
        _sql("select id, more from sales s, lateral (select s.price + 1 as more)"),
        {_ID, ("sales.price", "more", "TRANSFORMATION", "price + cast(1 as double)")},
    ),
    "common table expression, used twice": Case(
        _sql(
            "with t as (select id, price * 2 as twice from sales) select l.twice as a, r.twice as b"
            " from t l join t r on l.id = r.id"
        ),
        {
            ("sales.price", "a", "TRANSFORMATION", "price * cast(2 as double)"),
            ("sales.price", "b", "TRANSFORMATION", "price * cast(2 as double)"),
        },
        {"sales.id JOIN"},
    ),
    "explode": Case(
        _sql("select id, word from sales lateral view explode(split(city, ' ')) as word"),
        {_ID, ("sales.city", "word", "TRANSFORMATION", "explode(split(city, ' ', -1))")},
    ),
    "pivot": Case(
        _pivot,
        {
            _ID,
            ("sales.price", "Bonn", "AGGREGATION", "pivotfirst(city, sum(sales.price))[0]"),
            ("sales.city", "Bonn", "CONDITIONAL", "pivotfirst(city, sum(sales.price))[0]"),
        },
        {"sales.id GROUP_BY", "sales.city GROUP_BY"},
    ),
    "rollup": Case(
        _sql("select city, id, sum(price) as total from sales group by rollup (city, id)"),
        {_CITY, _ID, ("sales.price", "total", "AGGREGATION", "sum(price)")},
        {"sales.city GROUP_BY", "sales.id GROUP_BY"},
    ),
    "rollup over a union": Case(
        _sql(f"select name, sum(price) as total from {_UNION} group by rollup (name)"),
        {*_NAME, ("sales.price", "total", "AGGREGATION", "sum(price)")},
        {"sales.city GROUP_BY", "cities.country GROUP_BY"},
    ),
    "cube over a union": Case(
        _sql(f"select name, price, count(*) as n from {_UNION} group by cube (name, price)"),
        {*_NAME, _PRICE},
        {"sales.city GROUP_BY", "cities.country GROUP_BY", "sales.price GROUP_BY"},
    ),
    "grouping sets over a union": Case(
        _sql(f"select name, count(*) as n from {_UNION} group by grouping sets ((name), (name, price), ())"),
        _NAME,
        {"sales.city GROUP_BY", "cities.country GROUP_BY", "sales.price GROUP_BY"},
    ),
    "rollup over a union in a common table expression, used twice": Case(
        _sql(
            f"with u as (select * from {_UNION}) select l.name, max(r.price) as most"
            " from u l join u r on l.name = r.name group by rollup (l.name)"
        ),
        {*_NAME, ("sales.price", "most", "AGGREGATION", "max(price)")},
        {"sales.city GROUP_BY,JOIN", "cities.country GROUP_BY,JOIN"},
    ),
    "unpivot over a union": Case(
        _sql(f"select * from {_UNION} unpivot (amount for kind in (price))"),
        {*_NAME, ("sales.price", "amount", "IDENTITY", "")},
        {"sales.price FILTER"},
    ),
    "distinct": Case(_sql("select distinct city from sales"), {_CITY}, {"sales.city GROUP_BY"}),
    "cached frame": Case(
        _cached,
        {_ID, ("sales.price", "twice", "TRANSFORMATION", "price * cast(2 as double)")},
        {"sales.price FILTER"},
    ),
    "views over views": Case(
        _views_over_views, {("sales.price", "most", "TRANSFORMATION", "cast(most as double)")}
    ),
    "Python function": Case(_python_function, {("sales.city", "loud", "TRANSFORMATION", "shout(city)")}),
    "structures and lambdas": Case(
        _sql("select transform(array(price), x -> x + id) as sums, struct(id, city).city as city from sales"),
        {
            ("sales.price", "sums", "TRANSFORMATION", "transform(array(price), x -> x + cast(id as double))"),
            ("sales.id", "sums", "TRANSFORMATION", "transform(array(price), x -> x + cast(id as double))"),
            ("sales.city", "city", "IDENTITY", ""),
        },
    ),
}
