"""Queries that the agent and `capture` report in different forms: the same columns and influences.

The agent has a subquery's plan as text; `capture` has its operations.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own habit)

from tests.capture.agent_and_capture import BY_BOTH, Reader
from tests.sources.spline.columns.example_tables import example_tables
from tests.sources.spline.columns.lineage_reading import listed

pytestmark = pytest.mark.jvm

# Temporary views of files: Spark's text of a plan does not name the files.
_VIEWS = ("orders", "customers")


class Case(NamedTuple):
    """A query, its flows as ``t.a -> x IDENTITY``, and its influences as ``t.a FILTER``."""

    query: str | Callable[[SparkSession], DataFrame]
    flows: str
    influences: str = ""


def _needs_pandas() -> None:
    pytest.importorskip("pandas")
    if pyspark.__version__ < "4" and find_spec("distutils") is None:
        pytest.skip("Spark 3.5 needs distutils for pandas, which Python 3.12 has only with setuptools")


def _function_of_groups(spark: SparkSession) -> DataFrame:
    _needs_pandas()
    grouped = spark.table("t").groupBy("a", F.upper("b").alias("shown"))
    return grouped.applyInPandas(_first, "a int, total double")


def _function_of_cogroups(spark: SparkSession) -> DataFrame:
    _needs_pandas()
    cogrouped = spark.table("t").groupBy("a").cogroup(spark.table("u").groupBy("k"))
    return cogrouped.applyInPandas(_first_of_two, "a int, total double")


def _first(rows: Any) -> Any:
    return rows


def _first_of_two(rows: Any, _others: Any) -> Any:
    return rows


_CASES = {
    # INTERSECT and EXCEPT
    "INTERSECT ALL compares both sides": Case(
        "SELECT a, b FROM t INTERSECT ALL SELECT k, v FROM u",
        "t.a -> a IDENTITY; t.b -> b IDENTITY",
        "t.a JOIN; t.b JOIN; u.k JOIN; u.v JOIN",
    ),
    "EXCEPT ALL compares both sides": Case(
        lambda spark: spark.table("t").select("a").exceptAll(spark.table("u").where("w > 1").select("k")),
        "t.a -> a IDENTITY",
        "t.a JOIN; u.k JOIN; u.w FILTER",
    ),
    "EXCEPT ALL in a subquery": Case(
        "SELECT b FROM t WHERE a IN (SELECT id FROM j EXCEPT ALL SELECT k FROM u)",
        "t.b -> b IDENTITY",
        "t.a FILTER; j.id FILTER,JOIN; u.k JOIN",
    ),
    # Functions of groups
    "the groups of a function over pandas frames": Case(
        _function_of_groups, "", "t.a GROUP_BY; t.b GROUP_BY"
    ),
    "the groups of a function over two pandas frames": Case(
        _function_of_cogroups, "", "t.a GROUP_BY; u.k GROUP_BY"
    ),
    # Subqueries
    "the order of max_by in a subquery is a condition": Case(
        "SELECT (SELECT max_by(upper(v), w + k) FILTER (WHERE length(v) > 1) FROM u) x FROM t",
        "u.v -> x AGGREGATION,CONDITIONAL; u.w -> x CONDITIONAL; u.k -> x CONDITIONAL",
    ),
    "the order of min_by within a larger expression in a subquery": Case(
        "SELECT (SELECT concat(min_by(v, w), max(v), ', ', count(k)) FROM u) x FROM t",
        "u.v -> x AGGREGATION; u.w -> x CONDITIONAL; u.k -> x AGGREGATION",
    ),
    "an aggregate of the outer query in a correlated subquery": Case(
        "SELECT b FROM t GROUP BY b HAVING EXISTS (SELECT 1 FROM u WHERE k = max(coalesce(t.a, 0)))",
        "t.b -> b IDENTITY",
        "t.a FILTER; t.b GROUP_BY; u.k FILTER",
    ),
    "a scalar subquery of a temporary view that the query reads": Case(
        "SELECT a, c / (SELECT sum(c) FROM orders WHERE b <> 'x') share FROM orders",
        "orders.a -> a IDENTITY; orders.c -> share TRANSFORMATION,AGGREGATION",
        "orders.b FILTER",
    ),
    "a correlated subquery of a temporary view that the query reads elsewhere": Case(
        """SELECT a FROM orders JOIN customers ON a = k
            WHERE c > (SELECT avg(o.w) FROM customers o WHERE o.v = orders.b)""",
        "orders.a -> a IDENTITY",
        (
            "orders.a JOIN; customers.k JOIN; orders.c FILTER; orders.b FILTER; customers.w FILTER;"
            "customers.v FILTER"
        ),
    ),
    "a UNION below ROLLUP in a subquery": Case(
        """SELECT (SELECT max(s) FROM (SELECT a, sum(x) s FROM (
             SELECT a, c x FROM t UNION ALL SELECT k, -w FROM u) GROUP BY ROLLUP (a))) top FROM j""",
        "t.c -> top AGGREGATION; u.w -> top AGGREGATION",
        "t.a GROUP_BY; u.k GROUP_BY",
    ),
    # Parts of values
    "a key of a map reads its own value only": Case(
        "SELECT map('st', b, 'co', string(c))['co'] x, element_at(map(1, a, 2, year(d)), 2) y FROM t",
        "t.c -> x TRANSFORMATION; t.d -> y TRANSFORMATION",
    ),
    "a key of a map that another query built": Case(
        """WITH q AS (SELECT map('st', b, 'co', string(c)) m FROM t
                       UNION ALL SELECT map('st', v, 'co', string(w)) FROM u)
           SELECT m.st x FROM q""",
        "t.b -> x TRANSFORMATION; u.v -> x TRANSFORMATION",
    ),
    "keys that are columns may be any key": Case(
        "SELECT map(b, a, 'co', year(d))['co'] x, map('st', a)[b] y FROM t",
        (
            "t.a -> x TRANSFORMATION; t.b -> x TRANSFORMATION; t.d -> x TRANSFORMATION;"
            "t.a -> y TRANSFORMATION; t.b -> y TRANSFORMATION"
        ),
    ),
    "an item of an array": Case(
        "SELECT array(a, k)[1] x, element_at(array(a, k), 1) y, element_at(array(a, k), -1) z FROM t, u",
        ("u.k -> x TRANSFORMATION; t.a -> y TRANSFORMATION; t.a -> z TRANSFORMATION;u.k -> z TRANSFORMATION"),
    ),
    "the greatest struct is chosen by the fields before the one that is read": Case(
        "SELECT max(struct(a, b, d)).b x, min(struct(a, b, d)).a y FROM t",
        "t.b -> x AGGREGATION; t.a -> x CONDITIONAL; t.a -> y AGGREGATION",
    ),
    "the greatest struct in a column, through a CTE and a window": Case(
        """WITH q AS (SELECT a, max(struct(d, b)) m FROM t GROUP BY a)
           SELECT m.b x, max(m) OVER (PARTITION BY a).d y FROM q""",
        "t.b -> x AGGREGATION; t.d -> x CONDITIONAL; t.d -> y AGGREGATION; t.a -> y WINDOW",
        "t.a GROUP_BY",
    ),
    "a field of a nested struct, all fields of a struct, and one of a table's": Case(
        lambda spark: (
            spark.table("t")
            .agg(F.max(F.struct("d", F.struct("a", "b").alias("n"))).alias("m"), F.max("c").alias("c"))
            .select("m.*", F.col("m.n.b").alias("b"), F.struct("c")["c"].alias("c"))
        ),
        (
            "t.d -> d AGGREGATION; t.d -> n CONDITIONAL; t.a -> n.a AGGREGATION; t.b -> n.b AGGREGATION;"
            "t.d -> b CONDITIONAL; t.b -> b AGGREGATION; t.c -> c AGGREGATION"
        ),
    ),
    "a field of a struct that a function returns": Case(
        """SELECT max_by(struct(a, b), d).b x, any_value(struct(a, b)) FILTER (WHERE c > 1).a y,
                  greatest(struct(a, d), struct(k AS a, d)).d z,
                  CASE WHEN c > 1 THEN struct(a, b) ELSE struct(k AS a, v AS b) END.b o
             FROM t, u GROUP BY a, b, c, d, k, v""",
        (
            "t.b -> x AGGREGATION; t.d -> x CONDITIONAL; t.a -> y AGGREGATION; t.c -> y CONDITIONAL;"
            "t.d -> z TRANSFORMATION; t.a -> z CONDITIONAL; u.k -> z CONDITIONAL;"
            "t.b -> o TRANSFORMATION; u.v -> o TRANSFORMATION; t.c -> o CONDITIONAL"
        ),
        "t.a GROUP_BY; t.b GROUP_BY; t.c GROUP_BY; t.d GROUP_BY; u.k GROUP_BY; u.v GROUP_BY",
    ),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("tables")
    with example_tables(spark, folder / "database") as running:
        for view, table in zip(_VIEWS, ("t", "u"), strict=True):
            running.table(table).write.parquet(f"{folder}/{view}")
            running.read.parquet(f"{folder}/{view}").createOrReplaceTempView(view)
        yield running
        for view in _VIEWS:
            running.catalog.dropTempView(view)


# PySpark checks the version of pandas by a function of Python that is deprecated.
@pytest.mark.filterwarnings("ignore:distutils Version classes:DeprecationWarning")
@BY_BOTH
@pytest.mark.parametrize("name", _CASES)
def test_columns_and_influences(tables: SparkSession, name: str, reader: Reader) -> None:
    case = _CASES[name]
    frame = tables.sql(case.query) if isinstance(case.query, str) else case.query(tables)

    assert reader(frame) == (listed(case.flows), listed(case.influences))
