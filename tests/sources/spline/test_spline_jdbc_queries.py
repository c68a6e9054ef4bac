"""JDBC reads: the tables behind a query, and addresses with masked passwords."""

import sys
from typing import Any

import pytest

from lineage_merge import naming
from lineage_merge.merge import dataset_resolver, identity_rules
from lineage_merge.model.elements import Dataset, Element, Feeds, Problem, Reference
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble
from lineage_merge.sources.spline.jdbc_queries import Sources, redact_connection, sources
from lineage_merge.sources.spline.translator import translate
from tests.record_reading import flows_of, problems_of, records_of
from tests.spline_documents import Read, SplineDatabase

HOST = "tickit-wh.abc123.us-east-1.redshift.amazonaws.com:5439"
URL = f"jdbc:redshift://{HOST}/dev"
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
MASKED = f"{URL}?user=loader&password=*****"
LAKE = "s3://lake/out"


def datasets(uri: str, params: dict[str, Any] | None = None) -> set[str]:
    """Return ``namespace|name`` of all datasets of a read."""
    return {"|".join(naming.name_uri(each).name) for each in sources(uri, params).uris}


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("(select * from public.sales) q", {"public.sales"}),
        ("(SELECT * FROM sales) AS q", {"public.sales"}),
        ("(select s.a from public.sales s join event e on s.i = e.i) q", {"public.sales", "public.event"}),
        ("( select a from x.s union all (select b from x.t) ) q", {"x.s", "x.t"}),
        (
            "(select a, (select max(b) from x.t) from x.s where c in (select d from x.u)) q",
            {"x.s", "x.t", "x.u"},
        ),
        # A name of the query's own hides the table of that name, where it holds.
        ("(with s as (select * from x.s) select * from s join x.t on true) q", {"x.s", "x.t"}),
        ("(with sales as (select * from sales) select * from sales) q", {"public.sales"}),
        (
            "(with recursive n as (select 1 i union all select i from n join x.m on true) select * from n)",
            {"x.m"},
        ),
        (
            """(select * from "Other"."Sales Of May" where t::date = '2026' and a = ':select') q""",
            {"other.sales of may"},
        ),
        ("(select * from lake.public.sales) q", {"LAKE"}),
        ("public.sales s join public.event e on s.i = e.i", {"public.sales", "public.event"}),
        ("(public.sales) q", {"public.sales"}),
        ("(select i from generate_series(1, 3) g(i), x.s) q", {"x.s"}),
        ("(select 1 as a) q", set()),
        ("select * from public.sales", {"public.sales"}),
    ],
)
def test_a_query_reads_its_tables_and_no_others(sql: str, tables: set[str]) -> None:
    expected = {
        f"{WAREHOUSE}|lake.public.sales" if table == "LAKE" else f"{WAREHOUSE}|dev.{table}"
        for table in tables
    }

    assert datasets(f"{URL}:{sql}") == expected
    assert sources(f"{URL}:{sql}").is_query


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (
            "jdbc:sqlserver://db:1433;databaseName=shop:(select top 5 * from [dbo].[Or ders] with (nolock))",
            {"mssql://db:1433|shop.dbo.or ders"},
        ),
        ("jdbc:mysql://db/shop:(select * from `a-b`.`t` force index (i)) q", {"mysql://db:3306|a-b.t"}),
        (
            "jdbc:oracle:thin:@//db:1521/svc:(select * from hr.emp e, dual where e.x = 1 (+)) q",
            {"oracle://db:1521|SVC.HR.EMP"},
        ),
        (
            "jdbc:postgresql://db/dev:(select distinct on (a) a from s.t order by a) q",
            {"postgres://db:5432|dev.s.t"},
        ),
    ],
)
def test_a_query_is_read_in_the_databases_own_dialect(uri: str, expected: set[str]) -> None:
    assert datasets(uri) == expected


def test_a_table_is_its_own_source() -> None:
    for uri in (f"{URL}:public.event", f"{URL}:public.event e", "s3://lake/a", "file:/data/b", f"{URL}"):
        assert sources(uri, {}) == Sources((uri,))
    assert sources(f"{URL}:public.event", {"url": URL, "dbtable": "public.event"}).uris == (
        f"{URL}:public.event",
    )


