"""Constructs of one platform or another: their columns, influences and problems, by hand.

A case is a title with the dialect in brackets, statements, and what they give: ``=>`` for an edge of columns,
``~`` for an influence, ``!`` for a problem.
"""

import re

import pytest

from tests.sources.sql.sql_reading import lineage_of

CASES = r"""
# units of time are columns outside of functions with a unit [spark]
create table o as select max(year) as y, coalesce(week, 0) as w, cast(hour as int) as h from sales
=> sales#year > o#y AGGREGATION
=> sales#week > o#w TRANSFORMATION
=> sales#hour > o#h TRANSFORMATION

# units of time as arguments are no columns [tsql]
select datediff_big(minute, a, b) as d, datepart(iso_week, c) as w, max(minute) as m into o from t
=> t#a > o#d TRANSFORMATION
=> t#b > o#d TRANSFORMATION
=> t#c > o#w TRANSFORMATION
=> t#minute > o#m AGGREGATION

# a day is a column where a date is expected [spark]
create table o as select datediff(day, start) as d, date_add(day, 1) as n from t
=> t#day > o#d TRANSFORMATION
=> t#start > o#d TRANSFORMATION
=> t#day > o#n TRANSFORMATION

# names that other platforms reserve [snowflake]
create table o as select level, rownum, sysdate, current_role from t
=> t#level > o#level IDENTITY
=> t#rownum > o#rownum IDENTITY
=> t#sysdate > o#sysdate IDENTITY
=> t#current_role > o#current_role IDENTITY

# level is a pseudo-column of a hierarchy only [oracle]
create table o as select id, level as depth from emp start with boss is null connect by prior id = boss;
create table p as select level from staff
=> emp#id > o#id IDENTITY
=> staff#level > p#level IDENTITY
~ emp#boss > o FILTER
~ emp#id > o FILTER

# an alias precedes a column in GROUP BY and HAVING [bigquery]
create table t (a int64, b int64, n int64);
create table o as select a as b, sum(n) as n from t group by b having n > 3
=> t#a > o#b IDENTITY
=> t#n > o#n AGGREGATION
~ t#a > o GROUP_BY
~ t#n > o FILTER

# elsewhere a column precedes an alias in GROUP BY [postgres]
create table t (a int, b int); create table o as select max(a) as b from t group by b
=> t#a > o#b AGGREGATION
~ t#b > o GROUP_BY

# an alias precedes a column everywhere, but in its own expression [clickhouse]
create table t (a Int64, b Int64, c Int64);
create table o engine = Memory as select c + 1 as c, a as b, b * 2 as twice from t where b > 0
=> t#c > o#c TRANSFORMATION
=> t#a > o#b IDENTITY
=> t#a > o#twice TRANSFORMATION
~ t#a > o FILTER

# an expression with a name in WITH [clickhouse]
create table o engine = Memory as with lower(city) as place select id, place from t
=> t#id > o#id IDENTITY
=> t#city > o#place TRANSFORMATION

# methods of XML and of other types [tsql]
select h.id, h.doc.value('(/r/n)[1]', 'int') as n, h.node.GetAncestor(1).ToString() as up, dbo.fn(h.id) as f
into o from h
=> h#id > o#id IDENTITY
=> h#doc > o#n TRANSFORMATION
=> h#node > o#up TRANSFORMATION
=> h#id > o#f TRANSFORMATION

# nodes of XML as rows [tsql]
select r.x.value('@k', 'int') as k into o from h cross apply h.doc.nodes('/a/b') as r(x)
=> h#doc > o#k TRANSFORMATION

# a query before a method keeps its tables and aliases [tsql]
select a.k, (select ', ' + b.v from d b where b.k = a.k for xml path(''), type).value('.', 'varchar(9)') as vs
into o from m a
=> m#k > o#k IDENTITY
=> d#v > o#vs AGGREGATION
~ d#k > o FILTER
~ m#k > o FILTER

# chained functions [duckdb]
create table o as select (a - b).abs() as d, t.name.trim().upper() as n, l.list_filter(x -> x > c).len() as
 k from t
=> t#a > o#d TRANSFORMATION
=> t#b > o#d TRANSFORMATION
=> t#name > o#n TRANSFORMATION
=> t#l > o#k TRANSFORMATION,CONDITIONAL
=> t#c > o#k CONDITIONAL

# all columns of a query for JSON [tsql]
select c.id, (select x.sku, x.qty from line x where x.cid = c.id for json auto) as lines into o from cust c
=> cust#id > o#id IDENTITY
=> line#sku > o#lines AGGREGATION
=> line#qty > o#lines AGGREGATION
~ cust#id > o FILTER
~ line#cid > o FILTER

# rows of a pattern [snowflake]
create table o as select * from ticks match_recognize (partition by sym order by ts
 measures last(down.px) as low, match_number() as n one row per match
 pattern (strt down+) define down as down.px < prev(down.px) and down.vol > 0)
=> ticks#sym > o#sym IDENTITY
=> ticks#px > o#low AGGREGATION
~ ticks#sym > o GROUP_BY
~ ticks#ts > o SORT
~ ticks#px > o FILTER
~ ticks#vol > o FILTER

# all rows of a pattern [trino]
create table t (k int, ts int, v int);
create table o as select k, v, f from t match_recognize (order by ts measures first(a.v) as f all rows per
 match
 pattern (a b*) define b as b.v > a.v) as m
=> t#k > o#k IDENTITY
=> t#v > o#v IDENTITY
=> t#v > o#f AGGREGATION
~ t#ts > o SORT
~ t#v > o FILTER

# DISTINCT groups by all columns, DISTINCT ON by its own [postgres]
create table o as select distinct a + 1 as p, b from t; create table q as select distinct on (a) a, b from t
=> t#a > o#p TRANSFORMATION
=> t#b > o#b IDENTITY
=> t#a > q#a IDENTITY
=> t#b > q#b IDENTITY
~ t#a > o GROUP_BY
~ t#b > o GROUP_BY
~ t#a > q GROUP_BY

# UNION groups by all columns, UNION ALL by none [spark]
create table o as select a from t union select x from u;
create table p as select a from t union all select x from u
=> t#a > o#a IDENTITY
=> u#x > o#a IDENTITY
=> t#a > p#a IDENTITY
=> u#x > p#a IDENTITY
~ t#a > o GROUP_BY
~ u#x > o GROUP_BY

# INTERSECT and EXCEPT compare all columns of both sides [redshift]
create table o as select a, b from t intersect select x, y from u; create table p as select a from t except
 select x from u
=> t#a > o#a IDENTITY
=> t#b > o#b IDENTITY
=> t#a > p#a IDENTITY
~ t#a > o JOIN
~ t#b > o JOIN
~ u#x > o JOIN
~ u#y > o JOIN
~ t#a > p JOIN
~ u#x > p JOIN

# a semi join filters, and its right side has no columns without a qualifier [spark]
create table o as select id from t left semi join u on t.k = u.k;
create table p as select id from t left anti join u using (k)
=> t#id > o#id IDENTITY
=> t#id > p#id IDENTITY
~ t#k > o FILTER
~ u#k > o FILTER
~ t#k > p FILTER
~ u#k > p FILTER

# a query in LIMIT or OFFSET [duckdb]
create table o as select id from t order by id limit (select max(n) from u) offset (select m from v)
=> t#id > o#id IDENTITY
~ t#id > o SORT
~ u#n > o FILTER
~ v#m > o FILTER

# a subquery in FROM that reads a preceding table [duckdb]
create table t (id int, a int, b int); create table o as select id, z.s from t, (select a + b as s) z
=> t#id > o#id IDENTITY
=> t#a > o#s TRANSFORMATION
=> t#b > o#s TRANSFORMATION

# PIVOT with listed values [duckdb]
create table t (k int, a int, b int);
create table o as from (pivot t on k in (1, 2) using sum(a) as s, count(*) group by b)
=> t#a > o#1_s AGGREGATION
=> t#a > o#2_s AGGREGATION
=> t#k > o#1_s CONDITIONAL
=> t#k > o#2_s CONDITIONAL
=> t#k > o#1_count(*) CONDITIONAL
=> t#k > o#2_count(*) CONDITIONAL
=> t#b > o#b IDENTITY
~ t#b > o GROUP_BY

# UNPIVOT of columns by a pattern drops NULL [duckdb]
create table t (id int, m1 int, m2 int);
create table o as from (unpivot t on columns('^m') into name n value v);
create table p as select id, v from t unpivot include nulls (v for n in (columns(* exclude (id))))
=> t#id > o#id IDENTITY
=> t#m1 > o#v IDENTITY
=> t#m2 > o#v IDENTITY
=> t#id > p#id IDENTITY
=> t#m1 > p#v IDENTITY
=> t#m2 > p#v IDENTITY
~ t#m1 > o FILTER
~ t#m2 > o FILTER

# structures without blanks, and their fields as columns [duckdb]
create table t (id int, s struct(x int, y int)); create table o as select {'p':id} as r from t;
create table p as select unnest(s) from t
=> t#id > o#r.p IDENTITY
=> t#s.x > p#x TRANSFORMATION
=> t#s.y > p#y TRANSFORMATION

# the update of an upsert reads the row that exists and the proposed one [postgres]
create table s (id int, v int, ts int); create table t (id int, v int, seen int);
insert into t as x (id, v) select id, v from s on conflict (id)
 do update set v = x.v + excluded.v, seen = excluded.id where excluded.v > x.seen
=> s#id > t#id IDENTITY
=> s#v > t#v IDENTITY,TRANSFORMATION
=> t#v > t#v TRANSFORMATION
=> s#id > t#seen IDENTITY
~ s#id > t JOIN
~ s#v > t FILTER

# keys of an upsert without an update [postgres]
create table t (id int, v int); insert into t (id, v) select a, b from s on conflict (id) do nothing
=> s#a > t#id IDENTITY
=> s#b > t#v IDENTITY
~ s#a > t JOIN

# an update by duplicate keys, with the tables of the query [mysql]
create table t (id int primary key, n int, m int);
insert into t (id, n) select s.id, s.n from s on duplicate key update n = values(n) + t.n, m = s.k
=> s#id > t#id IDENTITY
=> s#n > t#n IDENTITY,TRANSFORMATION
=> t#n > t#n TRANSFORMATION
=> s#k > t#m IDENTITY
~ s#id > t JOIN

# rows that are replaced are found by the key of the table [mysql]
create table t (id int, n int, unique (id)); replace into t (id, n) select a, b from s
=> s#a > t#id IDENTITY
=> s#b > t#n IDENTITY
~ s#a > t JOIN

# rows that are moved in one statement [postgres]
create table live (id int, v int); create table old (id int, v int);
with moved as (delete from live where v < 0 returning *) insert into old select * from moved
=> live#id > old#id IDENTITY
=> live#v > old#v IDENTITY
~ live#v > old FILTER

# generated values of one INSERT in another [postgres]
create table p (id int, name text); create table c (p_id int, name text); create table s (name text);
with added as (insert into p (name) select name from s returning id, name) insert into c select id, name
 from added
=> s#name > p#name IDENTITY
=> p#id > c#p_id IDENTITY
=> s#name > c#name IDENTITY

# an UPDATE in a CTE returns new values [postgres]
create table t (id int, v int);
with up as (update t set v = s.x * 2 from s where s.id = t.id returning t.id, t.v) insert into log (id, v)
 select id, v from up
=> s#x > t#v TRANSFORMATION
=> t#id > log#id IDENTITY
=> s#x > log#v TRANSFORMATION
~ s#id > t FILTER
~ s#id > log FILTER
~ t#id > log FILTER

# what INSERT and UPDATE put out [tsql]
insert into dbo.t (id, v) output inserted.v, 'new' into dbo.log (v, act) select k, w from dbo.s;
update t set v = s.w output deleted.v, inserted.v into dbo.hist (was, is_now) from dbo.t t join dbo.s s on
 s.k = t.id
=> dbo.s#k > dbo.t#id IDENTITY
=> dbo.s#w > dbo.t#v IDENTITY
=> dbo.s#w > dbo.log#v IDENTITY
=> dbo.t#v > dbo.hist#was IDENTITY
=> dbo.s#w > dbo.hist#is_now IDENTITY
~ dbo.s#k > dbo.t JOIN
~ dbo.s#k > dbo.hist JOIN
~ dbo.t#id > dbo.hist JOIN

# what DELETE and MERGE put out [tsql]
delete from dbo.t output deleted.id into dbo.old (id) where state = 'x';
merge dbo.t as t using dbo.s as s on t.id = s.id when matched then update set v = s.v
 when not matched then insert (id, v) values (s.id, s.v) output $action, inserted.id, inserted.v into
 dbo.aud (act, id, v);
=> dbo.t#id > dbo.old#id IDENTITY
=> dbo.s#id > dbo.t#id IDENTITY
=> dbo.s#v > dbo.t#v IDENTITY
=> dbo.t#id > dbo.aud#id IDENTITY
=> dbo.s#id > dbo.aud#id IDENTITY
=> dbo.s#v > dbo.aud#v IDENTITY
~ dbo.t#state > dbo.old FILTER
~ dbo.s#id > dbo.t JOIN
~ dbo.s#id > dbo.aud JOIN
~ dbo.t#id > dbo.aud JOIN

# several targets, each with its condition [snowflake]
insert all when n > 1 then into a (x) values (id) into b (x, y) values (id, v * 2) else into c (z) values (v)
 select id, v, n from src
=> src#id > a#x IDENTITY
=> src#id > b#x IDENTITY
=> src#v > b#y TRANSFORMATION
=> src#v > c#z IDENTITY
~ src#n > a FILTER
~ src#n > b FILTER
~ src#n > c FILTER

# the first of several targets: conditions before decide too [oracle]
insert first when a > 1 then into p (k) values (k) when b > 1 then into q (k) values (k) select a, b, k from s
=> s#k > p#k IDENTITY
=> s#k > q#k IDENTITY
~ s#a > p FILTER
~ s#a > q FILTER
~ s#b > q FILTER

# a materialized view feeds its target, by name [clickhouse]
create table d.agg (n Int64, id Int64) engine = MergeTree order by id;
create materialized view d.mv to d.agg as select id, count() as k, sum(v) as n from d.src group by id;
create table d.o engine = Memory as select n from d.mv
=> d.src#id > d.agg#id IDENTITY
=> d.src#v > d.agg#n AGGREGATION
=> d.agg#n > d.o#n IDENTITY
~ d.src#id > d.agg GROUP_BY

# an attribute of a dictionary [clickhouse]
create table d.o engine = Memory as select dictGetOrDefault('d.geo', 'city', ip, '') as city from d.hits
=> d.geo#city > d.o#city TRANSFORMATION
=> d.hits#ip > d.o#city TRANSFORMATION

# files by their functions, or in the place of a table [duckdb]
create table o as select a from read_parquet('s3://lake/in/*.parquet'); create table p as select b from
 's3://lake/x.csv'
=> s3://lake/in/*.parquet#a > o#a IDENTITY
=> s3://lake/x.csv#b > p#b IDENTITY

# streams of files [databricks]
create or refresh streaming table o (id int, tel string mask m.hide) as select id, tel from stream
 read_files('s3://lake/in')
=> s3://lake/in#id > o#id IDENTITY
=> s3://lake/in#tel > o#tel IDENTITY

# tables as arguments of functions [bigquery]
create table d.o as select id, score from ML.PREDICT(MODEL d.m, (select id, x from d.feat));
create table d.p as select id from d.enrich(TABLE d.feat, 3)
=> d.feat#id > d.o#id IDENTITY
=> d.feat#id > d.p#id IDENTITY

# tables as arguments, with partitions [databricks]
create table s.o as select id from s.f(input => table(s.t) partition by k order by ts, n => 2)
=> s.t#id > s.o#id IDENTITY

# metrics of a semantic view [snowflake]
create table o as select region, total from semantic_view(sales_view metrics total dimensions region)
=> sales_view#region > o#region IDENTITY
=> sales_view#total > o#total IDENTITY

# other systems and unknown functions are reported [postgres]
create table o as select r.id from dblink('host=h', 'select id from x') as r (id int);
create table p as select id from audit.changes_since('2026-01-01');
create table q as select n from generate_series(1, 9) as g (n)
! line 1: reads functions whose inputs are unknown: dblink
! line 2: reads functions whose inputs are unknown: audit.changes_since

# a query on another server [tsql]
select id into o from openquery(LNK, 'select id from x'); insert into openquery(LNK, 'select id from x')
 select id from t
! line 1: reads functions whose inputs are unknown: openquery
! line 1: inserts into a function that names no path: openquery

# stages by their location [snowflake]
create stage s.stg url = 's3://lake/stage/'; copy into s.t (a) from (select $1:id from @s.stg/day
 (file_format => f));
copy into @s.stg/out from (select a from s.t); copy into s.t from @s.other
=> s.t#a > s3://lake/stage/out#a IDENTITY
! line 3: reads a stage whose location is unknown: @s.other

# loads and exports with options [bigquery]
create table d.u (id int64); load data into d.t from files (format = 'CSV', uris = ['gs://in/a/*.csv']);
export data options (uri = 'gs://out/b/*.csv', format = 'CSV') as select id from d.t;
create snapshot table d.snap clone d.u
=> d.t#id > gs://out/b/*.csv#id IDENTITY
=> d.u#id > d.snap#id IDENTITY

# bulk loads [tsql]
bulk insert dbo.t from 's3://in/c' with (fieldterminator = ',');
select x.id into dbo.o from openrowset(bulk 's3://in/d', format = 'parquet') as x
=> s3://in/d#id > dbo.o#id IDENTITY
! line 1: COPY of text: the names of the fields are unknown
"""


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.split("\n")[0]) for case in CASES.split("\n# ")[1:]]
)
def test_construct(case: str) -> None:
    title, *lines = case.strip().split("\n")
    dialect = re.search(r"\[(\w+)\]$", title)
    sql = "\n".join(line for line in lines if not line.startswith(("=> ", "~ ", "! ")))

    found = lineage_of(sql, dialect[1] if dialect else "duckdb")

    assert found.columns == {line[3:] for line in lines if line.startswith("=> ")}
    assert found.influences == {line[2:] for line in lines if line.startswith("~ ")}
    problems = {f"{field.rpartition(':')[2]}: {message}" for _, field, message in found.problems}
    assert problems == {line[2:] for line in lines if line.startswith("! ")}


