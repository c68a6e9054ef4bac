"""No false alarms for SQL that is written otherwise, and no missed ones for small changes of results."""

import re
from collections.abc import Callable

import pytest
import sqlglot
from sqlglot import exp

from lineage_merge.review.assessment import review_dbt
from tests.review.dbt_pull_requests.versions import document, file_of, scope


def commented(sql: str) -> str:
    return "/* nightly */\n" + sql.replace("select", "select -- all\n", 1)


def upper_keywords(sql: str) -> str:
    return re.sub(
        r"\b(select|from|where|left|join|on|as|group by|sum|count|with)\b", lambda m: m[0].upper(), sql
    )


def wrapped_in_cte(sql: str) -> str:
    return sql if sql.lower().startswith("with") else f"with final as (\n{sql}\n)\nselect * from final"


def wrapped_in_subquery(sql: str) -> str:
    return sql if sql.lower().startswith("with") else f"select * from (\n{sql}\n) as q"


def pretty(sql: str) -> str:
    return sqlglot.transpile(sql, read="duckdb", write="duckdb", pretty=True)[0]


def quoted(sql: str) -> str:
    return sqlglot.transpile(sql, read="duckdb", write="duckdb", identify=True)[0]


def unquoted(sql: str) -> str:
    return sql.replace('"', "")


def upper_aliases(sql: str) -> str:
    return re.sub(
        r"\b([a-z])\.",
        lambda m: m[1].upper() + ".",
        re.sub(r"\bas ([a-z])\b", lambda m: f"as {m[1].upper()}", sql),
    )


def reordered(sql: str) -> str:
    tree = sqlglot.parse_one(sql, read="duckdb")
    if not isinstance(tree, exp.Select) or "group by 1" in sql:
        return sql
    tree.set("expressions", list(reversed(tree.expressions)))
    return tree.sql("duckdb")


def other_synonyms(sql: str) -> str:
    written = (
        sql.replace("<>", "!=").replace("left join", "left outer join").replace("\njoin", "\ninner join")
    )
    return re.sub(r"cast\((\w+) as date\)", r"\1::date", written) + "\n;"


def other_joins(sql: str) -> str:
    return re.sub(r"on (\w)\.(\w+) = (\w)\.\2\b", r"using (\2)", sql)


def flipped_joins(sql: str) -> str:
    return re.sub(r"on (\w\.\w+) = (\w\.\w+)", r"on \2 = \1", sql)


def other_groups(sql: str) -> str:
    return sql.replace("group by customer_id", "group by 1").replace("group by category", "group by 1")


@pytest.mark.parametrize(
    "write",
    [
        commented,
        upper_keywords,
        wrapped_in_cte,
        wrapped_in_subquery,
        pretty,
        quoted,
        unquoted,
        upper_aliases,
        reordered,
        other_synonyms,
        other_joins,
        flipped_joins,
        other_groups,
    ],
)
def test_sql_that_is_written_otherwise_gives_no_finding(write: Callable[[str], str]) -> None:
    head, changed = document("base"), 0
    for key, node in head["nodes"].items():
        if key.startswith("model."):
            sql = node["compiled_code"]
            node["compiled_code"] = write(sql)
            changed += node["compiled_code"] != sql
    found = review_dbt(file_of(document("base")), file_of(head), scope())
    assert changed
    assert [(each.finding.title, each.finding.message) for each in found.findings] == []


def kinds(before: str, after: str, model: str = "dim_products") -> set[str]:
    """Review a change of one model from one query to another."""
    manifests = [document("base"), document("base")]
    for manifest, sql in zip(manifests, (before, after), strict=True):
        manifest["nodes"][f"model.shop.{model}"]["compiled_code"] = sql
    found = review_dbt(file_of(manifests[0]), file_of(manifests[1]), scope())
    return {
        each.finding.kind for each in found.findings if each.finding.title.endswith((model, f"{model}#cost"))
    }