@pytest.mark.parametrize(
    ("params", "tables", "is_query"),
    [
        ({"url": MASKED, "dbtable": "public.sales"}, {"public.sales"}, False),
        ({"dbtable": "public.sales"}, {"public.sales"}, False),
        ({"url": MASKED, "query": "select * from x.s join x.t using (i)"}, {"x.s", "x.t"}, True),
        ({"url": MASKED, "DbTable": "(select * from x.s) q"}, {"x.s"}, True),
    ],
)
def test_the_options_have_what_password_masking_removed(
    params: dict[str, str], tables: set[str], is_query: bool
) -> None:
    assert datasets(MASKED, params) == {f"{WAREHOUSE}|dev.{table}" for table in tables}
    assert sources(MASKED, params).is_query is is_query


def test_the_options_show_where_a_query_begins() -> None:
    query = "(/* at 10:30 */ select * from x.s) q"

    assert datasets(f"{URL}:{query}", {"dbtable": query}) == {f"{WAREHOUSE}|dev.x.s"}
    # Spark puts a `query` in brackets, under a name of its own.
    inner = "/* at 10:30 */ select * from x.s -- all"
    assert datasets(f"{URL}:({inner}) SPARK_GEN_SUBQ_0", {"query": inner}) == {f"{WAREHOUSE}|dev.x.s"}


@pytest.mark.parametrize(
    "sql",
    [
        "(select from where) q",
        "(select * from s; drop table t) q",
        "(insert into t select * from s) q",
        "(select * from 's3cret) q",
    ],
)
def test_an_unparsable_query_is_reported_without_its_text(sql: str) -> None:
    found = sources(f"{URL}:{sql}")

    assert found.uris == ()
    assert found.problem == "a query whose tables are unknown: cannot be parsed"


def test_without_sqlglot_a_query_is_reported_and_a_table_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)

    assert "lineage-merge[columns]" in sources(f"{URL}:(select * from x.s) q").problem
    assert datasets(f"{URL}:x.s") == {f"{WAREHOUSE}|dev.x.s"}


def test_a_message_shows_the_connection_only() -> None:
    assert (
        redact_connection(f"{URL}?user=me&password=hunter2:(select 'k' from t) q")
        == f"{URL}?user=me&password=*****"
    )


def plan_of(*uris: str, params: dict[str, Any] | None = None) -> list[Element]:
    spline = SplineDatabase()
    key = spline.plan(
        "load", reads=[Read([uri], "jdbc", name="LogicalRelation") for uri in uris], writes=LAKE
    )
    for operation in spline.contents["operation"]:
        if operation["type"] == "Read":
            operation["params"] = params or {}
    plan, rejections = assemble(key, spline.contents, EVERYTHING)
    assert rejections == []
    return list(translate(plan))


def test_each_table_of_a_query_feeds_the_target() -> None:
    found = plan_of(f"{URL}:(select s.a from public.sales s join public.event e on s.i = e.i) q")

    out = Reference("", LAKE, "load")
    assert {(each.source.name, each.target) for each in found if isinstance(each, Feeds)} == {
        (f"{URL}:public.sales", out),
        (f"{URL}:public.event", out),
    }
    assert {each.ref.name for each in found if isinstance(each, Dataset)} == {
        f"{URL}:public.sales",
        f"{URL}:public.event",
        LAKE,
    }


def test_an_unparsable_query_feeds_nothing_and_is_reported_at_its_operation() -> None:
    found = plan_of(f"{URL}?password=hunter2:(selec * from s where) q")

    assert [each for each in found if isinstance(each, Feeds)] == []
    [problem] = [each for each in found if isinstance(each, Problem)]
    assert problem.kind == "not-joined"
    assert problem.document.startswith("executionPlan/")
    assert problem.field.startswith(problem.document.partition("/")[2])
    assert problem.message.startswith(f"{URL}?password=*****: a query")


def test_an_address_whose_table_was_masked_is_reported_and_is_no_dataset() -> None:
    rows = list(dataset_resolver.DatasetResolver("dev", identity_rules.Rules()).records(plan_of(MASKED)))

    assert flows_of(rows) == set()
    assert {row.ref for row in records_of(Dataset, rows)} == {"dev|s3://lake|out"}
    assert problems_of(rows) == {("not-joined", MASKED, "", f"{MASKED}: password masking removed its table")}
