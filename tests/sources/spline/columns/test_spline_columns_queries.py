"""Column lineage of queries that Spark analyses: each shape with what it must give, by hand."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own habit)

from lineage_merge.sources.spline.columns.lineage import ColumnLineage
from tests.sources.spline.columns.example_tables import example_tables
from tests.sources.spline.columns.harvesting import harvest, harvest_insert
from tests.sources.spline.columns.lineage_reading import (
    columns,
    expressions,
    flows,
    influences,
    listed,
    read,
    untraced,
)

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with example_tables(spark, tmp_path_factory.mktemp("tables")) as running:
        yield running


def lineage(spark: SparkSession, query: str) -> ColumnLineage:
    return read(harvest(spark.sql(query), "s3://lake/target"))


# A query, what flows, and what decides on rows.
_QUERIES = {
    "a union takes each column from every branch, by position": (
        "SELECT a x, b y FROM t UNION ALL SELECT k, upper(v) FROM u",
        "t.a -> x IDENTITY; u.k -> x IDENTITY; t.b -> y IDENTITY; u.v -> y TRANSFORMATION",
        "",
    ),
    "unions nest, and a rollup stands above them": (
        """SELECT a, sum(x) s FROM (
             SELECT a, c x FROM t UNION ALL SELECT k, -w FROM u UNION ALL SELECT c1, c2 FROM wide
           ) GROUP BY ROLLUP (a)""",
        (
            "t.a -> a IDENTITY; u.k -> a IDENTITY; wide.c1 -> a IDENTITY;"
            "t.c -> s AGGREGATION; u.w -> s AGGREGATION; wide.c2 -> s AGGREGATION"
        ),
        "t.a GROUP_BY; u.k GROUP_BY; wide.c1 GROUP_BY",
    ),
    "a self-join keeps its two sides apart": (
        "SELECT l.a, r.b FROM t l JOIN t r ON l.a = year(r.d) WHERE l.b = 'x'",
        "t.a -> a IDENTITY; t.b -> b IDENTITY",
        "t.a JOIN; t.d JOIN; t.b FILTER",
    ),
    "a CTE that is used twice": (
        """WITH z AS (SELECT a, sum(c) s FROM t GROUP BY a)
           SELECT z1.a, z1.s s1, z2.s s2 FROM z z1 JOIN z z2 ON z1.a = z2.a + 1""",
        "t.a -> a IDENTITY; t.c -> s1 AGGREGATION; t.c -> s2 AGGREGATION",
        "t.a GROUP_BY,JOIN",
    ),
    "a CTE within a CTE, and one in a union and in a subquery": (
        """WITH x AS (WITH y AS (SELECT a, c FROM t) SELECT a, sum(c) z FROM y GROUP BY a),
                q AS (SELECT * FROM x UNION ALL SELECT k, w FROM u)
           SELECT q1.a, q2.z FROM q q1 JOIN q q2 ON q1.a = q2.a WHERE q1.z > (SELECT avg(z) FROM q)""",
        "t.a -> a IDENTITY; u.k -> a IDENTITY; t.c -> z AGGREGATION; u.w -> z TRANSFORMATION",
        "t.a GROUP_BY,JOIN; u.k JOIN; t.c FILTER; u.w FILTER",
    ),
    "a CTE inside of a scalar subquery": (
        "SELECT a, (WITH m AS (SELECT k, w FROM u) SELECT max(w) FROM m WHERE m.k = t.a) top FROM t",
        "t.a -> a IDENTITY; u.w -> top AGGREGATION",
        "t.a FILTER; u.k FILTER",
    ),
    "a scalar subquery that reads a CTE of a CTE": (
        """WITH r AS (SELECT k, w FROM u), s AS (SELECT max(w) top FROM r)
           SELECT (SELECT top FROM s) x,
                  CASE WHEN c > (SELECT top FROM s) THEN a ELSE (SELECT min(k) FROM r) END y FROM t""",
        (
            "u.w -> x AGGREGATION; t.c -> y CONDITIONAL; u.w -> y CONDITIONAL; t.a -> y TRANSFORMATION;"
            "u.k -> y AGGREGATION"
        ),
        "",
    ),
    "windows over a CTE that is joined with itself twice": (
        """WITH w1 AS (SELECT b, a, sum(c) s, avg(sum(c)) OVER (PARTITION BY b) av,
                              rank() OVER (PARTITION BY b ORDER BY a) rn FROM t GROUP BY b, a)
           SELECT x.b, x.s, y.s before, x.av FROM w1 x, w1 y WHERE x.b = y.b AND x.rn = y.rn + 1""",
        (
            "t.b -> b IDENTITY; t.c -> s AGGREGATION; t.c -> before AGGREGATION; t.c -> av AGGREGATION;"
            "t.b -> av WINDOW"
        ),
        "t.a FILTER,GROUP_BY; t.b FILTER,GROUP_BY",
    ),
    "INTERSECT compares both sides, also above it": (
        """SELECT max(a) + 1 x, b FROM (SELECT a, b FROM t INTERSECT SELECT k, v FROM u)
            WHERE a > 1 GROUP BY b""",
        "t.a -> x AGGREGATION; t.b -> b IDENTITY",
        "t.a FILTER,JOIN; u.k JOIN; t.b GROUP_BY,JOIN; u.v JOIN",
    ),
    "INTERSECT in a subquery compares both sides": (
        "SELECT b, (SELECT max(a) FROM (SELECT a FROM t INTERSECT SELECT k FROM u)) m FROM t",
        "t.b -> b IDENTITY; t.a -> m AGGREGATION",
        "t.a JOIN; u.k JOIN",
    ),
    "EXCEPT compares both sides": (
        "SELECT a + 1 a1 FROM t EXCEPT SELECT k FROM u WHERE v = 'x'",
        "t.a -> a1 TRANSFORMATION",
        "t.a JOIN; u.k JOIN; u.v FILTER",
    ),
    "IN and EXISTS give no values": (
        """SELECT b FROM t WHERE (a, b) IN (SELECT k, v FROM u)
             OR EXISTS (SELECT * FROM wide WHERE c30 = a AND c3 IN (1, 2))""",
        "t.b -> b IDENTITY",
        "t.a FILTER; t.b FILTER; u.k FILTER; u.v FILTER; wide.c30 FILTER; wide.c3 FILTER",
    ),
    "a subquery within a subquery": (
        """WITH r AS (SELECT k, w FROM u WHERE v = 'a')
           SELECT b FROM t WHERE a IN (SELECT k FROM r WHERE w > (SELECT avg(w) FROM r))""",
        "t.b -> b IDENTITY",
        "t.a FILTER; u.k FILTER; u.v FILTER; u.w FILTER",
    ),
    "a subquery in HAVING": (
        "SELECT b FROM t GROUP BY b HAVING max(a) > (SELECT max(k) FROM u)",
        "t.b -> b IDENTITY",
        "t.a FILTER; t.b GROUP_BY; u.k FILTER",
    ),
    "scalar subqueries as a CASE's condition and values": (
        """SELECT CASE WHEN (SELECT count(*) FROM u WHERE k BETWEEN 1 AND 20) > 10
                         THEN (SELECT avg(w) FROM u)
                         ELSE (SELECT max(CASE WHEN c1 > 0 THEN c33 ELSE c2 END) FROM wide) END x FROM t""",
        "u.w -> x AGGREGATION; wide.c1 -> x CONDITIONAL; wide.c2 -> x AGGREGATION; wide.c33 -> x AGGREGATION",
        "u.k FILTER",
    ),
    "a subquery's union, window and self-join, with columns that the text leaves out": (
        """SELECT (SELECT sum(x) FROM (SELECT k x FROM u UNION ALL SELECT c30 FROM wide)) s,
                  (SELECT first(v) FROM (SELECT v, row_number() OVER (PARTITION BY k ORDER BY w) n FROM u)
                    WHERE n = 1) f,
                  (SELECT max(x.c31 + y.c2) FROM wide x JOIN wide y ON x.c32 = y.c33) m FROM t""",
        (
            "u.k -> s AGGREGATION; wide.c30 -> s AGGREGATION; u.v -> f AGGREGATION;"
            "wide.c31 -> m AGGREGATION; wide.c2 -> m AGGREGATION"
        ),
        "u.k FILTER; u.w FILTER; wide.c32 JOIN; wide.c33 JOIN",
    ),
    "IN in a SELECT is a value": (
        "SELECT a IN (SELECT k FROM u) known FROM t",
        "t.a -> known TRANSFORMATION; u.k -> known TRANSFORMATION",
        "",
    ),
    "a lateral join": (
        "SELECT a, ww, vv FROM t, LATERAL (SELECT w AS ww, v || 'x' AS vv FROM u WHERE k = t.a)",
        "t.a -> a IDENTITY; u.w -> ww IDENTITY; u.v -> vv TRANSFORMATION",
        "t.a FILTER; u.k FILTER",
    ),
    "explode": (
        "SELECT id, explode(tags) tag FROM j",
        "j.id -> id IDENTITY; j.tags -> tag TRANSFORMATION",
        "",
    ),
    "posexplode of an expression, in a lateral view": (
        "SELECT a, e, pos FROM t LATERAL VIEW posexplode(split(b, ',')) x AS pos, e",
        "t.a -> a IDENTITY; t.b -> e TRANSFORMATION; t.b -> pos TRANSFORMATION",
        "",
    ),
    "inline, and explode of a map": (
        "SELECT x, y, k, n FROM j LATERAL VIEW inline(pairs) AS x, y LATERAL VIEW explode(m) AS k, n",
        (
            "j.pairs.x -> x TRANSFORMATION; j.pairs.y -> y TRANSFORMATION; j.m -> k TRANSFORMATION;"
            "j.m -> n TRANSFORMATION"
        ),
        "",
    ),
    "stack gives each column its own arguments": (
        "SELECT stack(2, 'x', a, 'y', cast(b AS int)) AS (n, v) FROM t",
        "t.a -> v TRANSFORMATION; t.b -> v TRANSFORMATION",
        "",
    ),
    "UNPIVOT": (
        "SELECT * FROM (SELECT v, k, cast(w AS int) w FROM u) UNPIVOT INCLUDE NULLS (val FOR nm IN (k, w))",
        "u.v -> v IDENTITY; u.k -> val IDENTITY; u.w -> val TRANSFORMATION",
        "",
    ),
    "PIVOT with two aggregates": (
        "SELECT * FROM t PIVOT (sum(c) AS s, max(a) AS m FOR b IN ('x', 'y'))",
        (
            "t.d -> d IDENTITY;"
            "t.c -> x_s AGGREGATION; t.b -> x_s CONDITIONAL; t.a -> x_m AGGREGATION; t.b -> x_m CONDITIONAL;"
            "t.c -> y_s AGGREGATION; t.b -> y_s CONDITIONAL; t.a -> y_m AGGREGATION; t.b -> y_m CONDITIONAL"
        ),
        "t.b GROUP_BY; t.d GROUP_BY",
    ),
    "aggregates over a window, lag, row_number and ntile": (
        """SELECT sum(sum(c)) OVER (PARTITION BY b ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) cum,
                  lag(a, 1) OVER (ORDER BY d) l, row_number() OVER (PARTITION BY a ORDER BY d) rn,
                  ntile(4) OVER (ORDER BY b) nt FROM t GROUP BY a, b, d""",
        (
            "t.c -> cum AGGREGATION; t.a -> cum WINDOW; t.b -> cum WINDOW; t.a -> l TRANSFORMATION;"
            "t.d -> l WINDOW; t.a -> rn WINDOW; t.d -> rn WINDOW; t.b -> nt WINDOW"
        ),
        "t.a GROUP_BY; t.b GROUP_BY; t.d GROUP_BY",
    ),
    "the order of a rank is indirect, though it is its argument": (
        """SELECT rank() OVER (PARTITION BY b ORDER BY c DESC) r, dense_rank() OVER (ORDER BY d) dr,
                  percent_rank() OVER (ORDER BY a) pr, cume_dist() OVER (ORDER BY a) cd FROM t""",
        "t.b -> r WINDOW; t.c -> r WINDOW; t.d -> dr WINDOW; t.a -> pr WINDOW; t.a -> cd WINDOW",
        "",
    ),
    "a filter on a row number is one on what the window looks at": (
        "SELECT a FROM (SELECT a, row_number() OVER (PARTITION BY b ORDER BY c) rn FROM t) WHERE rn = 1",
        "t.a -> a IDENTITY",
        "t.b FILTER; t.c FILTER",
    ),
    "CASE with and without ELSE, and functions that choose": (
        """SELECT CASE WHEN a > 1 THEN b END x,
                  CASE WHEN a > 1 THEN b WHEN k < 0 THEN v ELSE cast(c AS string) END y,
                  if(a > 0, c, 0) z, coalesce(b, v) o, nullif(a, k) n, nvl2(b, a, k) m
             FROM t FULL OUTER JOIN u ON a = k""",
        (
            "t.a -> x CONDITIONAL; t.b -> x TRANSFORMATION; t.a -> y CONDITIONAL; u.k -> y CONDITIONAL;"
            "t.b -> y TRANSFORMATION; u.v -> y TRANSFORMATION; t.c -> y TRANSFORMATION; t.a -> z CONDITIONAL;"
            "t.c -> z TRANSFORMATION; t.b -> o TRANSFORMATION; u.v -> o TRANSFORMATION;"
            "t.a -> n TRANSFORMATION,CONDITIONAL; u.k -> n CONDITIONAL; t.b -> m CONDITIONAL;"
            "t.a -> m TRANSFORMATION; u.k -> m TRANSFORMATION"
        ),
        "t.a JOIN; u.k JOIN",
    ),
    "ROLLUP, grouping() of one column, and a window over it": (
        """SELECT b, a, sum(c) s, grouping(b) gb, grouping(b) + grouping(a) lo,
                  rank() OVER (PARTITION BY CASE WHEN grouping(a) = 0 THEN b END ORDER BY sum(c)) r
             FROM t GROUP BY ROLLUP (b, a)""",
        (
            "t.b -> b IDENTITY; t.a -> a IDENTITY; t.c -> s AGGREGATION; t.b -> gb CONDITIONAL;"
            "t.b -> lo CONDITIONAL; t.a -> lo CONDITIONAL; t.a -> r WINDOW; t.b -> r WINDOW; t.c -> r WINDOW"
        ),
        "t.a GROUP_BY; t.b GROUP_BY",
    ),
    "CUBE with grouping_id()": (
        "SELECT b, a, grouping_id() g, max(d) m FROM t GROUP BY CUBE (b, a)",
        (
            "t.b -> b IDENTITY; t.a -> a IDENTITY; t.b -> g CONDITIONAL; t.a -> g CONDITIONAL;"
            "t.d -> m AGGREGATION"
        ),
        "t.a GROUP_BY; t.b GROUP_BY",
    ),
    "GROUPING SETS over an expression": (
        "SELECT b bb, a + 1 aa, count(*) n FROM t GROUP BY GROUPING SETS ((b), (a + 1), ())",
        "t.b -> bb IDENTITY; t.a -> aa TRANSFORMATION",
        "t.a GROUP_BY; t.b GROUP_BY",
    ),
    "constants have no source": (
        "SELECT 1 one, 'x' s, current_date() today, count(*) n, a FROM t GROUP BY a",
        "t.a -> a IDENTITY",
        "t.a GROUP_BY",
    ),
    "aggregates with a filter, DISTINCT, and a second argument that chooses": (
        """SELECT avg(c) FILTER (WHERE a > 1) f,
                  sum(CASE WHEN b = 'x' THEN c ELSE 0 END) / count(DISTINCT a) q,
                  max_by(b, d) m FROM t""",
        (
            "t.c -> f AGGREGATION; t.a -> f CONDITIONAL; t.c -> q AGGREGATION; t.a -> q AGGREGATION;"
            "t.b -> q CONDITIONAL; t.b -> m AGGREGATION; t.d -> m CONDITIONAL"
        ),
        "",
    ),
    "a struct's field is the value it was built from": (
        "SELECT s.x, s.y FROM (SELECT named_struct('x', a, 'y', upper(b)) s FROM t)",
        "t.a -> x IDENTITY; t.b -> y TRANSFORMATION",
        "",
    ),
    "a column that refers to another of the same SELECT": (
        "SELECT a + 1 AS p, p * 2 AS q FROM t",
        "t.a -> p TRANSFORMATION; t.a -> q TRANSFORMATION",
        "",
    ),
    "a join by name gives one column of both sides": (
        "SELECT * FROM (SELECT k a, w FROM u) FULL OUTER JOIN (SELECT a, b FROM t) USING (a)",
        "u.k -> a TRANSFORMATION; t.a -> a TRANSFORMATION; u.w -> w IDENTITY; t.b -> b IDENTITY",
        "t.a JOIN; u.k JOIN",
    ),
    "ROLLUP and grouping() in a subquery's text": (
        """SELECT s.* FROM u, LATERAL (
             SELECT b, a, sum(c) s, grouping(b) gb, grouping_id() g FROM t
              GROUP BY ROLLUP (b, a) HAVING grouping(a) = 0) s""",
        (
            "t.b -> b IDENTITY; t.a -> a IDENTITY; t.c -> s AGGREGATION; t.b -> gb CONDITIONAL;"
            "t.b -> g CONDITIONAL; t.a -> g CONDITIONAL"
        ),
        "t.a FILTER,GROUP_BY; t.b GROUP_BY",
    ),
    "a decimal's type in a subquery's text has a comma without a blank": (
        "SELECT (SELECT max(m) FROM (SELECT cast(a AS bigint) * c AS m FROM t)) x FROM u",
        "t.a -> x AGGREGATION; t.c -> x AGGREGATION",
        "",
    ),
    "IN over several columns in a subquery's text": (
        """SELECT s.* FROM j, LATERAL (
             SELECT CASE WHEN (a, b) IN (SELECT k, v FROM u) THEN c END n FROM t) s""",
        (
            "t.a -> n CONDITIONAL; t.b -> n CONDITIONAL; u.k -> n CONDITIONAL; u.v -> n CONDITIONAL;"
            "t.c -> n TRANSFORMATION"
        ),
        "",
    ),
    "stack() in a subquery's text": (
        """SELECT s.* FROM u, LATERAL (
             SELECT q, n FROM t LATERAL VIEW stack(2, b, a, 'z', a + 1) e AS q, n) s""",
        "t.b -> q TRANSFORMATION; t.a -> n TRANSFORMATION",
        "",
    ),
    "DISTINCT groups by every column": (
        "SELECT DISTINCT a, b FROM t ORDER BY b LIMIT 3",
        "t.a -> a IDENTITY; t.b -> b IDENTITY",
        "t.a GROUP_BY; t.b GROUP_BY,SORT",
    ),
}


@pytest.mark.parametrize("shape", _QUERIES)
def test_columns_of_a_query(tables: SparkSession, shape: str) -> None:
    query, expected_flows, expected_influences = _QUERIES[shape]

    found = lineage(tables, query)

    assert flows(found) == listed(expected_flows)
    assert influences(found) == listed(expected_influences)
    assert untraced(found) == []


def test_a_frame_joined_with_itself_keeps_both_columns_of_one_name(tables: SparkSession) -> None:
    sums = tables.table("t").groupBy("a").agg(F.sum("c").alias("s"))

    found = read(harvest(sums.join(sums.where("s > 1"), "a"), "s3://lake/target"))

    assert flows(found) == {"t.a -> a IDENTITY", "t.c -> s AGGREGATION"}
    assert columns(found) == ["a int", "s decimal(17,2)", "s decimal(17,2)"]
    assert len(found.flows) == 2


def test_a_cached_frame_that_is_used_again_repeats_its_attributes(tables: SparkSession) -> None:
    sums = tables.table("t").groupBy("a").agg(F.sum("c").alias("s")).cache()
    both = sums.alias("l").join(sums.alias("r"), F.col("l.a") == F.col("r.a"))

    found = read(harvest(both.select("l.a", F.col("r.s").alias("rs")).union(sums), "s3://lake/target"))

    sums.unpersist()
    assert flows(found) == {"t.a -> a IDENTITY", "t.c -> rs AGGREGATION"}


def test_the_branches_of_a_union_may_be_one_frame(tables: SparkSession) -> None:
    frame = tables.table("t").select("a", "b")
    again = frame.select((F.col("a") + 1).alias("a"), "b")

    found = read(harvest(frame.unionByName(again.select("b", "a")), "s3://lake/target"))

    assert flows(found) == {"t.a -> a IDENTITY,TRANSFORMATION", "t.b -> b IDENTITY"}


def test_a_column_overwritten_step_by_step_has_the_last_step(tables: SparkSession) -> None:
    frame = tables.table("t").select("a").withColumn("a", F.col("a") + 1).withColumn("a", F.col("a") * 2)

    found = read(harvest(frame, "s3://lake/target"))

    assert flows(found) == {"t.a -> a TRANSFORMATION"}
    assert expressions(found) == {"a": "a * 2"}


def test_a_python_function_shows_its_name_and_arguments(tables: SparkSession) -> None:
    @F.udf("string")
    def masked(number: int, text: str) -> str:
        return text[:number]

    frame = tables.table("t").withColumn("y", masked("a", "b"))

    direct = read(harvest(frame.select("y", F.upper("y").alias("z")), "s3://lake/target"))
    grouped = read(harvest(frame.groupBy("d").agg(F.collect_list("y").alias("ys")), "s3://lake/target"))

    assert expressions(direct) == {"y": "masked(a, b)", "z": "upper(masked(a, b))"}
    assert expressions(grouped) == {"ys": "collect_list(masked(a, b))"}
    assert flows(grouped) == {"t.d -> d IDENTITY", "t.a -> ys AGGREGATION", "t.b -> ys AGGREGATION"}


def test_a_read_through_an_rdd_loses_its_columns(tables: SparkSession) -> None:
    frame = tables.table("t")

    found = read(harvest(tables.createDataFrame(frame.rdd, frame.schema), "s3://lake/target"))

    assert flows(found) == set()
    assert columns(found) == ["a int", "b string", "c decimal(7,2)", "d date"]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("(a + 1) * 2 - (a - 3)", "(a + 1) * 2 - (a - 3)"),
        ("substring(cast(a + 1 AS string), 0, 1)", "substring(cast(a + 1 as string), 0, 1)"),
        ("NOT (a > 1 OR b IS NULL) AND a < 5", "NOT (a > 1 OR b IS NULL) AND a < 5"),
        ("CASE WHEN a > 1 THEN 'x' ELSE b END", "CASE WHEN a > 1 THEN 'x' ELSE b END"),
        ("concat(b, 'it\\'s')", "concat(b, 'it''s')"),
        ("a IN (1, 2)", "a IN (1, 2)"),
        ("transform(array(a), x -> x + 1)", "transform(array(a), x -> x + 1)"),
        ("split(b, ',')[0]", "split(b, ',', -1)[0]"),
        ("-(a + 1)", "-(a + 1)"),
        ("d > DATE '2024-02-29'", "d > DATE '2024-02-29'"),
        ("from_json(b, 'x int, y int').y", "from_json(b).y"),
    ],
)
def test_an_expression_is_readable(tables: SparkSession, expression: str, text: str) -> None:
    assert expressions(lineage(tables, f"SELECT {expression} AS x FROM t")) == {"x": text}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT sum(DISTINCT c) x FROM t", "sum(DISTINCT c)"),
        ("SELECT max(a) FILTER (WHERE b = 'x') x FROM t", "max(a) FILTER (WHERE b = 'x')"),
        (
            "SELECT rank() OVER (PARTITION BY b ORDER BY c DESC) x FROM t",
            "rank() OVER (PARTITION BY b ORDER BY c DESC)",
        ),
        ("SELECT lag(a, 2) OVER (ORDER BY d) x FROM t", "lag(a, 2) OVER (ORDER BY d)"),
        ("SELECT sum(a + 1) OVER (PARTITION BY b) x FROM t", "sum(a + 1) OVER (PARTITION BY b)"),
        ("SELECT a + (SELECT max(k) FROM u) x FROM t", "a + (SELECT max(k))"),
        (
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM u) THEN b END x FROM t",
            "CASE WHEN EXISTS (SELECT 1) THEN b END",
        ),
        ("SELECT x FROM (SELECT y AS x FROM (SELECT a % 3 AS y FROM t))", "a % 3"),
        (
            "SELECT cast(a AS bigint) + 1 x FROM (SELECT a * 2 AS a FROM t)",
            "cast(a as bigint) + cast(1 as bigint)",
        ),
    ],
)
def test_an_expression_goes_down_to_the_first_step_that_is_more_than_a_rename(
    tables: SparkSession, query: str, text: str
) -> None:
    assert set(expressions(lineage(tables, query)).values()) == {text}


def test_an_insert_by_position_has_the_tables_column_names(tables: SparkSession) -> None:
    found = read(harvest_insert(tables, "INSERT INTO t SELECT k, v, w, current_date() FROM u", "s3://lake/t"))

    assert columns(found) == ["a int", "b string", "c decimal(7,2)", "d date"]
    assert flows(found) == {"u.k -> a TRANSFORMATION", "u.v -> b TRANSFORMATION", "u.w -> c TRANSFORMATION"}


def test_an_insert_with_a_column_list_fills_the_others_with_nothing(tables: SparkSession) -> None:
    found = read(harvest_insert(tables, "INSERT INTO t (c, a) SELECT w, k FROM u", "s3://lake/t"))

    assert columns(found) == ["a int", "b string", "c decimal(7,2)", "d date"]
    assert {each.partition(" TRANS")[0].partition(" IDEN")[0] for each in flows(found)} == {
        "u.k -> a",
        "u.w -> c",
    }


def test_a_static_partition_is_a_constant(tables: SparkSession) -> None:
    statement = "INSERT OVERWRITE p PARTITION (y = 2024, m) SELECT k, v, k FROM u"

    found = read(harvest_insert(tables, statement, "s3://lake/p"))

    assert columns(found) == ["id int", "name string", "y int", "m int"]
    assert {each.rpartition(" ")[0] for each in flows(found)} == {"u.k -> id", "u.v -> name", "u.k -> m"}


def test_a_temporary_view_passes_its_columns_on(tables: SparkSession) -> None:
    tables.sql("SELECT a AS x, c FROM t WHERE b = 'x'").createOrReplaceTempView("session_view")

    found = lineage(tables, "SELECT x, sum(c) s FROM session_view GROUP BY x")

    tables.catalog.dropTempView("session_view")
    assert flows(found) == {"t.a -> x IDENTITY", "t.c -> s AGGREGATION"}
    assert influences(found) == {"t.a GROUP_BY", "t.b FILTER"}
