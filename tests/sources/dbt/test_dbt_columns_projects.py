"""Column lineage across models: knowledge about sources, and the effect of malformed models."""

import json

import pytest

from lineage_merge.model.errors import DocumentError
from lineage_merge.sources.dbt.catalog import CatalogColumn, read_catalog
from tests.dbt_column_project import Project, edges, influences, problems


def names(project: Project, unique_id: str) -> set[str]:
    return {column.name for column in project.read()[unique_id].columns}


def test_everything_from_an_unknown_source_invents_no_column() -> None:
    project = Project().source("t").model("m", "select * from db.raw.t")
    lineage = project.read()
    assert edges(lineage) == set()
    assert {unique_id for unique_id, found in lineage.items() if found.columns} == set()
    assert problems(lineage) == []


def test_a_column_that_a_reader_names_runs_back_through_every_star() -> None:
    project = Project().source("t").model("s", "select * from db.raw.t")
    project.model("m", "with q as (select * from db.mart.s) select price * 2 as v from q", "model.s")
    lineage = project.read()
    assert edges(lineage) == {"s.price -> v TRANSFORMATION"}
    assert edges(lineage, "s") == {"t.price -> price IDENTITY"}


def test_a_column_that_one_reader_names_reaches_the_other_readers_of_everything() -> None:
    project = (
        Project().source("t").model("a", "select * from db.raw.t").model("b", "select price from db.raw.t")
    )
    assert edges(project.read(), "a") == {"t.price -> price IDENTITY"}


def test_a_star_does_not_bring_back_what_it_leaves_out() -> None:
    project = Project().source("t").model("a", "select * exclude (price) from db.raw.t")
    project.model("b", "select price, qty from db.raw.t")
    assert edges(project.read(), "a") == {"t.qty -> qty IDENTITY"}


def test_declared_columns_are_not_all_columns() -> None:
    project = Project().source("t", "a", complete=False).model("m", "select * from db.raw.t")
    project.model("r", "select b from db.mart.m", "model.m")
    assert edges(project.read()) == {"t.a -> a IDENTITY", "t.b -> b IDENTITY"}


def test_an_unqualified_name_that_two_unknown_sources_may_have_is_reported_and_not_guessed() -> None:
    project = Project().source("t").source("u")
    project.model("m", "select v from db.raw.t join db.raw.u on t.id = u.id")
    lineage = project.read()
    assert edges(lineage) == set()
    assert influences(lineage) == {"t.id JOIN", "u.id JOIN"}
    ((unique_id, message),) = problems(lineage)
    assert unique_id == "model.p.m"
    assert message.endswith(": v")


def test_an_unqualified_name_belongs_to_the_unknown_source_when_the_other_is_known() -> None:
    project = Project().source("t", "id a").source("u")
    project.model("m", "select v from db.raw.t join db.raw.u on t.id = u.id")
    assert edges(project.read()) == {"u.v -> v IDENTITY"}


def test_a_correlated_name_is_not_given_to_the_inner_table() -> None:
    project = Project().source("t").source("u")
    project.model("m", "select t.a from db.raw.t where exists (select 1 from db.raw.u where u.id = tid)")
    lineage = project.read()
    assert influences(lineage) == {"u.id FILTER"}
    assert names(project, "source.p.raw.u") == {"id"}


def test_a_model_that_cannot_be_parsed_costs_only_its_own_columns() -> None:
    project = Project().source("t", "a b")
    project.model("bad", "select from where )(", "source.raw.t").model("other", "select a from db.raw.t")
    project.model("m", "select v from db.mart.bad", "model.bad")
    lineage = project.read()
    assert edges(lineage, "other") == {"t.a -> a IDENTITY"}
    assert edges(lineage) == {"bad.v -> v IDENTITY"}
    assert edges(lineage, "bad") == set()
    assert [unique_id for unique_id, _ in problems(lineage)] == ["model.p.bad"]
    assert "\x1b" not in problems(lineage)[0][1]


@pytest.mark.parametrize(
    ("sql", "more"),
    [
        (None, {}),
        ("", {}),
        ("def model(dbt, session): return dbt.ref('t')", {"language": "python"}),
        ("insert into x select 1", {}),
        ("select 1 as a; select 2 as b", {}),
    ],
)
def test_a_model_without_readable_sql_is_reported(sql: str | None, more: dict[str, str]) -> None:
    project = Project().source("t", "a").model("m", sql, **more)
    project.model("r", "select a from db.raw.t")
    lineage = project.read()
    assert [unique_id for unique_id, _ in problems(lineage)] == ["model.p.m"]
    assert edges(lineage, "r") == {"t.a -> a IDENTITY"}


