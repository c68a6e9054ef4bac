"""Translation of one plan, without Spark."""

from typing import Any

import pytest

from lineage_merge.model.elements import (
    Alias,
    Authority,
    Dataset,
    Element,
    Feeds,
    Job,
    JobKey,
    Problem,
    Reference,
    Writes,
)
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble
from lineage_merge.sources.spline.translator import translate
from tests.spline_documents import Read, SplineDatabase, table_structure, table_text

JOB = JobKey("spark", "load")


def elements(spline: SplineDatabase, key: str, applied_by: str = "") -> set[Any]:
    """What a plan says, in a form that can be compared; datasets apart (`datasets`)."""
    return {_comparable(each) for each in _translated(spline, key, applied_by)}


def _translated(spline: SplineDatabase, key: str, applied_by: str = "") -> list[Element]:
    plan, rejections = assemble(key, spline.contents, EVERYTHING)
    assert rejections == []
    return list(translate(plan, applied_by))


def _comparable(element: Element) -> Any:
    match element:
        case Feeds(job, source, target, properties, _):
            return (job, source, target, properties["write_mode"])
        case Dataset(ref, authority, label, properties, _):
            return ("dataset", ref, authority, label, tuple(sorted(properties.items())))
        case Job(key, _, properties):
            return ("job", key, tuple(sorted(properties.items())))
        case _:
            return element


def flows(spline: SplineDatabase, key: str) -> set[tuple[Reference, Reference]]:
    return {(each.source, each.target) for each in _translated(spline, key) if isinstance(each, Feeds)}


def aliases(spline: SplineDatabase, key: str) -> set[Alias[Reference]]:
    return {each for each in _translated(spline, key) if isinstance(each, Alias)}


def at(uri: str) -> Reference:
    return Reference("", uri, "load")


def test_everything_that_is_read_feeds_what_is_written() -> None:
    spline = SplineDatabase()
    key = spline.plan(
        "load", reads=["s3a://lake/sales", Read(["s3://lake/event"], "csv")], writes="s3://mart/x"
    )

    mart = at("s3://mart/x")
    assert elements(spline, key) == {
        ("job", JOB, (("framework", "spark 3.5.9"),)),
        Writes(JOB, mart),
        (JOB, at("s3a://lake/sales"), mart, "overwrite"),
        (JOB, at("s3://lake/event"), mart, "overwrite"),
        ("dataset", mart, Authority.BUILDER, None, (("format", "parquet"),)),
        ("dataset", at("s3a://lake/sales"), Authority.READER, None, (("format", "parquet"),)),
        ("dataset", at("s3://lake/event"), Authority.READER, None, (("format", "csv"),)),
    }


def test_an_append_is_distinguished() -> None:
    spline = SplineDatabase()
    key = spline.plan("load", reads=["s3://lake/a"], writes="s3://mart/x", append=True)

    assert (JOB, at("s3://lake/a"), at("s3://mart/x"), "append") in elements(spline, key)


def test_every_input_of_one_read_is_a_source_even_part_files() -> None:
    spline = SplineDatabase()
    parts = [f"s3://lake/sales/part-0000{number}.parquet" for number in range(3)]
    key = spline.plan("load", reads=[Read(parts), Read([])], writes="s3://mart/x")

    assert flows(spline, key) == {(at(part), at("s3://mart/x")) for part in parts}


def test_a_write_of_constants_has_a_job_and_no_source() -> None:
    spline = SplineDatabase()
    key = spline.plan("load", writes="s3://mart/x")

    assert flows(spline, key) == set()
    assert Writes(JOB, at("s3://mart/x")) in elements(spline, key)


def test_a_table_and_its_path_are_one_dataset() -> None:
    spline = SplineDatabase()
    read = Read(["s3://lake/sales"], "hive", table_structure("db", "sales"))
    key = spline.plan(
        "load", reads=[read], writes="s3://lake/x", table=table_structure("db", "x", "lake"), format=None
    )

    assert aliases(spline, key) == {
        Alias(Reference("spark_catalog", "db.sales"), at("s3://lake/sales"), "catalog-table"),
        Alias(Reference("lake", "db.x"), at("s3://lake/x"), "catalog-table"),
    }
    assert (
        "dataset",
        at("s3://lake/sales"),
        Authority.BUILDER,
        "table",
        (("name", "sales"), ("qualified_name", "db.sales")),
    ) in elements(spline, key)


def test_a_view_of_the_catalog_is_a_view() -> None:
    spline = SplineDatabase()
    read = Read(["s3://lake/v"], table=table_structure("db", "v", kind="VIEW"))
    key = spline.plan("load", reads=[read], writes="s3://mart/x")

    datasets = [each for each in _translated(spline, key) if isinstance(each, Dataset)]
    assert {each.ref: each.label for each in datasets if each.label} == {at("s3://lake/v"): "view"}


def test_a_table_of_several_locations_is_joined_by_none_of_them() -> None:
    spline = SplineDatabase()
    read = Read(["s3://lake/old/d=1", "s3://elsewhere/d=2"], table=table_structure("db", "sales"))
    key = spline.plan("load", reads=[read], writes="s3://mart/x")

    assert aliases(spline, key) == set()
    assert len(flows(spline, key)) == 2


