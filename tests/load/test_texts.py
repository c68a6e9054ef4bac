from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lineage_merge.graph.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    NODE_KEYS,
    NODE_PROPERTIES,
    edge_ddl,
    node_ddl,
)
from lineage_merge.load import texts

HARD = 'é 😀 "quoted" \\ back / slash \n\t {json: [1]} \x7f   '
NODE = {"id": "n", "label": "table", "environment": "dev", "dag_name": "d"}
EDGE = {"id": "e", "label": "feeds", "from": "a", "to": "b", "environment": "dev", "dag_name": "d"}


def _nodes(spark: SparkSession, row: dict[str, Any]) -> DataFrame:
    names = (*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
    return spark.createDataFrame([tuple(map(row.get, names))], node_ddl())


def _edges(spark: SparkSession, row: dict[str, Any]) -> DataFrame:
    names = (*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))
    return spark.createDataFrame([tuple(map(row.get, names))], edge_ddl())


@pytest.mark.parametrize(
    ("known", "held"),
    [
        ({}, {}),
        ({"tags": []}, {}),
        ({"name": HARD, "description": ""}, {"description": [""], "name": [HARD]}),
        ({"last_run_at": 2**53 + 1, "position": 0}, {"position": [0], "last_run_at": [2**53 + 1]}),
        ({"tags": ["b", "a", "ä", HARD]}, {"tags": [HARD, "ä", "b", "a"]}),
    ],
)
def test_a_node_that_the_graph_holds_just_so_has_the_same_text(
    spark: SparkSession, known: dict[str, Any], held: dict[str, Any]
) -> None:
    found = _nodes(spark, NODE | known).select(texts.node_text().alias("text")).collect()
    assert found[0].text == texts.vertex_held({"dag_name": ["d", "other"], "environment": ["dev"], **held})


@pytest.mark.parametrize(
    "held",
    [
        {"name": ["x"], "format": ["csv"]},
        {"name": ["y"]},
        {"name": ["x"], "owner": ["somebody else's program"]},
        {"name": [1]},
        {},
    ],
)
def test_a_node_that_the_graph_holds_otherwise_has_another_text(
    spark: SparkSession, held: dict[str, Any]
) -> None:
    found = _nodes(spark, NODE | {"name": "x"}).select(texts.node_text().alias("text")).collect()
    assert found[0].text != texts.vertex_held({"dag_name": ["d"], "environment": ["dev"], **held})


def test_an_edge_that_the_graph_holds_just_so_has_the_same_text(spark: SparkSession) -> None:
    known = {"job_type": "dbt", "job_name": HARD, "sequence": 3}
    found = _edges(spark, EDGE | known).select(texts.edge_text().alias("text")).collect()
    held = {"sequence": 3, "dag_name": "d", "job_name": HARD, "environment": "dev", "job_type": "dbt"}
    assert found[0].text == texts.edge_held(held)


def test_rows_come_to_python_with_all_that_they_know(spark: SparkSession) -> None:
    known = {"name": HARD + "\x00\x1f", "last_run_at": 2**62, "tags": ["b", "a"]}
    rows = _nodes(spark, NODE | known)
    as_text = rows.select(*NODE_KEYS, F.lit(None).alias("told"), texts.node_text().alias("text"))
    assert texts.told(as_text).collect() == [NODE | known | {"tags": ["a", "b"]}]


def test_only_what_differs_is_told(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("n", ["name"], '{"name":"x","format":"csv"}'), ("m", None, '{"name":"y"}')],
        "id string, told array<string>, text string",
    )
    assert texts.told(rows).collect() == [{"id": "n", "name": "x"}, {"id": "m", "name": "y"}]
