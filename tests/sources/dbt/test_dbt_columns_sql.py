"""Column lineage of SQL, one construct per case: input columns, and columns that decide on rows."""

import re

import pytest

from tests.dbt_column_project import Project, edges, influences, problems

# A name and the adapter (duckdb where none is given), SQL, `=>` edges, `~` influences.
CASES = """
# renames and casts
select a as r, b::text as s, (c) as p from db.raw.t
=> t.a -> r IDENTITY
=> t.b -> s TRANSFORMATION
=> t.c -> p IDENTITY

# star through ctes and subqueries
with q as (select * from db.raw.u), w as (select * from (select q.*, 1 as one from q) z) select * from w
=> u.id -> id IDENTITY
=> u.x -> x IDENTITY
=> u.y -> y IDENTITY
=> u.k -> k IDENTITY

# star exclude replace
select * exclude (x) replace (y + 1 as y) from db.raw.u
=> u.id -> id IDENTITY
=> u.y -> y TRANSFORMATION
=> u.k -> k IDENTITY

# union by position
select a as v, b as w from db.raw.t union all select y, x + 1 from db.raw.u
=> t.a -> v IDENTITY
=> u.y -> v IDENTITY
=> t.b -> w IDENTITY
=> u.x -> w TRANSFORMATION

# union by name
select a as v, b as w from db.raw.t union all by name select x as w, y as v from db.raw.u
=> t.a -> v IDENTITY
=> u.y -> v IDENTITY
=> t.b -> w IDENTITY
=> u.x -> w IDENTITY

# except takes values from the left
select a as v from db.raw.t except select x from db.raw.u
=> t.a -> v IDENTITY
~ t.a JOIN
~ u.x JOIN

# several chains from one column
select a as v from db.raw.t union all select sum(a) from db.raw.t
=> t.a -> v IDENTITY,AGGREGATION

# using gives the left column once
select * from db.raw.u join (select id, a from db.raw.t) t using (id)
=> u.id -> id IDENTITY
=> u.x -> x IDENTITY
=> u.y -> y IDENTITY
=> u.k -> k IDENTITY
=> t.a -> a IDENTITY
~ u.id JOIN
~ t.id JOIN

# full join using gives both
select id from db.raw.u full join db.raw.t using (id)
=> u.id -> id TRANSFORMATION
=> t.id -> id TRANSFORMATION
~ u.id JOIN
~ t.id JOIN

# semi join does not widen the star
select * from (select a from db.raw.t) q semi join db.raw.u on q.a = u.x
=> t.a -> a IDENTITY
~ t.a FILTER
~ u.x FILTER

# case distinguishes conditions from results
select case when a > 1 then b when c is null then a else d end as v from db.raw.t
=> t.a -> v TRANSFORMATION,CONDITIONAL
=> t.b -> v TRANSFORMATION
=> t.c -> v CONDITIONAL
=> t.d -> v TRANSFORMATION

# steering wins along a chain
with q as (select sum(a) as s, b from db.raw.t group by b) select case when s > 1 then b end as v from q
=> t.a -> v CONDITIONAL
=> t.b -> v TRANSFORMATION
~ t.b GROUP_BY

# aggregation wins over transformation
with q as (select a + 1 as e from db.raw.t) select round(sum(e), 2) as v from q
=> t.a -> v AGGREGATION

# aggregate with filter
select sum(a) filter (where b > 0) as v from db.raw.t
=> t.a -> v AGGREGATION
=> t.b -> v CONDITIONAL

# count star has no source
select b, count(*) as n from db.raw.t group by 1
=> t.b -> b IDENTITY
~ t.b GROUP_BY

# windows
select sum(a) over (partition by b order by c) as v, lag(d) over w as l from db.raw.t window w as
(partition by id order by at)
=> t.a -> v AGGREGATION
=> t.b -> v WINDOW
=> t.c -> v WINDOW
=> t.d -> l TRANSFORMATION
=> t.id -> l WINDOW
=> t.at -> l WINDOW

# qualify
select a from db.raw.t qualify row_number() over (partition by b order by c) = 1
=> t.a -> a IDENTITY
~ t.b FILTER
~ t.c FILTER

# order within an aggregate is indirect
select string_agg(a, ',' order by b) as v, percentile_cont(0.5) within group (order by c) as p from
db.raw.t
=> t.a -> v AGGREGATION
=> t.b -> v WINDOW
=> t.c -> p AGGREGATION

# scalar subquery with correlation
select a, (select max(x) from db.raw.u where u.id = t.id) as v from db.raw.t
=> t.a -> a IDENTITY
=> u.x -> v AGGREGATION
~ u.id FILTER
~ t.id FILTER

# in and exists
select a from db.raw.t where b in (select x from db.raw.u where y = 1) and exists (select 1 from
db.raw.n where n.id = t.id)
=> t.a -> a IDENTITY
~ t.b FILTER
~ u.x FILTER
~ u.y FILTER
~ n.id FILTER
~ t.id FILTER

# recursive cte
with recursive tree(i, path) as (select id, a from db.raw.t where b is null union all select u.id,
tree.path || u.y from db.raw.u join tree on u.k = tree.i) select i, path from tree
=> t.id -> i IDENTITY
=> u.id -> i IDENTITY
=> t.a -> path IDENTITY,TRANSFORMATION
=> u.y -> path TRANSFORMATION
~ t.b FILTER
~ u.k JOIN
~ t.id JOIN
~ u.id JOIN

# an unused cte decides nothing
with q as (select x from db.raw.u where y = 1) select a from db.raw.t
=> t.a -> a IDENTITY

# a cte may be called like the table it reads
with t as (select a as z from db.raw.t) select z from t
=> t.a -> z IDENTITY

# lateral alias
select a + 1 as e, e * 2 as f from db.raw.t
=> t.a -> e TRANSFORMATION
=> t.a -> f TRANSFORMATION

# a column wins over an alias of its name
select a as b, b as v from db.raw.t where b = 1
=> t.a -> b IDENTITY
=> t.b -> v IDENTITY
~ t.b FILTER

# order by sees the alias first
select a as b from db.raw.t order by b limit 3
=> t.a -> b IDENTITY
~ t.a SORT

# group by all
select a, b + 1 as e, sum(c) as s from db.raw.t group by all
=> t.a -> a IDENTITY
=> t.b -> e TRANSFORMATION
=> t.c -> s AGGREGATION
~ t.a GROUP_BY
~ t.b GROUP_BY

# rollup and having
select a, sum(b) as s from db.raw.t group by rollup (a, c) having max(d) > 0
=> t.a -> a IDENTITY
=> t.b -> s AGGREGATION
~ t.a GROUP_BY
~ t.c GROUP_BY
~ t.d FILTER

# unnest and struct fields
select n.obj.f.g as v, e from db.raw.n, unnest(n.arr) as q(e)
=> n.obj.f.g -> v IDENTITY
=> n.arr -> e TRANSFORMATION

# pivot
select * from (select a, b, c from db.raw.t) pivot (sum(c) for b in ('x', 'y'))
=> t.a -> a IDENTITY
=> t.c -> x AGGREGATION
=> t.b -> x CONDITIONAL
=> t.c -> y AGGREGATION
=> t.b -> y CONDITIONAL
~ t.a GROUP_BY

# unpivot
select * from (select id, a, b from db.raw.t) unpivot (v for n in (a, b))
=> t.id -> id IDENTITY
=> t.a -> v IDENTITY
=> t.b -> v IDENTITY
~ t.a FILTER
~ t.b FILTER

# constants and values
select 'x' as k, v.p from (values (1, 2)) as v(p, q)

# names without case and quoted words
select "A" as "Order", T.B as "mixed Case" from DB.RAW.T t
=> t.a -> Order IDENTITY
=> t.b -> mixed Case IDENTITY

# distinct on
select distinct on (a) a, b from db.raw.t order by a, c
=> t.a -> a IDENTITY
=> t.b -> b IDENTITY
~ t.a GROUP_BY,SORT
~ t.c SORT

# lateral join
select t.a, q.v from db.raw.t left join lateral (select x as v from db.raw.u where u.id = t.id) q on
true
=> t.a -> a IDENTITY
=> u.x -> v IDENTITY
~ u.id FILTER
~ t.id FILTER

# joins in parentheses
select a, x from (db.raw.t join db.raw.u on t.id = u.id)
=> t.a -> a IDENTITY
=> u.x -> x IDENTITY
~ t.id JOIN
~ u.id JOIN

# lambda variables are no columns
select list_transform(arr, a -> a + id) as v from db.raw.n
=> n.arr -> v TRANSFORMATION
=> n.id -> v TRANSFORMATION

# snowflake flatten and paths [snowflake]
select obj:p.q::string as v, f.value:z as w, f.index as i from db.raw.n, lateral flatten(input => n.arr)
f
=> n.obj.p.q -> v TRANSFORMATION
=> n.arr.z -> w TRANSFORMATION
=> n.arr -> i TRANSFORMATION

# snowflake conditions [snowflake]
select iff(a > 0, b, c) as v, decode(a, 1, b, c) as w, nullif(a, b) as x from db.raw.t
=> t.a -> v CONDITIONAL
=> t.b -> v TRANSFORMATION
=> t.c -> v TRANSFORMATION
=> t.a -> w CONDITIONAL
=> t.b -> w TRANSFORMATION
=> t.c -> w TRANSFORMATION
=> t.a -> x TRANSFORMATION
=> t.b -> x CONDITIONAL

# bigquery unnest and except [bigquery]
select * except (obj, arr), e.f as v from db.raw.n, unnest(arr) as e
=> n.id -> id IDENTITY
=> n.arr.f -> v TRANSFORMATION
=> n.arr -> e TRANSFORMATION

# spark lateral view [spark]
select id, e from db.raw.n lateral view explode(arr) q as e
=> n.id -> id IDENTITY
=> n.arr -> e TRANSFORMATION

# trino unnest with ordinality [trino]
select id, e from db.raw.n cross join unnest(arr) with ordinality as q(e, o)
=> n.id -> id IDENTITY
=> n.arr -> e TRANSFORMATION

# redshift units are no columns [redshift]
select datediff(day, a, b) as v, dateadd(month, 1, c) as w, sysdate as s from db.raw.t
=> t.a -> v TRANSFORMATION
=> t.b -> v TRANSFORMATION
=> t.c -> w TRANSFORMATION

# redshift listagg [redshift]
select listagg(a, ',') within group (order by b) as v from db.raw.t
=> t.a -> v AGGREGATION
=> t.b -> v WINDOW

# postgres names of expressions [postgres]
select a::text, sum(b) from db.raw.t group by 1
=> t.a -> a TRANSFORMATION
=> t.b -> sum AGGREGATION
~ t.a GROUP_BY

# nested ctes hide outer ones of their name
with a as (select id from db.raw.t), b as (with a as (select x as id from db.raw.u) select * from a)
select a.id as i1, b.id as i2 from a, b
=> t.id -> i1 IDENTITY
=> u.x -> i2 IDENTITY

# the newest row of each key
with base as (select a, b, row_number() over (partition by a order by at desc) as rn from db.raw.t),
f as (select * from base where rn = 1)
select f.a, f.b, u.x from f left join db.raw.u on u.id = f.a
=> t.a -> a IDENTITY
=> t.b -> b IDENTITY
=> u.x -> x IDENTITY
~ t.a FILTER,JOIN
~ t.at FILTER
~ u.id JOIN

# a table joined with itself
select t1.id, t2.a as before from db.raw.t t1 left join db.raw.t t2 on t2.id = t1.id and t2.at < t1.at
=> t.id -> id IDENTITY
=> t.a -> before IDENTITY
~ t.id JOIN
~ t.at JOIN

# a window over an aggregate
select a, sum(sum(b)) over (partition by c order by a) as s from db.raw.t group by a, c
=> t.a -> a IDENTITY
=> t.a -> s WINDOW
=> t.b -> s AGGREGATION
=> t.c -> s WINDOW
~ t.a GROUP_BY
~ t.c GROUP_BY

# set operations in parentheses with an order
with x as (select a from db.raw.t) (select a from x union select k from db.raw.u) intersect
select id from db.raw.n order by 1
=> t.a -> a IDENTITY
=> u.k -> a IDENTITY
~ n.id JOIN
~ t.a GROUP_BY,JOIN,SORT
~ u.k GROUP_BY,JOIN,SORT

# columns of using in a chain of joins
select id from db.raw.t left join db.raw.u using (id) right join db.raw.n using (id)
=> n.id -> id IDENTITY
~ n.id JOIN
~ t.id JOIN
~ u.id JOIN

# a scalar subquery in a condition of case
select case when (select max(x) from db.raw.u) > a then b else c end as v from db.raw.t
=> u.x -> v CONDITIONAL
=> t.a -> v CONDITIONAL
=> t.b -> v TRANSFORMATION
=> t.c -> v TRANSFORMATION

# exists in a column is indirect
select id, exists(select 1 from db.raw.u where u.x = t.b) as e from db.raw.t
=> t.id -> id IDENTITY
=> u.x -> e CONDITIONAL
=> t.b -> e CONDITIONAL
~ u.x FILTER
~ t.b FILTER

# from before select
from db.raw.t select a where b > 1
=> t.a -> a IDENTITY
~ t.b FILTER

# comments of jinja and sql [redshift]
-- {{ config() }}
/* {% if x %} */ select /* x */ a -- b
from db.raw.t -- ;
;
=> t.a -> a IDENTITY

# alias of an alias [redshift]
select a as x, x + 1 as y, y * 2 as z from db.raw.t where x > 1
=> t.a -> x IDENTITY
=> t.a -> y TRANSFORMATION
=> t.a -> z TRANSFORMATION
~ t.a FILTER

# qualify by an alias [snowflake]
select a, row_number() over (partition by b order by c) as rn from db.raw.t qualify rn = 1
=> t.a -> a IDENTITY
=> t.b -> rn WINDOW
=> t.c -> rn WINDOW
~ t.b FILTER
~ t.c FILTER

# rename and exclude [snowflake]
select * exclude x rename (y as z) from db.raw.u
=> u.id -> id IDENTITY
=> u.y -> z IDENTITY
=> u.k -> k IDENTITY

# a lateral query of constants and columns [snowflake]
select v.n, v.val from db.raw.t t, lateral (select 'a' as n, t.a as val union all select 'b', t.b) v
=> t.a -> val IDENTITY
=> t.b -> val IDENTITY

# connect by [snowflake]
select id from db.raw.t start with a is null connect by prior id = b
=> t.id -> id IDENTITY
~ t.a FILTER
~ t.b FILTER
~ t.id FILTER

# asof join [snowflake]
select t.a, u.x from db.raw.t asof join db.raw.u match_condition (t.at >= u.k) on t.id = u.id
=> t.a -> a IDENTITY
=> u.x -> x IDENTITY
~ t.at JOIN
~ u.k JOIN
~ t.id JOIN
~ u.id JOIN

# rows of values in a lateral join [postgres]
select t.id, v.n, v.val from db.raw.t t cross join lateral (values ('a', t.a), ('b', t.b)) as v(n, val)
=> t.id -> id IDENTITY
=> t.a -> val IDENTITY
=> t.b -> val IDENTITY

# a whole row as a value [postgres]
select row_to_json(u) as r from db.raw.u u
=> u.id -> r TRANSFORMATION
=> u.x -> r TRANSFORMATION
=> u.y -> r TRANSFORMATION
=> u.k -> r TRANSFORMATION

# a function with columns in from [postgres]
select t.id, j.key, j.value as v from db.raw.t t cross join lateral jsonb_each(t.a) j
=> t.id -> id IDENTITY
=> t.a -> key TRANSFORMATION
=> t.a -> v TRANSFORMATION

# cross apply of values [sqlserver]
select t.id, v.n, v.val from db.raw.t t cross apply (values ('a', t.a), ('b', t.b)) as v(n, val)
=> t.id -> id IDENTITY
=> t.a -> val IDENTITY
=> t.b -> val IDENTITY

# brackets, top and the name before the value [fabric]
select top 10 [a], c = d, isnull(a, b) as n, iif(a > 1, b, c) as i from db.raw.t with (nolock)
=> t.a -> a IDENTITY
=> t.d -> c IDENTITY
=> t.a -> n TRANSFORMATION
=> t.b -> n TRANSFORMATION
=> t.a -> i CONDITIONAL
=> t.b -> i TRANSFORMATION
=> t.c -> i TRANSFORMATION

# pivot with several aggregates [bigquery]
select * from (select a, b, c from `db.raw.t`) pivot(sum(c) as s, max(c) as m for b in ('x' as xx, 'y'))
=> t.a -> a IDENTITY
=> t.b -> s_xx CONDITIONAL
=> t.c -> s_xx AGGREGATION
=> t.b -> s_y CONDITIONAL
=> t.c -> s_y AGGREGATION
=> t.b -> m_xx CONDITIONAL
=> t.c -> m_xx AGGREGATION
=> t.b -> m_y CONDITIONAL
=> t.c -> m_y AGGREGATION
~ t.a GROUP_BY

# pseudo columns are no columns [bigquery]
select _table_suffix as s, a from `db.raw.t` t where t._partitiontime > '2020-01-01'
=> t.a -> a IDENTITY

# pipes [bigquery]
from db.raw.t |> where a > 1 |> select b |> extend b + 1 as c
=> t.b -> b IDENTITY
=> t.b -> c TRANSFORMATION
~ t.a FILTER

# functions of higher order [databricks]
select transform(arr, (x, i) -> x + i + id) as z, aggregate(arr, 0, (acc, x) -> acc + x) as g from db.raw.n
=> n.arr -> z TRANSFORMATION
=> n.id -> z TRANSFORMATION
=> n.arr -> g TRANSFORMATION

# using and the star of one side [databricks]
select u.* except (id), t.a from db.raw.t left join db.raw.u using (id)
=> u.x -> x IDENTITY
=> u.y -> y IDENTITY
=> u.k -> k IDENTITY
=> t.a -> a IDENTITY
~ t.id JOIN
~ u.id JOIN

# anti join and a hint [spark]
select /*+ coalesce(1) */ t.a from db.raw.t t left anti join db.raw.u u on t.id = u.id sort by t.b
=> t.a -> a IDENTITY
~ t.id FILTER
~ u.id FILTER
~ t.b SORT

# grouping sets [athena]
select a, count(*) filter (where c > 1) as f from "db"."raw"."t" group by grouping sets ((a), (b), ())
=> t.a -> a IDENTITY
=> t.c -> f CONDITIONAL
~ t.a GROUP_BY
~ t.b GROUP_BY

# final, prewhere and limit by [clickhouse]
select a, argMax(b, c) as m from db.raw.t final prewhere d > 1 group by a
=> t.a -> a IDENTITY
=> t.b -> m AGGREGATION
=> t.c -> m CONDITIONAL
~ t.a GROUP_BY
~ t.d FILTER
"""