def test_create_table_has_its_table_in_the_command_below() -> None:
    spline = SplineDatabase()
    key = spline.plan(
        "load",
        writes="file:/warehouse/db.db/t",
        command="CreateTableCommand",
        created_table=table_text("db", "t"),
        format="hive",
    )

    assert aliases(spline, key) == {
        Alias(Reference("spark_catalog", "db.t"), at("file:/warehouse/db.db/t"), "catalog-table")
    }


def test_create_table_is_known_without_the_edges_too() -> None:
    """The oldest exports have plans and operations only."""
    spline = SplineDatabase()
    key = spline.plan(
        "load", writes="file:/w/t", command="CreateTableCommand", created_table=table_text("db", "t")
    )
    del spline.contents["follows"]

    assert {alias.ref for alias in aliases(spline, key)} == {Reference("spark_catalog", "db.t")}


def test_the_table_of_another_commands_child_is_not_the_targets() -> None:
    spline = SplineDatabase()
    key = spline.plan("load", writes="s3://mart/x", created_table=table_text("db", "t"))
    spline.part("operation", f"{key}:op-1")["name"] = "Project"

    assert aliases(spline, key) == set()


def test_temporary_views_never_appear() -> None:
    spline = SplineDatabase()
    key = spline.plan("load", reads=["s3://lake/a"], writes="s3://mart/x", views=["tmp1", "tmp2"])

    assert flows(spline, key) == {(at("s3://lake/a"), at("s3://mart/x"))}
    assert not any("tmp" in repr(each) for each in elements(spline, key))


def test_a_table_that_only_a_subquery_reads_is_a_source() -> None:
    spline = SplineDatabase()
    key = spline.plan(
        "load",
        reads=["s3://lake/a"],
        writes="s3://mart/x",
        subqueries=[
            "Relation spark_catalog.tpch.part[p#1] parquet\n",
            "RelationV2[a#1] lake.db.s lake.db.s\n",
        ],
    )

    assert {source for source, _ in flows(spline, key)} == {
        at("s3://lake/a"),
        Reference("spark_catalog", "tpch.part"),
        Reference("lake", "db.s"),
    }


def test_files_that_a_subquery_reads_by_path_are_reported() -> None:
    spline = SplineDatabase()
    key = spline.plan(
        "load",
        reads=["s3://lake/a"],
        writes="s3://mart/x",
        subqueries=["Project [a#1]\n+- Relation [a#1] csv\n"],
    )

    problems = {each for each in elements(spline, key) if isinstance(each, Problem)}
    (problem,) = problems
    assert (problem.kind, problem.document, problem.field) == (
        "not-joined",
        f"executionPlan/{key}",
        f"{key}:expr-1",
    )
    assert "csv" in problem.message
    assert flows(spline, key) == {(at("s3://lake/a"), at("s3://mart/x"))}


def test_a_plan_that_writes_nothing_is_skipped() -> None:
    spline = SplineDatabase()
    key = spline.plan("load", reads=["s3://lake/a"])

    assert elements(spline, key) == {Problem("skipped", f"executionPlan/{key}", "", "no write operation")}


@pytest.mark.parametrize("name", [None, ""])
def test_a_plan_without_an_application_is_skipped(name: str | None) -> None:
    spline = SplineDatabase()
    key = spline.plan(name, reads=["s3://lake/a"], writes="s3://mart/x")

    (problem,) = elements(spline, key)
    assert (problem.kind, problem.document, problem.field) == ("skipped", f"executionPlan/{key}", "name")


def test_the_application_of_the_progress_replaces_a_lost_plan_document() -> None:
    spline = SplineDatabase()
    key = spline.plan("load", reads=["s3://lake/a"], writes="s3://mart/x")
    del spline.contents["executionPlan"]

    assert (JOB, at("s3://lake/a"), at("s3://mart/x"), "overwrite") in elements(spline, key, "load")


def test_the_name_of_older_agents_is_in_the_extras() -> None:
    spline = SplineDatabase()
    key = spline.plan("load", reads=["s3://lake/a"], writes="s3://mart/x")
    del spline.contents["executionPlan"][0]["name"]

    assert Writes(JOB, at("s3://mart/x")) in elements(spline, key)


def test_on_glue_the_job_is_the_job_not_its_run() -> None:
    spline = SplineDatabase()
    key = spline.plan("nativespark-load-jr_0123456789ab", reads=["s3://lake/a"], writes="s3://mart/x")

    assert Writes(JOB, at("s3://mart/x")) in elements(spline, key)


def test_the_database_is_named_where_there_are_several() -> None:
    spline = SplineDatabase()
    key = spline.plan("load")
    plan, _ = assemble(key, spline.contents, EVERYTHING, "eu")

    (problem,) = translate(plan, database="eu")

    assert isinstance(problem, Problem)
    assert problem.document == f"eu: executionPlan/{key}"
