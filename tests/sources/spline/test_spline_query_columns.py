"""Columns of JDBC queries: from the pushed-down query to the columns of the written file."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlglot import exp, parse
from sqlglot.optimizer.qualify import qualify

from lineage_merge.model.elements import Column, Feeds, FeedsColumn, Influences, Problem, Reference
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble
from lineage_merge.sources.spline.translator import translate
from tests.sources.spline.columns.plan_building import PLAN, Operation, PlanBuilder
from tests.sources.sql.test_sql_oracles import TPCH, TPCH_DDL

URL = "jdbc:redshift://tickit-wh.abc123.us-east-1.redshift.amazonaws.com:5439/dev"
LAKE = "s3://lake/out"
OPEN = "columns whose table is unknown"


class Found(NamedTuple):
    """``sales.price -> total TRANSFORMATION``, ``sales.day FILTER``, expressions by column, and the rest."""

    flows: set[str]
    influences: set[str]
    expressions: dict[str, str]
    columns: set[str]
    lost: set[str]
    problems: list[str]


def table(source: Reference) -> str:
    return source.name.rpartition(":")[2]


def found_of(plan: PlanBuilder) -> Found:
    header = {"_key": PLAN, "name": "job", "extra": {"dataTypes": list(plan.types.values())}}
    read, rejections = assemble(PLAN, {**plan.contents, "executionPlan": [header]}, EVERYTHING)
    assert rejections == []
    result = Found(set(), set(), {}, set(), set(), [])
    for each in translate(read):
        match each:
            case FeedsColumn():
                how = ",".join(each.transformations)
                result.flows.add(f"{table(each.source)}.{each.source_column} -> {each.target_column} {how}")
                if each.expression:
                    known = result.expressions.setdefault(each.target_column, each.expression)
                    assert known == each.expression
            case Influences():
                result.influences.add(
                    f"{table(each.source)}.{each.source_column} {','.join(each.transformations)}"
                )
            case Column() if each.ref.name != LAKE:
                assert not each.properties  # a query's text has neither types nor an order
                result.columns.add(f"{table(each.ref)}.{each.name}")
            case Feeds() if each.properties.get("column_lineage") == "unavailable":
                result.lost.add(table(each.source))
            case Problem():
                result.problems.append(each.message)
    return result


def read(
    plan: PlanBuilder, sql: str, *columns: str, url: str = URL, params: Mapping[str, Any] | None = None
) -> Operation:
    made = plan.read(f"{url}:{sql}", *columns, name="LogicalRelation")
    plan.contents["operation"][-1]["params"] = dict(params or {})
    return made


def pushed(sql: str, *columns: str, **more: Any) -> Found:
    """A job that writes what a query gives; `columns` are the attributes that Spark made of its result."""
    plan = PlanBuilder()
    plan.write(LAKE, read(plan, sql, *columns, **more))
    return found_of(plan)


def test_a_query_leads_to_the_columns_of_its_tables() -> None:
    found = pushed(
        "(select s.id, s.price * s.qty as total, 'x' as kind from public.sales s"
        " join public.event e on s.eventid = e.eventid where e.day > '2020-01-01') q",
        "id",
        "total",
        "kind",
    )

    assert found == Found(
        {
            "public.sales.id -> id IDENTITY",
            "public.sales.price -> total TRANSFORMATION",
            "public.sales.qty -> total TRANSFORMATION",
        },
        {"public.sales.eventid JOIN", "public.event.eventid JOIN", "public.event.day FILTER"},
        {"total": "price * qty"},
        {f"public.sales.{each}" for each in ("id", "price", "qty", "eventid")}
        | {"public.event.eventid", "public.event.day"},
        set(),
        [],
    )


@pytest.mark.parametrize(
    ("sql", "columns", "flows"),
    [
        ("(select id from sales) q", ["id"], {"sales.id -> id IDENTITY"}),
        # The result's columns by position: the database's own names of expressions are not in the text.
        (
            "(select seller, sum(amount), count(*) from sales group by seller) q",
            ["seller", "sum", "count"],
            {"sales.seller -> seller IDENTITY", "sales.amount -> sum AGGREGATION"},
        ),
        (
            """(with x as (select seller, sum(amount) t from sales group by seller)
            select x.t, u.name from x join users u on u.id = x.seller) q""",
            ["t", "name"],
            {"sales.amount -> t AGGREGATION", "users.name -> name IDENTITY"},
        ),
        (
            """(select case when a > 1 then b else c end v,
            row_number() over (partition by g order by o) n from t) q""",
            ["v", "n"],
            {
                "t.a -> v CONDITIONAL",
                "t.b -> v TRANSFORMATION",
                "t.c -> v TRANSFORMATION",
                "t.g -> n WINDOW",
                "t.o -> n WINDOW",
            },
        ),
        (
            "(select id, a from t1 union all select id, upper(b) from t2) q",
            ["id", "a"],
            {
                "t1.id -> id IDENTITY",
                "t2.id -> id IDENTITY",
                "t1.a -> a IDENTITY",
                "t2.b -> a TRANSFORMATION",
            },
        ),
        ("(select a, b from t) q(x, y)", ["x", "y"], {"t.a -> x IDENTITY", "t.b -> y IDENTITY"}),
        ("(select 1 as one) q", ["one"], set()),
        (
            'select "Order-Id", o."Größe" from "Sales"."Or ders" o',
            ["Order-Id", "Größe"],
            {
                '"Sales"."Or ders".Order-Id -> Order-Id IDENTITY',
                '"Sales"."Or ders".Größe -> Größe IDENTITY',
            },
        ),
        (
            "public.sales s join public.event e on s.eventid = e.id2",
            ["saleid", "eventid", "id2", "name"],
            {
                "public.sales.saleid -> saleid IDENTITY",
                "public.sales.eventid -> eventid IDENTITY",
                "public.event.id2 -> id2 IDENTITY",
                "public.event.name -> name IDENTITY",
            },
        ),
    ],
)
def test_the_columns_of_a_query(sql: str, columns: list[str], flows: set[str]) -> None:
    found = pushed(sql, *columns)

    assert found.flows == flows
    assert (found.lost, found.problems) == (set(), [])


@pytest.mark.parametrize(
    ("url", "sql", "columns", "flows"),
    [
        (
            "jdbc:sqlserver://db:1433;databaseName=shop",
            "(select top 5 [Or-der], isnull(b, 0) as c from [dbo].[t] with (nolock)) q",
            ["Or-der", "c"],
            {'"dbo"."t".Or-der -> Or-der IDENTITY', '"dbo"."t".b -> c TRANSFORMATION'},
        ),
        (
            "jdbc:mysql://db/shop",
            "(select `a-b`, if(c > 1, d, 0) as e from `x`.`t`) q",
            ["a-b", "e"],
            {'"x"."t".a-b -> a-b IDENTITY', '"x"."t".c -> e CONDITIONAL', '"x"."t".d -> e TRANSFORMATION'},
        ),
        (
            "jdbc:oracle:thin:@//db:1521/svc",
            """(select e.ename, nvl(d.dname, 'x') dn, sysdate now from emp e, dept d
            where e.deptno = d.deptno(+)) q""",
            ["ENAME", "DN", "NOW"],
            {"emp.ename -> ENAME IDENTITY", "dept.dname -> DN TRANSFORMATION"},
        ),
        (
            "jdbc:postgresql://db/dev",
            "(select t.a::date as d, t.j ->> 'k' as k from s.t) q",
            ["d", "k"],
            {"s.t.a -> d TRANSFORMATION", "s.t.j -> k TRANSFORMATION"},
        ),
        (
            "jdbc:snowflake://x.snowflakecomputing.com/?db=d&schema=s",
            """(select a, iff(b, c, null) x from t
            qualify row_number() over (partition by a order by b) = 1) q""",
            ["A", "X"],
            {"t.a -> A IDENTITY", "t.b -> X CONDITIONAL", "t.c -> X TRANSFORMATION"},
        ),
    ],
)
def test_a_query_is_read_in_the_dialect_of_its_database(
    url: str, sql: str, columns: list[str], flows: set[str]
) -> None:
    found = pushed(sql, *columns, url=url)

    assert found.flows == flows
    assert (found.lost, found.problems) == (set(), [])


@pytest.mark.parametrize("option", ["query", "dbtable"])
def test_the_options_hold_the_query_that_the_address_lost(option: str) -> None:
    masked = f"{URL}?user=loader&password=*****"
    text = "select id, price from public.sales -- all"
    options = {"url": masked, option: text if option == "query" else f"({text}\n) q"}
    plan = PlanBuilder()
    made = plan.read(masked, "id", "price")
    plan.contents["operation"][-1]["params"] = options
    plan.write(LAKE, made)

    assert found_of(plan).flows == {
        "public.sales.id -> id IDENTITY",
        "public.sales.price -> price IDENTITY",
    }


@pytest.mark.parametrize(
    ("sql", "columns", "flows"),
    [
        ("(select * from t) q", ["a", "b"], {"t.a -> a IDENTITY", "t.b -> b IDENTITY"}),
        (
            "(select * from (select * from t where c > 1) i) q",
            ["a", "c"],
            {"t.a -> a IDENTITY", "t.c -> c IDENTITY"},
        ),
        (
            "(select upper(x) as u, t.*, e.name from t join e on t.i = e.j) q",
            ["u", "a", "i", "name"],
            {"t.a -> a IDENTITY", "t.i -> i IDENTITY", "e.name -> name IDENTITY"},
        ),
        (
            "(select t.*, 1 as k, e.* from t join e on t.i = e.j) q",
            ["a", "i", "b", "k", "c", "j"],
            {
                "t.a -> a IDENTITY",
                "t.i -> i IDENTITY",
                "t.b -> b IDENTITY",
                "e.c -> c IDENTITY",
                "e.j -> j IDENTITY",
            },
        ),
    ],
)
def test_all_columns_are_those_that_the_plan_names(sql: str, columns: list[str], flows: set[str]) -> None:
    found = pushed(sql, *columns)

    assert {each for each in found.flows if "-> u" not in each} == flows
    assert found.lost == (set() if "upper" not in sql else {"t", "e"})


def test_columns_between_two_tables_are_reported_and_the_others_remain() -> None:
    found = pushed("(select * from t join e on t.i = e.j) q", "a", "i", "between", "j", "b")

    assert found.flows == {
        "t.a -> a IDENTITY",
        "t.i -> i IDENTITY",
        "e.j -> j IDENTITY",
        "e.b -> b IDENTITY",
    }
    assert found.lost == {"t", "e"}
    assert found.problems == ["a query over JDBC has columns that cannot be traced to one table: between"]


def test_a_join_of_one_column_tables_by_using_is_not_guessed() -> None:
    found = pushed("(select * from keys join e using (id)) q", "id", "name", "day")

    assert found.flows == {"keys.id -> id IDENTITY"}
    assert found.lost == {"keys", "e"}


def test_names_without_a_table_in_a_join_are_reported() -> None:
    found = pushed("(select a.x, y from a join b on a.i = b.i) q", "x", "y")

    assert found.flows == {"a.x -> x IDENTITY"}
    assert found.lost == {"a", "b"}
    [problem] = found.problems
    assert problem == f"a query over JDBC names {OPEN}: y"


def test_what_spark_does_with_the_result_is_composed_with_the_query() -> None:
    plan = PlanBuilder()
    rows = read(plan, "(select id, price * qty as total from sales where day > 1) q", "id", "total")
    doubled = plan.alias("doubled", plan.call("Multiply", rows["total"], plan.literal(2)))
    renamed = plan.alias("amount", rows["total"])
    project = plan.operation("Project", rows, output=[rows["id"], doubled, renamed])
    plan.write(LAKE, project)

    found = found_of(plan)

    assert found.flows == {
        "sales.id -> id IDENTITY",
        "sales.price -> doubled TRANSFORMATION",
        "sales.qty -> doubled TRANSFORMATION",
        "sales.price -> amount TRANSFORMATION",
        "sales.qty -> amount TRANSFORMATION",
    }
    assert found.expressions == {"doubled": "total * 2", "amount": "price * qty"}
    assert found.influences == {"sales.day FILTER"}


def test_a_query_beside_a_table_and_a_file_keeps_the_columns_of_all() -> None:
    plan = PlanBuilder()
    rows = read(plan, "(select id, price from sales) q", "id", "price")
    named = plan.read(f"{URL}:public.event", "eventid", "name")
    file = plan.read("s3://raw/users", "userid")
    join = plan.operation("Join", rows, named, file, output=[rows["price"], named["name"], file["userid"]])
    plan.write(LAKE, join)

    header = {"_key": PLAN, "name": "job", "extra": {"dataTypes": list(plan.types.values())}}
    checked, _ = assemble(PLAN, {**plan.contents, "executionPlan": [header]}, EVERYTHING)
    elements = list(translate(checked))

    assert {
        (table(each.source), each.source_column, each.target_column)
        for each in elements
        if isinstance(each, FeedsColumn)
    } == {("sales", "price", "price"), ("public.event", "name", "name"), ("//raw/users", "userid", "userid")}
    typed = {table(each.ref) for each in elements if isinstance(each, Column) and each.properties}
    assert typed == {"public.event", "//raw/users", "//lake/out"}


def test_without_sqlglot_the_read_is_reported_and_its_columns_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)

    found = pushed("(select id from sales) q", "id")

    assert (found.flows, found.columns) == (set(), set())
    [problem] = found.problems
    assert "lineage-merge[columns]" in problem


def test_tpch_pushed_down_has_the_column_edges_that_are_known(data: Path) -> None:
    """Of queries that say of each column whose it is, all edges; of the text as it is, no wrong one."""
    truth = json.loads((data / "truth" / "tpch_columns.json").read_text())
    schema: dict[str, object] = {
        each.this.name: {column.name: "text" for column in each.expressions}
        for create in parse(TPCH_DDL)
        if create is not None
        for each in [create.this]
    }
    for name, text in TPCH.items():
        known = {f"{source}.{column} -> {target}" for source, column, target in truth[name]}
        parsed = parse(text)[0]
        assert parsed is not None
        tree = qualify(parsed, schema=schema, quote_identifiers=False, identify=False)
        assert isinstance(tree, exp.Query)
        sql = tree.sql("redshift")

        found = pushed(f"({sql}) q", *(each.alias_or_name for each in tree.selects))
        unqualified = pushed(f"({text}) q", *(each.alias_or_name for each in tree.selects))

        assert {each.rpartition(" ")[0] for each in found.flows} == known, name
        assert found.problems == [], name
        assert {each.rpartition(" ")[0] for each in unqualified.flows} <= known, name
