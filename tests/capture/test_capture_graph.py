"""The result of a capture: the graph that a merge would build, its display formats and files."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import lineage_merge
from lineage_merge import capture
from lineage_merge.graph_format.elements import Edge, Vertex, normalize_properties, vertex_properties
from lineage_merge.graph_format.validation import find_flaws
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.merge import join
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import CaptureError, ConfigError
from lineage_merge.questions.backends.folder import read_folder

EXAMPLE = "select * from (select substr(a+1,0,1) as c, a+3 as d from (select 1 as a, 2 as b))"


@pytest.fixture
def sales(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A folder, and a view of it."""
    folder = f"{tmp_path}/sales"
    spark.sql("select 1 as id, 2.5D as price, 'x' as city").write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("sales")
    yield folder
    for view in ("sales", "doubled"):
        spark.catalog.dropTempView(view)


@pytest.mark.jvm
def test_the_example_of_the_issue(spark: SparkSession) -> None:
    columns = capture(EXAMPLE).columns()

    assert str(columns).splitlines() == [
        "c",
        "└── substring(cast(a + 1 as string), 0, 1)",
        "    └── 1 AS a",
        "d",
        "└── a + 3",
        "    └── 1 AS a",
    ]
    assert [each.text for each in columns.named("C").of] == ["1 AS a"]


@pytest.mark.jvm
def test_metadata_of_files_has_no_column_of_origin(spark: SparkSession, sales: str) -> None:
    columns = capture(f"select id, _metadata.file_name as file from parquet.`{sales}`").columns()

    assert str(columns.named("file")).splitlines() == [
        "file",
        "└── metadata",
    ]


@pytest.mark.jvm
def test_the_steps_of_a_column_lead_down_to_files(spark: SparkSession, sales: str) -> None:
    spark.table("sales").selectExpr("id", "price * 2 as twice").createOrReplaceTempView("doubled")
    columns = capture("select id as key, sum(twice) as total from doubled group by id").columns()

    assert str(columns).splitlines() == [
        "key",
        "└── id",
        f"    └── {sales}#id",
        "total",
        "└── sum(twice)",
        "    └── price * cast(2 as double) AS twice",
        f"        └── {sales}#price",
    ]


@pytest.mark.jvm
def test_vertices_and_edges_are_those_of_a_merge(spark: SparkSession, sales: str, tmp_path: Path) -> None:
    spark.sql(f"create table loaded using parquet location '{tmp_path}/loaded' as select id, city from sales")
    captured = capture(
        "select s.city, sum(s.price) as total from sales s join loaded k on s.id = k.id group by s.city",
        name="daily|sum",
        target="s3://lake/totals/part-00000.parquet",
        environment="prod",
        dag_name="finance",
    )
    merged = join.merge(SparkEngine(spark).rows(captured.records(), 2), "prod", "finance")
    spark.sql("drop table loaded")

    nodes = {each["id"]: _vertex(each) for each in merged.nodes.collect()}
    edges = {each["id"]: _edge(each) for each in merged.edges.collect()}
    assert {each.id: each for each in captured.nodes} == nodes
    assert {each.id: each for each in captured.edges} == edges
    assert {(each.label, each.name) for each in captured.nodes if each.label != "column"} == {
        ("file", "sales"),
        ("table", "loaded"),
        ("file", "totals"),
        ("job", "daily|sum"),
    }


def _vertex(row: dict[str, Any]) -> Vertex:
    properties = {key: value for key, value in row.items() if key not in ("id", "label")}
    return Vertex(row["id"], row["label"], vertex_properties(properties))


def _edge(row: dict[str, Any]) -> Edge:
    properties = {key: value for key, value in row.items() if key not in ("id", "label", "from", "to")}
    return Edge(row["id"], row["label"], row["from"], row["to"], normalize_properties(properties))