def test_an_ephemeral_model_leaves_no_column_of_its_own() -> None:
    project = Project().source("t", "id a b")
    project.model(
        "e", "select id, a + b as s from db.raw.t where b > 0", config={"materialized": "ephemeral"}
    )
    project.model(
        "m",
        "with __dbt__cte__e as (select id, a + b as s from db.raw.t where b > 0) select s from __dbt__cte__e",
        "model.e",
    )
    lineage = project.read()
    assert edges(lineage) == {"t.a -> s TRANSFORMATION", "t.b -> s TRANSFORMATION"}
    assert influences(lineage) == {"t.b FILTER"}
    assert lineage["model.p.e"].columns == ()


def test_an_ephemeral_model_that_was_not_inlined_is_read_from_its_own_sql() -> None:
    project = Project().source("t", "id a")
    project.model("e", "select a as z from db.raw.t", config={"materialized": "ephemeral"})
    project.model("m", "select z from __dbt__cte__e", "model.e")
    assert edges(project.read()) == {"t.a -> z IDENTITY"}


def test_what_an_incremental_model_reads_of_itself_is_no_source() -> None:
    project = Project().source("t", "a at")
    project.model("m", "select a, at from db.raw.t where at > (select max(at) from db.mart.m)")
    lineage = project.read()
    assert edges(lineage) == {"t.a -> a IDENTITY", "t.at -> at IDENTITY"}
    assert influences(lineage) == {"t.at FILTER"}


@pytest.mark.parametrize(
    ("adapter", "relation", "written", "same"),
    [
        ("redshift", '"db"."raw"."T"', "DB.raw.t", True),
        ("duckdb", '"db"."raw"."t"', '"DB".RAW."T"', True),
        ("snowflake", "DB.raw.T", "db.RAW.t", True),
        ("snowflake", 'DB.RAW."t"', "db.raw.t", False),
        ("postgres", '"db"."raw"."T"', "db.raw.t", False),
        ("postgres", '"db"."raw"."t"', "db.RAW.T", True),
        ("bigquery", "`db`.`raw`.`t`", "`db.raw.t`", True),
        ("bigquery", "`db`.`raw`.`t`", "db.raw.T", False),
        ("spark", "raw.t", "RAW.T", True),
        ("redshift", '"db"."raw"."t"', "raw.t", True),
    ],
)
def test_tables_compare_as_the_platform_does(adapter: str, relation: str, written: str, same: bool) -> None:
    project = Project(adapter).source("t", "a", relation_name=relation).model("m", f"select a from {written}")
    sources = {flow.source for flow in project.read()["model.p.m"].flows}
    assert (sources == {"source.p.raw.t"}) is same


def test_a_table_without_a_schema_that_two_datasets_could_be_is_reported() -> None:
    project = Project().source("t", "a").model("t", "select 1 as a", schema="x", relation_name="db.x.t")
    project.model("m", "select a from t")  # built in another schema: that of the session is unknown
    lineage = project.read()
    assert edges(lineage) == set()
    assert [unique_id for unique_id, _ in problems(lineage)] == ["model.p.m"]


def test_a_union_of_unknown_sides_has_only_the_side_that_names_the_columns() -> None:
    project = Project().source("t").source("u")
    project.model("s", "select *, 't' as src from db.raw.t union all select *, 'u' from db.raw.u")
    project.model("m", "select a from db.mart.s", "model.s")
    lineage = project.read()
    assert edges(lineage, "s") == {"t.a -> a IDENTITY"}
    assert [unique_id for unique_id, _ in problems(lineage)] == ["model.p.s"]


def test_columns_of_a_model_take_the_spelling_and_order_of_the_catalog() -> None:
    project = (
        Project("snowflake").source("t", "A B").model("m", "select b as y, count(*), a as x from db.raw.t")
    )
    project.catalog["model.p.m"] = project.catalog["source.p.raw.t"] + project.catalog["source.p.raw.t"][:1]
    project.catalog["model.p.m"] = tuple(
        column._replace(name=name)
        for column, name in zip(project.catalog["model.p.m"], ("Y", "N", "X"), strict=True)
    )
    lineage = project.read()
    assert edges(lineage) == {"t.B -> Y IDENTITY", "t.A -> X IDENTITY"}
    assert [(column.name, column.position) for column in lineage["model.p.m"].columns] == [
        ("Y", 0),
        ("N", 1),
        ("X", 2),
    ]


def test_descriptions_and_types_come_from_the_project_where_the_catalog_has_none() -> None:
    declared = {"A": {"name": "A", "description": "what was paid", "data_type": "int"}}
    project = Project().source("t", "a").model("m", "select a from db.raw.t", columns=declared)
    (column,) = project.read()["model.p.m"].columns
    assert (column.name, column.description, column.data_type, column.position) == (
        "a",
        "what was paid",
        "int",
        0,
    )