def model(sql: str, adapter: str = "duckdb") -> Project:
    project = Project(adapter)
    project.source("t", "id a b c d at").source("u", "id x y k").source("n", "id arr obj")
    return project.model("m", sql)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.split("\n")[0]) for case in CASES.split("\n# ")[1:]]
)
def test_sql(case: str) -> None:
    title, *lines = case.strip().split("\n")
    adapter = re.search(r"\[(\w+)\]$", title)
    sql = "\n".join(line for line in lines if not line.startswith(("=>", "~")))
    lineage = model(sql, adapter[1] if adapter else "duckdb").read()
    assert problems(lineage) == []
    assert edges(lineage) == {line[3:] for line in lines if line.startswith("=> ")}
    assert influences(lineage) == {line[2:] for line in lines if line.startswith("~ ")}


def test_a_sum_of_two_thousand_terms_is_read() -> None:
    terms = " + ".join(["a"] * 2000)
    assert edges(model(f"select {terms} as v from db.raw.t").read()) == {"t.a -> v TRANSFORMATION"}


@pytest.mark.parametrize("depth", [100, 150])
def test_functions_and_subqueries_inside_each_other_are_read(depth: int) -> None:
    functions = "replace(" * depth + "a" + ", 'x', 'y')" * depth
    query = f"select {functions} as v from db.raw.t"
    for level in range(depth):
        query = f"select v from ({query}) as q{level}"
    assert edges(model(query).read()) == {"t.a -> v TRANSFORMATION"}


