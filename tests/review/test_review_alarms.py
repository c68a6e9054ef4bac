"""No false alarms for SQL that is written otherwise, and no missed ones for small changes of results."""

import re
from collections.abc import Callable

import pytest
import sqlglot
from sqlglot import exp

from lineage_merge.query.review.assessment import review_dbt
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


def test_sql_that_cannot_be_parsed_is_one_finding() -> None:
    assert kinds(f"select cost from {P}", f"select (cost from {P}") == {"query changed"}
