"""Tables in compiled SQL that the manifest lacks: undeclared, of another target, under two ids."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from lineage_merge.model.elements import (
    Column,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Problem,
    Reference,
)
from lineage_merge.sources.dbt.column_elements import column_elements
from lineage_merge.sources.dbt.columns import column_lineage
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.translator import dataset_references, translate
from tests.dbt_column_project import Project, edges, problems

HOST = "postgres://wh:5432"
WHERE = "manifest.json"


def elements(project: Project) -> list[Element]:
    document = {"metadata": project.metadata, "nodes": project.nodes, "sources": project.sources}
    manifest, rejected = read_manifest(WHERE, json.dumps(document), with_columns=True)
    assert rejected == []
    references = dataset_references(manifest, HOST)
    lineage = column_lineage(manifest, project.catalog)
    return [
        *translate(manifest, HOST, WHERE),
        *column_elements(manifest, references, lineage, HOST, WHERE),
    ]


def feeds(found: Iterable[Element]) -> set[tuple[str, str, bool]]:
    """(from, to, undeclared), each required to come once."""
    listed = [
        (each.source.name, each.target.name, each.properties.get("undeclared") == "true")
        for each in found
        if isinstance(each, Feeds)
    ]
    assert len(listed) == len(set(listed))
    return set(listed)


def column_feeds(found: Iterable[Element]) -> set[tuple[str, str, str, str]]:
    return {
        (each.source.name, each.source_column, each.target.name, each.target_column)
        for each in found
        if isinstance(each, FeedsColumn)
    }


def notices(found: Iterable[Element]) -> list[tuple[str, str]]:
    return [(each.document, each.message) for each in found if isinstance(each, Problem)]


def test_a_known_table_without_ref_or_source_feeds_the_model_and_is_marked_and_reported() -> None:
    project = Project("postgres").source("t", "a").source("u", "b").model("s", "select 1 as z")
    project.model("m", "select a, b, z from db.raw.t, db.raw.u, db.mart.s", "source.raw.t")
    found = elements(project)

    assert feeds(found) == {
        ("db.raw.t", "db.mart.m", False),
        ("db.raw.u", "db.mart.m", True),
        ("db.mart.s", "db.mart.m", True),
    }
    assert column_feeds(found) == {
        ("db.raw.t", "a", "db.mart.m", "a"),
        ("db.raw.u", "b", "db.mart.m", "b"),
        ("db.mart.s", "z", "db.mart.m", "z"),
    }
    assert notices(found) == [
        (f"{WHERE}: model.p.m", "model.p.m reads db.mart.s in its SQL without ref or source"),
        (f"{WHERE}: model.p.m", "model.p.m reads db.raw.u in its SQL without ref or source"),
    ]


def test_a_table_that_the_manifest_does_not_have_feeds_the_model_with_its_columns() -> None:
    project = Project("postgres").source("t", "a")
    project.model("m", "select a, O.z + 1 as v from db.raw.t join other.Place.o on o.k = t.a", "source.raw.t")
    found = elements(project)

    assert feeds(found) == {("db.raw.t", "db.mart.m", False), ("other.place.o", "db.mart.m", True)}
    assert column_feeds(found) == {
        ("db.raw.t", "a", "db.mart.m", "a"),
        ("other.place.o", "z", "db.mart.m", "v"),
    }
    (dataset,) = [each for each in found if isinstance(each, Dataset) and each.ref.name == "other.place.o"]
    assert (dataset.ref.namespace, dataset.label) == (HOST, "table")
    assert notices(found) == [
        (f"{WHERE}: model.p.m", "model.p.m reads other.place.o in its SQL without ref or source")
    ]
    assert problems(project.read()) == []


@pytest.mark.parametrize(
    ("adapter", "written", "name"),
    [
        ("postgres", "stage.o", "db.stage.o"),  # a session has one database, and all models are in it
        ("postgres", "o", "db.mart.o"),  # and all are in one schema
        ("snowflake", "stage.o", "DB.STAGE.O"),
        ("postgres", '"Stage"."O"', "db.Stage.O"),
        ("bigquery", "`db.stage.O`", "db.stage.O"),
    ],
)
def test_a_shorter_undeclared_name_is_completed_where_all_is_built_in_one_place(
    adapter: str, written: str, name: str
) -> None:
    found = elements(Project(adapter).model("m", f"select a from {written}"))
    assert {source for source, _, _ in feeds(found)} == {name}


def test_a_shorter_undeclared_name_stays_as_it_is_where_models_are_built_in_several_places() -> None:
    project = Project("postgres").model("m", "select a from o join stage.p on p.b = o.b")
    project.model("n", "select 1 as x", schema="other", relation_name="db2.other.n", database="db2")
    assert {source for source, _, _ in feeds(elements(project))} == {"o", "stage.p"}


@pytest.mark.parametrize(
    ("adapter", "written", "path"),
    [
        ("duckdb", "'s3://lake/raw/t.parquet'", "s3://lake/raw/t.parquet"),
        ("duckdb", "'/srv/t.csv'", "/srv/t.csv"),
        ("spark", "parquet.`s3://lake/raw/t`", "s3://lake/raw/t"),
    ],
)
def test_an_undeclared_path_is_that_path(adapter: str, written: str, path: str) -> None:
    found = elements(Project(adapter).model("m", f"select a from {written}"))
    assert [each.source for each in found if isinstance(each, Feeds)] == [Reference("", path)]


@pytest.mark.parametrize("written", ["information_schema.columns", "'data/t.csv'", "dual", "range(3)"])
def test_what_is_no_dataset_feeds_nothing(written: str) -> None:
    found = elements(Project("duckdb").model("m", f"select 1 as a from {written}"))
    assert feeds(found) == set()


def test_a_table_below_an_ephemeral_model_is_declared() -> None:
    project = Project("postgres").source("t", "a")
    project.model("e", "select a from db.raw.t", "source.raw.t", config={"materialized": "ephemeral"})
    sql = "with __dbt__cte__e as (select a from db.raw.t) select a, b from __dbt__cte__e, db.raw.x"
    found = elements(project.model("m", sql, "model.e"))
    assert feeds(found) == {("db.raw.t", "db.mart.m", False), ("db.raw.x", "db.mart.m", True)}


def test_an_undeclared_table_of_an_ephemeral_model_feeds_its_reader() -> None:
    project = Project("postgres").model("e", "select a from x.y.z", config={"materialized": "ephemeral"})
    found = elements(project.model("m", "select a from __dbt__cte__e", "model.e"))
    assert feeds(found) == {("x.y.z", "db.mart.m", True)}
    assert column_feeds(found) == {("x.y.z", "a", "db.mart.m", "a")}


def test_a_source_that_a_model_builds_has_the_columns_of_the_model() -> None:
    project = Project("postgres").source("t", "a b")
    project.source("s", schema="mart", relation_name='"db"."mart"."s"')
    project.model("s", "select a as x, b as y from db.raw.t", "source.raw.t")
    project.model("m", "select * from db.mart.s", "source.raw.s")
    found = elements(project)

    assert feeds(found) == {("db.raw.t", "db.mart.s", False), ("db.mart.s", "db.mart.m", False)}
    assert edges(project.read()) == {"s.x -> x IDENTITY", "s.y -> y IDENTITY"}
    assert column_feeds(found) == {
        ("db.raw.t", "a", "db.mart.s", "x"),
        ("db.raw.t", "b", "db.mart.s", "y"),
        ("db.mart.s", "x", "db.mart.m", "x"),
        ("db.mart.s", "y", "db.mart.m", "y"),
    }
    assert notices(found) == []
    names = {each.name for each in found if isinstance(each, Column) and each.ref.name == "db.mart.m"}
    assert names == {"x", "y"}


def test_a_relation_that_two_packages_declare_is_one() -> None:
    project = Project("postgres").source("t", "a").source("u", identifier="t", relation_name="db.raw.t")
    project.model("m", "select * from raw.t", "source.raw.u")
    found = elements(project)
    assert feeds(found) == {("db.raw.t", "db.mart.m", False)}
    assert column_feeds(found) == {("db.raw.t", "a", "db.mart.m", "a")}


def deferred(*parents: str, sql: str = "select x from prod.prod_mart.s") -> Project:
    """As `dbt compile --select m --defer` writes it: the other models are not compiled."""
    project = Project("postgres").source("t", "a").model("s", None, "source.raw.t")
    return project.model("m", sql, *(parents or ("model.s",)))


@pytest.mark.parametrize(
    "sql",
    ["select x from prod.prod_mart.s", "with s as (select * from prod.prod_mart.s) select x from s"],
)
def test_sql_that_names_the_production_relation_is_resolved_and_reported(sql: str) -> None:
    found = elements(deferred(sql=sql))

    assert feeds(found) == {("db.raw.t", "db.mart.s", False), ("db.mart.s", "db.mart.m", False)}
    assert column_feeds(found) == {("db.mart.s", "x", "db.mart.m", "x")}
    assert (
        f"{WHERE}: model.p.m",
        "model.p.m reads prod.prod_mart.s, which was taken for db.mart.s of another target (--defer)",
    ) in notices(found)


def test_a_production_relation_of_another_name_is_reported_with_the_expected_one() -> None:
    found = elements(deferred(sql="select x from prod.mart.prod_s"))

    assert feeds(found) == {
        ("db.raw.t", "db.mart.s", False),
        ("db.mart.s", "db.mart.m", False),
        ("prod.mart.prod_s", "db.mart.m", True),
    }
    message = (
        "model.p.m reads prod.mart.prod_s in its SQL without ref or source;"
        " its SQL does not read db.mart.s, which it refers to"
    )
    assert (f"{WHERE}: model.p.m", message) in notices(found)


def test_a_table_that_only_ends_like_a_model_that_the_sql_reads_is_undeclared() -> None:
    found = elements(deferred(sql="select s.x, p.y from db.mart.s join raw2.s p on p.k = s.k"))
    assert feeds(found) == {
        ("db.raw.t", "db.mart.s", False),
        ("db.mart.s", "db.mart.m", False),
        ("db.raw2.s", "db.mart.m", True),
    }


def test_of_two_models_with_the_name_of_the_production_relation_none_is_taken() -> None:
    project = deferred("model.s", "model.s2")
    more: dict[str, Any] = {"schema": "mart2", "alias": "s", "relation_name": "db.mart2.s"}
    found = elements(project.model("s2", None, **more))
    assert ("prod.prod_mart.s", "db.mart.m", True) in feeds(found)
    assert any(
        "does not read db.mart.s, db.mart2.s, which it refers to" in text for _, text in notices(found)
    )