def test_models_are_read_after_what_they_depend_on_whatever_their_names() -> None:
    project = Project().source("t", "a b")
    project.model("z", "select a as z1 from db.raw.t").model("y", "select * from db.mart.z", "model.z")
    project.model("m", "select * from db.mart.y", "model.y")
    assert edges(project.read()) == {"y.z1 -> z1 IDENTITY"}


def test_a_catalog_of_an_unknown_version_is_rejected() -> None:
    version = "https://schemas.getdbt.com/dbt/catalog/v9.json"
    text = json.dumps({"metadata": {"dbt_schema_version": version}, "nodes": {}, "sources": {}})
    with pytest.raises(DocumentError, match="catalog/v9"):
        read_catalog("catalog.json", text)


def test_a_broken_entry_of_a_catalog_is_left_out_and_named() -> None:
    broken = {"columns": {"x": {"name": "x", "type": "INT", "index": "first"}}}
    right = {"columns": {"x": {"name": "x", "type": "INT", "index": 1}}}
    version = "https://schemas.getdbt.com/dbt/catalog/v1.json"
    text = json.dumps(
        {
            "metadata": {"dbt_schema_version": version},
            "nodes": {"model.p.a": broken, "model.p.b": right},
            "sources": {},
        }
    )
    catalog, (problem,) = read_catalog("catalog.json", text)
    assert list(catalog.tables) == ["model.p.b"]
    assert problem.field == "nodes.model.p.a.columns.x.index"


def test_a_model_that_starts_with_its_own_rows_takes_columns_from_the_others() -> None:
    sql = (
        "with old as (select * from db.mart.m) select * from old union all select a, b + 1 as b from db.raw.t"
    )
    project = Project().source("t", "a b").model("m", sql)
    assert edges(project.read()) == {"t.a -> a IDENTITY", "t.b -> b TRANSFORMATION"}
    project.catalog["model.p.m"] = (CatalogColumn("a", "", ""), CatalogColumn("b", "", ""))
    assert edges(project.read()) == {"t.a -> a IDENTITY", "t.b -> b TRANSFORMATION"}


def test_a_column_that_has_no_name_in_sql_is_reported_unless_a_catalog_names_it() -> None:
    project = Project().source("t", "a b").model("m", "select max(a), b from db.raw.t group by 2")
    lineage = project.read()
    assert edges(lineage) == {"t.b -> b IDENTITY"}
    assert [unique_id for unique_id, _ in problems(lineage)] == ["model.p.m"]
    # Its place among the others is not known then.
    assert [(column.name, column.position) for column in lineage["model.p.m"].columns] == [("b", None)]
    project.catalog["model.p.m"] = (CatalogColumn("max(a)", "", ""), CatalogColumn("b", "", ""))
    assert edges(project.read()) == {"t.a -> max(a) AGGREGATION", "t.b -> b IDENTITY"}


def test_an_unknown_platform_is_read_as_standard_sql_and_reported_once() -> None:
    project = Project("someday").source("t", "a")
    project.model("m", "select a from db.raw.t").model("n", "select a from db.raw.t")
    lineage = project.read()
    assert edges(lineage) == {"t.a -> a IDENTITY"}
    assert len(problems(lineage)) == 1


def test_the_same_project_in_another_order_gives_the_same() -> None:
    first = Project().source("t").source("u")
    first.model("a", "select * from db.raw.t").model("b", "select x, y from db.mart.a", "model.a")
    first.model("m", "select a.z, u.k from db.mart.a a join db.raw.u u on a.id = u.id", "model.a")
    second = Project().source("u").source("t")
    second.model("m", "select a.z, u.k from db.mart.a a join db.raw.u u on a.id = u.id", "model.a")
    second.model("b", "select x, y from db.mart.a", "model.a").model("a", "select * from db.raw.t")
    assert first.read() == second.read()


@pytest.mark.parametrize("dual", ["dual", "DUAL", "sys.dual"])
def test_dual_is_no_table(dual: str) -> None:
    project = (
        Project("oracle")
        .source("t", "a")
        .model("m", f"select (select 1 from {dual}) x, a from db.raw.t, {dual}")
    )
    lineage = project.read()
    assert edges(lineage) == {"t.a -> a IDENTITY"}
    assert problems(lineage) == []


@pytest.mark.parametrize("adapter", ["databricks", "spark"])
def test_tables_of_databricks_and_spark_are_found_whatever_their_case(adapter: str) -> None:
    project = Project(adapter).source("t", "Id", relation_name="`db`.`Raw`.`Orders`")
    project.model("m", "select ID from DB.raw.`ORDERS`")
    assert edges(project.read()) == {"t.Id -> ID IDENTITY"}
