"""One statement for each construct that DuckDB runs, over the tables of `execution`."""

import re

CONSTRUCTS = """
select id, a + b as c, a - n as e from t
select id, case when a > 5 then b else n end as c from t
select id, case g when 1 then a when 2 then b end as c from t
select id, coalesce(n, a) as c, nullif(a, b) as e, ifnull(n, b) as f from t
select id, if(a > 3, b, n) as c, greatest(a, b) as e, least(a, n) as f from t
select id, a in (1, 2, 3) as c, a between b and n as e, s like 'a%' as f from t
select id, a in (select x from u) as c, exists (select 1 from u where u.x = t.a) as e from t
select id, (select max(x) from u where u.k = t.k) as c from t
select id, (select count(*) from u where u.x > t.a) as c from t
select id, a > all (select y from u) as c, a = any (select x from u) as e from t
select id, (select x from u where u.id = t.id) + a as c from t
select t.id, u.x from t, u where t.id = u.id
select id, x from t join u using (id)
select id, x, z from t natural join (select id, x, k as j from u) r left join v on j = v.k
select coalesce(t.id, w.id) as i, a, x from t full join (select id + 25 as id, x from u) w on t.id = w.id
select id, r.z from t left join lateral (select max(z) as z from v where v.k = t.k) r on true
select id, r.c from t, (select a * 2 as c) r
select id from t semi join u on t.a = u.x
select id from t anti join u on t.a = u.x
select t.id, w.x from t asof join (select id, x from u) w on t.id >= w.id
select t.id, u.x from t positional join u
select g, sum(a) as c, count(n) as e, min(s) as f from t group by g
select g, sum(a) filter (where b > 5) as c from t group by g
select g, string_agg(s, ',' order by id) as c, list(a order by id) as e from t group by g
select g, max_by(a, id) as c, min_by(s, b * 100 + id) as e, arg_max(a, b * 100 + id) as f from t group by g
select g, k, sum(a) as c from t group by rollup (g, k)
select g, k, sum(a) as c, grouping(g) as e from t group by grouping sets ((g), (k), ())
select g + 1 as h, sum(a) as c from t group by all
select g as h, sum(a) as c from t group by h having sum(b) > 3 and min(n) < 8
select count(distinct a) as c, count(*) as e, bool_or(a > 5) as f from t
select g, quantile_cont(a, 0.5) as c, mode(k) as e from t group by g
select id, row_number() over (order by a, id) as c, rank() over (partition by g order by b) as e from t
select id, sum(a) over (partition by g order by id rows between 1 preceding and current row) as c from t
select id, lag(a) over (order by id) as c, lead(b, 1, n) over (partition by g order by id) as e from t
select id, first_value(a) over w as c, ntile(3) over (order by b, id) as e from t window w as (partition
 by g order by id)
select id, a from t qualify row_number() over (partition by g order by b, id) = 1
select id, sum(sum(a)) over (order by id) as c from t group by id
select distinct g, s from t
select distinct on (g) g, a from t order by g, b, id
select a from t union select x from u
select a, s from t union all select x, s from u
select a as c, g as e from t union all by name select y as e, x as c from u
select a from t intersect select x from u
select a from t except select x from u
select a from t intersect all select x from u
(select id, a from t order by b, id limit 3) union all (select id, x from u)
select id, a from t order by a, id limit 5
select id from t order by id limit (select max(x) // 4 from u) offset 1
select id, a from t order by all limit 7
select * exclude (l, st, m) from t
select * exclude (st, m, l, d) replace (a + b as a, upper(s) as s) from t
select * rename (x as xx, y as yy) from u
select columns('^[xy]$') from u
select columns(* exclude (s)) + 1 from u
select * like 'x%' from u
select t.*, u.x from (select id, a from t) t join u using (id)
from u select id, x
from (pivot (select g, a, k from t) on k in (1, 2, 3) using sum(a))
from (pivot (select g, a, b, k from t) on k in (1, 2) using sum(a) as s, max(b) as m group by g)
select * from (select id, a, b from t) unpivot (v for n in (a, b))
select * from (select id, a, n from t) unpivot include nulls (v for c in (a, n))
from (unpivot (select id, a, b from t) on columns(* exclude (id)) into name n value v)
select id, {'p': a, 'q': b} as c from t
select id, struct_pack(p := a, q := s) as c, row(a, s) as e from t
select id, st.x as c, st['y'] as e, struct_extract(st, 'x') as f from t
select id, struct_insert(st, z := a) as c from t
select r.c.p as p, r.c.q as q from (select {'p': a, 'q': b + n} as c from t) r
select unnest(st) from t
select id, l[1] as c, l[2:3] as e, list_sum(l) as f, len(l) as g2 from t
select id, list_transform(l, lambda e: e + a) as c, list_filter(l, lambda e: e > b) as f from t
select id, [e * a for e in l if e > b] as c, list_reduce(l, lambda x, y: x + y) as f from t
select id, list_zip(l, [a, b]) as c, list_contains(l, a) as e, array_append(l, b) as f from t
select id, unnest(l) as c from t
select id, r.e from t, unnest(l) r(e)
select id, unnest([{'p': a, 'q': b}, {'p': n, 'q': g}], recursive := true) from t
select id, m['p'] as c, map_values(m) as e, map_keys(m) as f from t
select id, map {'p': a, 'q': b}['q'] as c, cardinality(m) as e from t
select id, year(d) as c, date_part('month', d) as e, d + cast(a as integer) as f from t
select id, datediff('day', d, date '2026-12-31') as c, date_trunc('month', d) as e, extract(day from d) as
 f from t
select id, s || a as c, substr(s, g, 2) as e, regexp_replace(s, 'a', w) as f from t join v using (k)
select id, format('{} {}', a, s) as c, concat_ws('-', s, b) as e, position('b' in s) as f from t
select id, a::varchar as c, cast(b as double) / 2 as e, try_cast(s as integer) as f from t
select id, (a + b).abs() as c, s.upper().length() as e from t
select a + b as c, c * 2 as e, e - n as f from t
select id, 'k' as c, 1 + 1 as e, random() > 2 as f from t
with r as (select id, a from t) select id, a * 2 as c from r
with t as (select id, x as a from u) select id, a from t
with r as (select id, a from t), q as (select id, a + 1 as b from r) select q.b, r.a from q join r using
 (id)
with r(i, c) as (select id, a from t) select i, c from r
with recursive r as (select id, a, 1 as lev from t where id < 3 union all select r.id, r.a + t.b, lev + 1
 from r join t using (id) where lev < 3) select id, a, lev from r
with r as materialized (select g, sum(a) as c from t group by g) select t.id, r.c from t join r using (g)
select r.* from (values (1, 'p'), (2, 'q')) r(one, two) join t on t.g = r.one
select id, (select list(x order by id) from u where u.k = t.k) as c from t
select id, (select sum(z) from v where v.k in (select k from u where u.id = t.id)) as c from t
select id, exists (from u where u.k = t.k and u.x > t.a) as c from t
select x, count(*) over () as c from u where y > (select avg(b) from t)
select id, a as "Mixed Case", b as "select" from t
select t.id, r.a as ra from t join t r on t.k = r.id
select id, not (a > 3) as c, a > 3 and b < 4 or n = 2 as e, a is distinct from b as f from t
select id, a % 3 as c, a // 2 as e, a ** 2 as f, -b as h, ~a as j, a & b as o, a << 1 as p from t
select id, list_aggregate(l, 'max') as c, list_sort(l) as e, list_distinct(l) as f, flatten([l, [a]]) as h
 from t
select id, to_json({'p': a}) as c, json_extract(json_object('x', b), '$.x') as e from t
select id, hash(a, s) as c, md5(s) as e, chr(97 + g::integer) as f from t
insert into tgt (id, a, s) select id + 500, x, s from u
insert into tgt by name select id + 500 as id, y as b from u
insert into tgt select id + 500, x, y, s from u where x > 3
insert into tgt (id, a) select id, x from u on conflict (id) do nothing
insert into tgt (id, a, b) select id, x, y from u on conflict (id) do update set b = excluded.a + tgt.b
 where excluded.b > 3
insert or replace into tgt select id, x, y, s from u
insert or ignore into tgt (id, b) select id, y from u
update tgt set a = u.x, b = tgt.b + u.y from u where u.id = tgt.id
update tgt set a = (select max(x) from u where u.id = tgt.id)
update tgt set a = r.c from (select id, sum(x) as c from u group by id) r where r.id = tgt.id and r.c > 3
delete from tgt using u where u.id = tgt.id and u.x > 10
delete from tgt where id in (select id from u where x > 5)
merge into tgt using u on tgt.id = u.id when matched then update set a = u.x
merge into tgt using (select id, x, y from u) r on tgt.id = r.id when matched and r.y > 3 then update set
 a = r.x when not matched then insert (id, a) values (r.id, r.y)
merge into tgt using u on tgt.id = u.id when matched and u.x > 20 then delete when not matched then insert
 (id, a, b, s) values (u.id, u.x, u.y, u.s)
with r as (select id, x from u) insert into tgt (id, a) select id + 500, x from r
with r as (select id, x from u) update tgt set a = r.x from r where r.id = tgt.id
"""
# A line that begins with a blank continues the one before.
STATEMENTS = tuple(re.sub(r"\n +", " ", CONSTRUCTS).strip().split("\n"))