P = '"shop"."main"."stg_products"'
O = '"shop"."main"."stg_orders"'  # noqa: E741
PAYMENTS = '"shop"."main"."stg_payments"'
ITEMS = '"shop"."main"."stg_order_items"'


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (f"select cost from {P}", f"select coalesce(cost, 0) as cost from {P}", "expression changed"),
        (
            f"select coalesce(cost, 0) as cost from {P}",
            f"select coalesce(cost, 1) as cost from {P}",
            "expression changed",
        ),
        (f"select cost - id as cost from {P}", f"select id - cost as cost from {P}", "expression changed"),
        (f"select count(*) as cost from {P}", f"select count(1) + 1 as cost from {P}", "query changed"),
        (f"select 1 as cost, 2 as n from {P}", f"select 2 as cost, 1 as n from {P}", "query changed"),
        (
            f"select 'a' as k, 'b' as cost from {P} union all select 'c', 'd' from {P}",
            f"select 'a' as k, 'b' as cost from {P} union all select 'd', 'c' from {P}",
            "query changed",
        ),
        (
            f"select cost from {P} union select cost from {P}",
            f"select cost from {P} union all select cost from {P}",
            "set operation changed",
        ),
        (f"select cost from {P}", f"select distinct cost from {P}", "grouping changed"),
        (f"select cost from {P}", f"select cost from {P} limit 10", "limit changed"),
        (
            f"select cost from {P} order by cost limit 10",
            f"select cost from {P} order by cost desc limit 10",
            "query changed",
        ),
        (
            f"select cost from {P} where id in (select id from {O} where id > 1)",
            f"select cost from {P} where id in (select id from {O} where id > 2)",
            "filter changed",
        ),
        (f"select cost from {P} where id > 1", f"select cost from {P} where not id > 1", "filter changed"),
        (
            f"select cost from {P} where id > 1 and cost > 1",
            f"select cost from {P} where id > 1 or cost > 1",
            "filter changed",
        ),
        (f"select p.cost from {P} p", f"select p.cost from {P} p cross join {O} o", "join changed"),
        (
            f"select p.cost from {P} p join {ITEMS} i on p.product_id = i.product_id",
            f"select i.price as cost from {P} p join {ITEMS} i on p.product_id = i.product_id",
            "expression changed",
        ),
        (
            f"select o.status as cost from {O} o join {PAYMENTS} p using (order_id) where o.amount > 1",
            f"select o.status as cost from {O} o join {PAYMENTS} p using (order_id) where p.amount > 1",
            "filter changed",
        ),
        (
            f"select o.amount as cost from {O} o join {PAYMENTS} p using (order_id)",
            f"select p.amount as cost from {O} o join {PAYMENTS} p using (order_id)",
            "expression changed",
        ),
        (
            f"select sum(cost) over (order by product_id) as cost from {P}",
            f"select sum(cost) over (order by product_id desc) as cost from {P}",
            "expression changed",
        ),
        (
            f"with a as (select cost from {P} where cost > 1) select cost from a",
            f"with a as (select cost from {P} where cost > 2) select cost from a",
            "filter changed",
        ),
        (f"select 1 as cost from {P}", f"select 1 as cost from {O}", "query changed"),
    ],
)
def test_a_small_change_is_found(before: str, after: str, kind: str) -> None:
    assert kind in kinds(before, after)


PAID = f"from {O} o join {PAYMENTS} p using (order_id)"
PAIRED = f"from {O} o join {O} p on o.order_id = p.customer_id"
TWO = f"with a as (select * from {O}%s), b as (select * from {O}%s)"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (
            f"select coalesce(o.amount, p.amount) as cost {PAID}",
            f"select coalesce(p.amount, o.amount) as cost {PAID}",
            "expression changed",
        ),
        (
            f"select o.amount - p.amount as cost {PAID}",
            f"select p.amount - o.amount as cost {PAID}",
            "expression changed",
        ),
        (
            f"with j as (select o.amount - p.amount as d {PAID}) select d as cost from j",
            f"with j as (select p.amount - o.amount as d {PAID}) select d as cost from j",
            "query changed",
        ),
        (
            f"select o.status as cost {PAID} where o.amount < p.amount",
            f"select o.status as cost {PAID} where p.amount < o.amount",
            "filter changed",
        ),
        (
            f"select o.status as cost from {O} o join {PAYMENTS} p on o.amount < p.amount",
            f"select o.status as cost from {O} o join {PAYMENTS} p on p.amount < o.amount",
            "join changed",
        ),
        (f"select o.amount as cost {PAIRED}", f"select p.amount as cost {PAIRED}", "expression changed"),
        (
            f"select o.amount as cost {PAIRED} where o.status = 'x'",
            f"select o.amount as cost {PAIRED} where p.status = 'x'",
            "filter changed",
        ),
        (
            f"select datediff('day', o.ordered_at, p.ordered_at) as cost {PAIRED}",
            f"select datediff('day', p.ordered_at, o.ordered_at) as cost {PAIRED}",
            "expression changed",
        ),
        (
            f"select sum(o.amount) as cost {PAIRED} group by o.status",
            f"select sum(o.amount) as cost {PAIRED} group by p.status",
            "grouping changed",
        ),
        (
            f"select o.amount as cost {PAIRED} order by o.status limit 1",
            f"select o.amount as cost {PAIRED} order by p.status limit 1",
            "query changed",
        ),
        (
            f"select cost from {P} o where exists (select 1 from {P} p where p.cost < o.cost)",
            f"select cost from {P} o where exists (select 1 from {P} p where o.cost < p.cost)",
            "filter changed",
        ),
        (
            f"{TWO % (' where status = 1', '')} select a.amount as cost from a left join b using (order_id)",
            f"{TWO % ('', ' where status = 1')} select a.amount as cost from a left join b using (order_id)",
            "filter changed",
        ),
        (
            f"select amount as cost from (select * from {O} where amount > 1) left join {O} using (order_id)",
            f"select amount as cost from {O} left join (select * from {O} where amount > 1) using (order_id)",
            "filter changed",
        ),
        (
            f"with a as (select sum(cost) as cost from {P} where cost > 1 group by id) select cost from a",
            f"with a as (select sum(cost) as cost from {P} group by id) select cost from a where cost > 1",
            "filter changed",
        ),
    ],
)
def test_columns_of_one_name_are_distinguished(before: str, after: str, kind: str) -> None:
    assert kind in kinds(before, after)
    assert kind in kinds(after, before)


