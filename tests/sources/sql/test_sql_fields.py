"""Fields of structures as columns, one construct per case."""

import re

import pytest

from lineage_merge.model.elements import FeedsColumn, dot_path
from tests.sources.sql.sql_reading import SqlLineage, lineage_of

# Of Spark's and Hive's cases; the columns of the others are unknown.
COLUMNS = (
    "(id int, name string, address struct<city: string, zip: string, geo: struct<lat: double, lon: double>>,"
    " items array<struct<sku: string, qty: int, price: double>>, attrs map<string, string>, payload string)"
)
# A name and the dialect, SQL, `=>` edges, `~` influences.
CASES = """
# fields of fields [spark]
select address.city, t.address.zip as z, address.geo as g, s.t.address.geo.lat from s.t where
address.zip <> '0'
=> address.city -> city IDENTITY
=> address.geo -> g IDENTITY
=> address.geo.lat -> lat IDENTITY
=> address.zip -> z IDENTITY
~ address.zip FILTER

# a name of many parts [redshift]
select t.a.b.c.d.e.f from t
=> a.b.c.d.e.f -> f IDENTITY

# a relation that is called like a column [spark]
select t.city from (select address as t, id from t) x
=> address.city -> city IDENTITY

# a function of rows that is called like its column [spark]
select item.sku from t lateral view explode(items) item as item
=> items.sku -> sku TRANSFORMATION

# struct and named_struct [spark]
select struct(id, struct(name as c) as loc) as rec, named_struct('k', id, 'l', upper(name)) as n
from t
=> id -> n.k IDENTITY
=> id -> rec.id IDENTITY
=> name -> n.l TRANSFORMATION
=> name -> rec.loc.c IDENTITY

# fields of a structure that the query builds [spark]
select rec.loc.c, rec.loc as whole, rec.id + 1 as i from (select struct(id, struct(name as c) as
loc) as rec from t) q
=> id -> i TRANSFORMATION
=> name -> c IDENTITY
=> name -> whole.c IDENTITY

# a structure of a structure in a cte [spark]
with q as (select struct(id as i, address as a) as s from t) select s.a.city, s.i from q
=> address.city -> city IDENTITY
=> id -> i IDENTITY

# fields with a star, by the type [spark]
select address.* except (zip), address.geo.* from t
=> address.city -> city IDENTITY
=> address.geo -> geo IDENTITY
=> address.geo.lat -> lat IDENTITY
=> address.geo.lon -> lon IDENTITY

# fields with a star, of a built structure [spark]
select q.* from (select struct(id, name) as q from t) x
=> id -> id IDENTITY
=> name -> name IDENTITY

# fields with a star of an unknown type, read outside [spark]
select city from (select a.* from u) x
=> a.city -> city IDENTITY

# all columns as a structure [spark]
select r.name from (select struct(*) as r from t) q
=> name -> name IDENTITY

# elements of arrays and values of maps [spark]
select items[0].sku as s, items.sku as skus, attrs['color'] as color, map_keys(attrs) as ks,
element_at(attrs, name) as e, element_at(items, 1).qty as q from t
=> attrs -> color TRANSFORMATION
=> attrs -> e TRANSFORMATION
=> attrs -> ks TRANSFORMATION
=> items.qty -> q TRANSFORMATION
=> items.sku -> s TRANSFORMATION
=> items.sku -> skus IDENTITY
=> name -> e TRANSFORMATION

# a value of a map that the query builds [spark]
select map('st', name, 'co', id)['co'] as co, map('st', name) as m from t
=> id -> co TRANSFORMATION
=> name -> m TRANSFORMATION

# explode [spark]
select item.sku, item.qty * item.price as value from t lateral view explode(items) x as item
=> items.price -> value TRANSFORMATION
=> items.qty -> value TRANSFORMATION
=> items.sku -> sku TRANSFORMATION

# explode in the select list [spark]
select item.sku from (select explode(items) as item from t) q
=> items.sku -> sku TRANSFORMATION

# posexplode [spark]
select p, i.sku from t lateral view posexplode(items) x as p, i where i.qty > 1
=> items -> p TRANSFORMATION
=> items.sku -> sku TRANSFORMATION
~ items.qty FILTER

# posexplode in the select list [spark]
select posexplode(items) as (p, i) from t
=> items -> i TRANSFORMATION
=> items -> p TRANSFORMATION

# inline in the select list [spark]
select id, inline(items) from t
=> id -> id IDENTITY
=> items.price -> price TRANSFORMATION
=> items.qty -> qty TRANSFORMATION
=> items.sku -> sku TRANSFORMATION

# inline with names [spark]
select s, q from t lateral view inline(items) x as s, q, p
=> items.qty -> q TRANSFORMATION
=> items.sku -> s TRANSFORMATION

# inline without names [spark]
select sku from t lateral view inline(items) x
=> items.sku -> sku TRANSFORMATION

# all columns of inline without names [spark]
select x.* from t lateral view inline(items) x
=> items.price -> price TRANSFORMATION
=> items.qty -> qty TRANSFORMATION
=> items.sku -> sku TRANSFORMATION

# values of both maps [spark]
select map_zip_with(attrs, map(name, payload), (k, a, b) -> concat(a, b)) as z from t
=> attrs -> z TRANSFORMATION
=> name -> z TRANSFORMATION
=> payload -> z TRANSFORMATION

# the greatest item, and the items of both arrays [spark]
select array_max(items).sku as x, array_union(items, array(struct(name as sku, id as qty))) as u
from t
=> id -> u.qty TRANSFORMATION
=> items -> u TRANSFORMATION
=> items.sku -> x TRANSFORMATION
=> name -> u.sku TRANSFORMATION

# aggregates that only some platforms have [spark]
select try_sum(id) as a, some(id > 1) as b, histogram_numeric(id, 5) as h from t
=> id -> a AGGREGATION
=> id -> b AGGREGATION
=> id -> h AGGREGATION

# posexplode without names [spark]
select x.*, x.col.sku from t lateral view posexplode(items) x
=> items -> col TRANSFORMATION
=> items -> pos TRANSFORMATION
=> items.sku -> sku TRANSFORMATION

# posexplode without any name [spark]
select pos, col.sku from t lateral view posexplode(items)
=> items -> pos TRANSFORMATION
=> items.sku -> sku TRANSFORMATION

# explode without names [spark]
select x.col.sku, col.qty from t lateral view explode(items) x
=> items.qty -> qty TRANSFORMATION
=> items.sku -> sku TRANSFORMATION

# explode of a map [spark]
select k, upper(v) as v from t lateral view explode(attrs) m as k, v
=> attrs -> k TRANSFORMATION
=> attrs -> v TRANSFORMATION

# transform [spark]
select transform(items, x -> x.sku) as a, transform(items, (x, n) -> struct(x.sku as s, x.qty * id
as q, n as n)) as b from t
=> id -> b.q TRANSFORMATION
=> items.qty -> b.q TRANSFORMATION
=> items.sku -> a TRANSFORMATION
=> items.sku -> b.s TRANSFORMATION

# a lambda in a lambda [spark]
select transform(items, x -> transform(x.parts, y -> y.a + x.qty)) as b from t
=> items.parts.a -> b TRANSFORMATION
=> items.qty -> b TRANSFORMATION

# rows of a transformed array [spark]
select i.a from t lateral view explode(transform(items, x -> struct(x.sku as a))) y as i
=> items.sku -> a TRANSFORMATION

# filter [spark]
select filter(items, x -> x.qty > 1) as f, filter(items, x -> x.qty > 1)[0].sku as g from t
=> items -> f TRANSFORMATION
=> items.qty -> f CONDITIONAL
=> items.qty -> g CONDITIONAL
=> items.sku -> g TRANSFORMATION

# aggregate [spark]
select aggregate(items, 0, (acc, x) -> acc + x.qty * x.price) as s, aggregate(items, id, (acc, x) ->
acc + x.qty, acc -> acc * 2) as u from t
=> id -> u TRANSFORMATION
=> items.price -> s TRANSFORMATION
=> items.qty -> s TRANSFORMATION
=> items.qty -> u TRANSFORMATION

# exists, forall, zip_with [spark]
select exists(items, x -> x.qty > 1) as e, forall(items, i -> i.sku is null) as f, zip_with(items,
items, (a, b) -> a.qty + b.price) as z from t
=> items.price -> z TRANSFORMATION
=> items.qty -> e TRANSFORMATION
=> items.qty -> z TRANSFORMATION
=> items.sku -> f TRANSFORMATION

# lambdas of maps [spark]
select map_filter(attrs, (k, v) -> v > name) as m, transform_values(attrs, (k, v) -> upper(v)) as w
from t
=> attrs -> m TRANSFORMATION,CONDITIONAL
=> attrs -> w TRANSFORMATION
=> name -> m CONDITIONAL

# arrays_zip [spark]
select arrays_zip(items.sku, items.qty) as z, arrays_zip(items.sku, items.qty)[0].sku as s from t
=> items.qty -> z.qty TRANSFORMATION
=> items.sku -> s TRANSFORMATION
=> items.sku -> z.sku TRANSFORMATION

# json [spark]
select from_json(payload, 'kind string, who struct<id: int>') as j, from_json(payload, name) as k,
get_json_object(payload, '$.a') as g, to_json(struct(id, address)) as o from t
=> address -> o TRANSFORMATION
=> id -> o TRANSFORMATION
=> name -> k TRANSFORMATION
=> payload -> g TRANSFORMATION
=> payload -> j.kind TRANSFORMATION
=> payload -> j.who TRANSFORMATION
=> payload -> k TRANSFORMATION

# fields of json [spark]
select j.who.id from (select from_json(payload, 'kind string, who struct<id:int>') as j from t) q
=> payload -> id TRANSFORMATION

# functions of the user [spark]
select udf(address, name) as u, udf(address).x as v from t
=> address -> u TRANSFORMATION
=> address -> v TRANSFORMATION
=> name -> u TRANSFORMATION

# casts [spark]
select cast(address as struct<a: string, b: string, c: struct<x: double, y: double>>) as a,
cast(address as struct<city: string, zip: int, geo: string>) as c, cast(named_struct('p', id) as
struct<q: bigint>).q as b from t
=> address -> c TRANSFORMATION
=> address.city -> a.a TRANSFORMATION
=> address.geo -> a.c TRANSFORMATION
=> address.zip -> a.b TRANSFORMATION
=> id -> b TRANSFORMATION

# aggregates of structures [spark]
select collect_list(struct(id, name)) as l, max(struct(name, id)).id as m, first(address).city as f
from t
=> address.city -> f AGGREGATION
=> id -> l.id AGGREGATION
=> id -> m AGGREGATION
=> name -> l.name AGGREGATION

# conditions [spark]
select case when id > 1 then address end as a, coalesce(address, address).city as c, case when name
is null then struct(id as x) else struct(name as x) end as s from t
=> address -> a TRANSFORMATION
=> address.city -> c TRANSFORMATION
=> id -> a CONDITIONAL
=> id -> s.x TRANSFORMATION
=> name -> s CONDITIONAL
=> name -> s.x TRANSFORMATION

# arrays of structures [spark]
select array(struct(id as a), struct(name as a)) as x from t
=> id -> x.a TRANSFORMATION
=> name -> x.a TRANSFORMATION

# union by names of fields [spark]
select s.a from (select named_struct('a', id, 'b', name) as s from t union all select
named_struct('b', id, 'a', name) as s from t) q
=> id -> a IDENTITY
=> name -> a IDENTITY

# union of a structure and a column [spark]
select s.city, s.zip from (select named_struct('city', name) as s from t union all select address
from t) q
=> address.city -> city IDENTITY
=> address.zip -> zip IDENTITY
=> name -> city IDENTITY

# a recursive query [spark]
with recursive r as (select named_struct('n', id) as s from t union all select named_struct('n', s.n
+ 1) from r) select s.n from r
=> id -> n IDENTITY,TRANSFORMATION

# influences of fields [spark]
select q.id from t q join t r on q.address.zip = r.address.zip where exists (select 1 from t u where
u.address.city = q.address.geo.lat) order by q.address.geo.lon
=> id -> id IDENTITY
~ address.city FILTER
~ address.geo.lat FILTER
~ address.geo.lon SORT
~ address.zip JOIN

# groups and windows of fields [spark]
select sum(i.qty) as s, row_number() over (partition by t.address.city order by t.address.zip) as rn
from t lateral view explode(items) as i group by i.sku
=> address.city -> rn WINDOW
=> address.zip -> rn WINDOW
=> items.qty -> s AGGREGATION
~ items.sku GROUP_BY

# pivot of a field [spark]
select * from (select id, address from t) pivot (max(address.city) for id in (1, 2))
=> address.city -> 1 AGGREGATION
=> address.city -> 2 AGGREGATION
=> id -> 1 CONDITIONAL
=> id -> 2 CONDITIONAL

# struct [bigquery]
select struct(a, b as x) as s, struct<x int64, y string>(a, b) as y from t
=> a -> s.a IDENTITY
=> a -> y.x IDENTITY
=> b -> s.x IDENTITY
=> b -> y.y IDENTITY

# queries of structures [bigquery]
select array(select as struct x.a, x.b from unnest(arr) x) as r, (select as struct c, d) as o from t
=> arr.a -> r.a TRANSFORMATION
=> arr.b -> r.b TRANSFORMATION
=> c -> o.c IDENTITY
=> d -> o.d IDENTITY

# unnest [bigquery]
select item.sku, o from t, unnest(t.items) as item with offset o
=> items -> o TRANSFORMATION
=> items.sku -> sku TRANSFORMATION

# an array in from [bigquery]
select item.sku from t, t.items as item
=> items.sku -> sku TRANSFORMATION

# elements of arrays [bigquery]
select arr[offset(0)].f, array_agg(struct(a, b) order by c)[offset(0)].a as g from t
=> a -> g AGGREGATION
=> arr.f -> f TRANSFORMATION
=> c -> g WINDOW

# the first row of a group [bigquery]
select q.id from (select array_agg(o order by d limit 1)[offset(0)] as q from (select id, d from t)
o)
=> d -> id WINDOW
=> id -> id AGGREGATION

# a subquery of an array [bigquery]
select (select sum(x.qty) from unnest(items) x) as total from t
=> items.qty -> total AGGREGATION

# paths [snowflake]
select a:b.c as x, a:b[0].c::string as y, a['b']['c'] as z, get_path(a, 'b.c') as w, get(a, 'b') as
v, t.a:b as u, parse_json(j):a as p from t
=> a.b -> u IDENTITY
=> a.b -> v IDENTITY
=> a.b.c -> w IDENTITY
=> a.b.c -> x IDENTITY
=> a.b.c -> y TRANSFORMATION
=> a.b.c -> z IDENTITY
=> j -> p TRANSFORMATION

# object_construct [snowflake]
select object_construct('k', v, 'l', w) as o, object_construct_keep_null('k', v) as n,
object_insert(u, 'k', v) as p from t
=> u -> p IDENTITY
=> v -> n.k IDENTITY
=> v -> o.k IDENTITY
=> v -> p.k IDENTITY
=> w -> o.l IDENTITY

# paths of an object [snowflake]
select o:k as x from (select object_construct('k', v, 'l', w) as o from t)
=> v -> x IDENTITY

# flatten [snowflake]
select f.value:sku::string as sku, f.index as i, g.value:q.r as r from t, lateral flatten(input =>
t.items) f, table(flatten(t.x:y)) g
=> items -> i TRANSFORMATION
=> items.sku -> sku TRANSFORMATION
=> x.y.q.r -> r TRANSFORMATION

# lambdas of variants [snowflake]
select transform(a, x -> x:b) as w, filter(a, x -> x:v > 1) as f, reduce(a, 0, (acc, x) -> acc +
x:v) as r from t
=> a -> f TRANSFORMATION
=> a.b -> w TRANSFORMATION
=> a.v -> f CONDITIONAL
=> a.v -> r TRANSFORMATION

# paths of super [redshift]
select t.a.b[0].c as d, a['b'] as e, object('k', v) as o, json_parse(x) as p from t
=> a.b -> e IDENTITY
=> a.b.c -> d TRANSFORMATION
=> v -> o.k IDENTITY
=> x -> p TRANSFORMATION

# rows of super [redshift]
select i.sku, j.x as y, k from t, t.items i, t.a.b as j at k where i.qty > 1
=> a.b -> k TRANSFORMATION
=> a.b.x -> y TRANSFORMATION
=> items.sku -> sku TRANSFORMATION
~ items.qty FILTER

# structures [duckdb]
select {'k': v, 'l': w + 1} as s, struct_pack(k := v) as p, u['k'] as q, struct_extract(u, 'm') as
e, struct_insert(u, n := v) as i from t
=> u -> i IDENTITY
=> u.k -> q IDENTITY
=> u.m -> e IDENTITY
=> v -> i.n IDENTITY
=> v -> p.k IDENTITY
=> v -> s.k IDENTITY
=> w -> s.l TRANSFORMATION

# lists [duckdb]
select list_transform(l, x -> x.a) as t, [x.a for x in l if x.b] as c, list_filter(l, lambda x: x.a
> 1) as f, unnest(l).a as r from t
=> l -> f TRANSFORMATION
=> l.a -> c TRANSFORMATION
=> l.a -> f CONDITIONAL
=> l.a -> r TRANSFORMATION
=> l.a -> t TRANSFORMATION
=> l.b -> c CONDITIONAL

# fields of a row of unnest [duckdb]
select u.item.sku, u.item from t, unnest(items) as u(item)
=> items -> item TRANSFORMATION
=> items.sku -> sku TRANSFORMATION

# rows [trino]
select cast(row(a, b) as row(x int, y varchar)) as r, row(a, b) as u from t
=> a -> r.x TRANSFORMATION
=> a -> u IDENTITY
=> b -> r.y TRANSFORMATION
=> b -> u IDENTITY

# rows without names [postgres]
select row(a, b) as r, (row(a, b)).f2 as x, (s).f, (t.s).f.g as h, s->'a'->>'b' as j from t
=> a -> r.f1 IDENTITY
=> b -> r.f2 IDENTITY
=> b -> x IDENTITY
=> s -> j TRANSFORMATION
=> s.f -> f IDENTITY
=> s.f.g -> h IDENTITY

# paths and structures [databricks]
select a:b.c as x, transform(a, x -> x.b) as y from t
=> a.b -> y TRANSFORMATION
=> a.b.c -> x IDENTITY

# fields [hive]
select named_struct('a', name) as s, address.city, items[0].sku as k from t
=> address.city -> city IDENTITY
=> items.sku -> k TRANSFORMATION
=> name -> s.a IDENTITY
"""