def test_what_is_nested_without_end_costs_one_model() -> None:
    project = model("select " + "coalesce(" * 5000 + "a" + ", 1)" * 5000 + " as v from db.raw.t")
    lineage = project.model("other", "select a from db.raw.t").read()
    assert [unique_id for unique_id, _ in problems(lineage)] == ["model.p.m"]
    assert edges(lineage, "other") == {"t.a -> a IDENTITY"}


def test_a_union_of_five_hundred_branches_is_read() -> None:
    lineage = model(" union all ".join(["select a as v from db.raw.t"] * 500)).read()
    assert edges(lineage) == {"t.a -> v IDENTITY"}


def test_an_expression_is_cut_at_a_thousand_characters() -> None:
    lineage = model("select concat(a, '" + "x" * 2000 + "') as v from db.raw.t").read()
    (flow,) = lineage["model.p.m"].flows
    assert len(flow.expression) == 1000
    assert flow.expression.endswith("…")


def test_an_expression_keeps_the_tables_where_two_columns_share_a_name() -> None:
    lineage = model("select t.id + u.id as v from db.raw.t join db.raw.u on t.a = u.x").read()
    assert {flow.expression for flow in lineage["model.p.m"].flows} == {"t.id + u.id"}


def test_expressions_of_several_branches_are_sorted_and_a_rename_has_none() -> None:
    branches = [f"select {value} as v from db.raw.t" for value in ("a + 2", "a + 1", "a")]
    (flow,) = model(" union all ".join(branches)).read()["model.p.m"].flows
    assert flow.expression == "a + 1 | a + 2"