@pytest.mark.jvm
def test_result_columns_with_one_name_are_numbered_and_reported(spark: SparkSession, sales: str) -> None:
    statement = (
        "select l.city, r.price as City, r.id as city_2, l.id as city, l.id as a from sales l, sales r"
    )
    captured = capture(statement, name="daily", target="s3://lake/out")

    flows = {
        (edge.from_id.rpartition("|")[2], edge.to_id.rpartition("|")[2])
        for edge in captured.edges
        if edge.label == "feeds_column"
    }
    assert flows == {
        ("city", "city"),
        ("price", "city_3"),
        ("id", "city_2"),
        ("id", "city_4"),
        ("id", "a"),
    }
    assert [each.name for each in captured.columns()] == ["city", "City_3", "city_2", "city_4", "a"]
    what = "duplicate column names, numbered in the graph: City_3, city_4"
    assert captured.problems == (Problem("notice", "capture of daily", "columns", what),)


@pytest.mark.jvm
def test_numbered_columns_leave_the_name_of_the_target_alone(spark: SparkSession, sales: str) -> None:
    one = capture("select l.id, r.id from sales l, sales r", target="default.pairs").nodes
    other = capture("select l.id, r.id as other from sales l, sales r", target="default.pairs").nodes

    def targets(nodes: tuple[Vertex, ...]) -> set[tuple[str, str]]:
        return {(each.id, each.label) for each in nodes if each.label in ("file", "table")}

    assert targets(one) == targets(other)


@pytest.mark.jvm
def test_a_folder_of_it_is_valid_and_holds_the_same(spark: SparkSession, sales: str, tmp_path: Path) -> None:
    captured = capture("select id from sales", name="daily", target="s3://lake/ids", dag_name="finance")
    captured.write(f"{tmp_path}/graph")

    elements, found = find_flaws(spark, f"{tmp_path}/graph")
    written = read_folder(f"{tmp_path}/graph")
    assert (elements, found) == (len(captured.nodes) + len(captured.edges), [])
    assert set(written.everything()) == {*captured.nodes, *captured.edges}
    assert {each.properties["dag_name"] for each in captured.edges} == {"finance"}


@pytest.mark.jvm
def test_without_a_target_it_is_displayed_but_cannot_be_written(
    spark: SparkSession, sales: str, tmp_path: Path
) -> None:
    captured = capture("select id from sales", name="look")

    assert [each.id for each in captured.nodes if each.label == "view"] == ["dev|dataframe|look"]
    with pytest.raises(CaptureError, match="no target"):
        captured.write(f"{tmp_path}/graph")


@pytest.mark.jvm
def test_it_prints_the_tree_and_shows_a_picture(spark: SparkSession, sales: str) -> None:
    captured = capture("select upper(city) as city from sales", name="daily", target="s3://lake/cities")

    lines = str(captured).splitlines()
    assert lines[0] == f"{sales}  file"
    assert lines[4:6] == [
        "└── s3://lake/cities  file  ← daily",
        f"    └── · city  string  ← {sales}#city  TRANSFORMATION  upper(city)",
    ]
    shown = captured._repr_mimebundle_()
    assert shown["text/plain"] == str(captured)
    assert "<svg" in shown["text/html"]
    assert captured.page()._repr_html_().startswith('<iframe sandbox="allow-scripts"')
    assert "upper(city)" in shown["text/html"]
    assert captured.to_mermaid().startswith("flowchart LR\n")
    assert {each["id"] for each in json.loads(json.dumps(captured.to_json()))["vertices"]} == {
        each.id for each in captured.nodes
    }


@pytest.mark.jvm
def test_an_invalid_environment_is_rejected(spark: SparkSession) -> None:
    with pytest.raises(ConfigError, match="environment"):
        capture(EXAMPLE, environment="a|b")


def test_without_pyspark_the_package_imports_and_names_what_capture_needs() -> None:
    script = """
import sys
sys.modules["pyspark"] = sys.modules["py4j"] = None
import lineage_merge
try:
    from lineage_merge import capture
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "capture needs classic PySpark: install lineage-merge[spark]\n"


def test_the_package_exports_it_and_nothing_else() -> None:
    assert lineage_merge.capture is capture
    with pytest.raises(AttributeError, match="has no attribute 'captures'"):
        lineage_merge.captures  # noqa: B018