def read(sql: str, dialect: str) -> SqlLineage:
    schema = "; ".join(f"create table {table} {COLUMNS}" for table in ("t", "s.t"))
    return lineage_of(sql, dialect, schema=schema if dialect in ("hive", "spark") else "")


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.split("\n")[0]) for case in CASES.strip().removeprefix("# ").split("\n# ")],
)
def test_fields(case: str) -> None:
    title, *lines = case.strip().split("\n")
    dialect = re.search(r"\[(\w+)\]$", title)
    assert dialect is not None
    sql = " ".join(line for line in lines if not line.startswith(("=>", "~")))

    found = read(f"create table m as {sql}", dialect[1])

    assert found.problems == set()
    edges = {re.sub(r"^.*?#(.*) > m#", r"\1 -> ", edge) for edge in found.columns}
    assert edges == {line[3:] for line in lines if line.startswith("=> ")}
    influences = {re.sub(r"^.*?#(.*) > m ", r"\1 ", influence) for influence in found.influences}
    assert influences == {line[2:] for line in lines if line.startswith("~ ")}


def test_a_field_of_a_view_is_that_which_the_view_fills() -> None:
    found = read(
        "create view v as select named_struct('x', id, 'y', named_struct('z', name)) as s from t;"
        " create table m as select s.x as a, s.* from v",
        "spark",
    )

    assert found.columns == {
        "t#id > v#s.x IDENTITY",
        "t#name > v#s.y.z IDENTITY",
        "v#s.x > m#a IDENTITY",
        "v#s.x > m#x IDENTITY",
        "v#s.y > m#y IDENTITY",
    }