# Each creates or fills s.o from r.t, in a form that the parser does not know.
FORMS = {
    "redshift": (
        "create or replace external protected view s.o if not exists as select id from r.t",
        "create view s.o as select id from r.t with no schema binding",
    ),
    "snowflake": (
        "create or replace secure recursive view s.o (id) as select id from r.t",
        "create or replace dynamic iceberg table s.o target_lag = '1 m' warehouse = w as select id from r.t",
        "create or replace hybrid table s.o as select id from r.t",
    ),
    "databricks": (
        "replace table s.o as select id from r.t",
        "create or refresh private materialized view s.o schedule every 1 hour as select id from r.t",
        "create flow f as insert into s.o by name select id from stream(r.t)",
    ),
    "mysql": (
        "create algorithm = merge definer = x sql security invoker view s.o as select id from r.t",
        "insert low_priority into s.o (id) select id from r.t",
    ),
    "athena": ("create protected multi dialect view s.o security definer as select id from r.t",),
    "postgres": (
        "create materialized view if not exists s.o as select id from r.t with no data",
        "insert into s.o (id) overriding system value select id from r.t",
    ),
    "clickhouse": (
        "create materialized view s.o engine = MergeTree order by id populate as select id from r.t",
        "create live view s.o as select id from r.t",
    ),
    "oracle": (
        "create or replace force editionable view s.o (id) as select id from r.t with read only",
        "create table s.o nologging parallel 4 as select id from r.t",
    ),
    "teradata": ("locking r.t for access insert into s.o (id) select id from r.t",),
    "starrocks": (
        "insert into s.o with label l1 (id) select id from r.t",
        "submit task as insert into s.o (id) select id from r.t",
    ),
    "hive": ("create transactional table s.o as select id from r.t",),
}


@pytest.mark.parametrize(("dialect", "sql"), [(dialect, sql) for dialect in FORMS for sql in FORMS[dialect]])
def test_a_form_that_the_parser_does_not_know_keeps_its_query(dialect: str, sql: str) -> None:
    found = lineage_of(sql, dialect)

    assert found.feeds == {("r.t", "s.o")}
    assert found.columns == {"r.t#id > s.o#id IDENTITY"}
    assert found.problems == set()