COMPARED = f"select coalesce(o.amount, p.amount) as cost {PAID} where o.amount < p.amount"
SELF = f"select o.amount - p.amount as cost {PAIRED} where o.status = 'x' and p.status = 'y'"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (COMPARED, COMPARED.replace("o.", "x.").replace(" o ", " x ")),
        (COMPARED, COMPARED.replace("o.", "p1.").replace("p.", "o.").replace("p1.", "p.")
            .replace(f"{O} o", f"{O} p").replace(f"{PAYMENTS} p", f"{PAYMENTS} o")),
        (COMPARED, COMPARED.replace("using (order_id)", "on p.order_id = o.order_id")),
        (COMPARED, f"with x as (select * from {O}), y as (select * from {PAYMENTS}) "
            + COMPARED.replace(f"{O} o", "x o").replace(f"{PAYMENTS} p", "y as p")),
        (COMPARED, COMPARED.replace(f"{O} o", f"(select * from {O}) o")),
        (COMPARED, f"with final as ({COMPARED}) select cost from final"),
        (COMPARED, COMPARED.replace("o.amount", '"o"."amount"').replace("p.amount", '"P".AMOUNT')),
        (SELF, SELF.replace("o.", "x.").replace(" o ", " x ")),
        (SELF, SELF.replace("o.status = 'x' and p.status = 'y'", "p.status = 'y' AND o.status = 'x'")),
        (SELF, f"with s as (select * from {O}) "
            + SELF.replace(f"from {O}", "from s").replace(f"join {O}", "join s")),
        (SELF, f"with a as (select * from {O}), b as (select * from a) "
            + SELF.replace(f"from {O}", "from a").replace(f"join {O}", "join b")),
        (f"select o.cost + 1 as cost from {P} o where o.cost > 1",
            f"select cost + 1 as cost from {P} where cost > 1"),
        (f"with a as (select * from {P}) select cost from a where cost > 1",
            f"with a as (select * from {P} where cost > 1) select cost from a"),
        ((f"with a as (select * from {O} where status = 1) select a.amount as cost"
             f" from a join {PAYMENTS} p using (id)"),
            (f"with b as (select * from {O}), c as (select * from b where status = 1) select c.amount as cost"
             f" from c join {PAYMENTS} q using (id)")),
        (f"{TWO % (' where status = 1', '')} select a.amount as cost from a left join b using (order_id)",
            (f"with y as (select * from {O}), x as (select * from {O} where status = 1)"
             " select x.amount as cost from x left join y using (order_id)")),
        (f"select amount as cost from {O} where amount > 1 union all select amount from {PAYMENTS}",
            (f"with a as (select amount from {O} where amount > 1), b as (select amount from {PAYMENTS})"
             " select amount as cost from a union all select * from b")),
    ],
)  # fmt: skip
def test_other_names_of_sources_give_no_finding(before: str, after: str) -> None:
    assert before != after
    assert kinds(before, after) == set()
    assert kinds(after, before) == set()


def test_sql_that_cannot_be_parsed_is_one_finding() -> None:
    assert kinds(f"select cost from {P}", f"select (cost from {P}") == {"query changed"}