def test_a_field_of_a_temporary_view_is_its_part() -> None:
    found = read(
        "create temporary view v as select struct(id as a, address as b) as s from t;"
        " create table m as select s.b.city, s from v",
        "spark",
    )

    assert found.columns == {
        "t#address.city > m#city IDENTITY",
        "t#id > m#s.a IDENTITY",
        "t#address > m#s.b IDENTITY",
    }


def test_an_insert_fills_fields_by_the_position_of_their_column() -> None:
    found = read(
        "create table u (id int, place struct<city: string>);"
        " insert into u select id, named_struct('city', upper(name)) from t",
        "spark",
    )

    assert found.columns == {"t#id > u#id IDENTITY", "t#name > u#place.city TRANSFORMATION"}


def test_assigned_fields_have_the_spelling_of_their_columns() -> None:
    found = read("update t set T.Address.City = name, address.geo.lat = address.geo.lat", "spark")

    assert found.columns == {"t#name > t#address.City IDENTITY"}


def test_a_renamed_table_is_the_origin_of_its_fields() -> None:
    found = lineage_of(
        "create table u_new as select struct(a.b as c) as s from t; create table m as select s.c from u_new;"
        " alter table u_new rename to u",
        "spark",
    )

    assert found.columns == {"t#a.b > u#s.c IDENTITY", "u#s.c > m#c IDENTITY"}


def test_the_text_of_a_field_is_that_of_its_own_value() -> None:
    found = read(
        "create table m as select struct(id, upper(name) as n) as s, items[0].sku as k from t", "spark"
    )

    texts = {
        dot_path(each.target_column): each.expression
        for each in found.elements
        if isinstance(each, FeedsColumn)
    }
    assert texts == {"s.id": "", "s.n": "upper(name)", "k": "items[0].sku"}
