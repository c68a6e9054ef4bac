"""Files for Neptune's bulk loader, read into a real graph by an independent reader."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyspark.sql import SparkSession

from lineage_merge.graph_format.files import read
from lineage_merge.graph_format.neptune_csv import (
    EDGE_HEADER,
    VERTEX_FIELDS,
    VERTEX_HEADER,
    VERTICES,
    WrittenFiles,
    write,
    write_rows,
)
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.on_spark import SparkEngine, SparkRows
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.writer import load
from lineage_merge.model.errors import IntermediateError, SourceDenied, SourceMissing
from tests.graph_reading import whole
from tests.hostile_rows import rows
from tests.made_merges import known_rows
from tests.neptune_reading import put, records
from tests.s3_fixtures import S3

Row = dict[str, Any]


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.jvm)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "local":
        return LocalEngine(threads=2)
    return SparkEngine(request.getfixturevalue("spark"))


def frames(engine: Engine, nodes: list[Row], edges: list[Row]) -> tuple[Rows[Row], Rows[Row]]:
    return known_rows(engine, nodes), known_rows(engine, edges)


def put_folder(g: GraphTraversalSource, folder: Path) -> None:
    for kind in ("vertices", "edges"):
        for file in sorted((folder / kind).iterdir()):
            for record in records(file.read_bytes()):
                put(g, record, update_single=False)


def same_graph(
    g: GraphTraversalSource, url: str, folder: Path, nodes: Rows[Row], edges: Rows[Row]
) -> dict[str, Any]:
    write(str(folder), nodes, edges)
    put_folder(g, folder)
    of_files = whole(g)
    g.V().drop().to_list()
    load(nodes, edges, Endpoint(url))
    assert of_files == whole(g)
    return of_files[0]


@pytest.mark.jvm
def test_hostile_texts_make_the_graph_that_requests_make(
    engine: Engine, gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path
) -> None:
    nodes, edges = rows()
    found = same_graph(gremlin, gremlin_url, tmp_path, *frames(engine, nodes, edges))
    assert {values["name"][0] for _, values in found.values()} == {node["name"] for node in nodes}


@pytest.mark.jvm
def test_the_sample_pipeline_makes_the_graph_that_requests_make(
    spark: SparkSession,
    gremlin: GraphTraversalSource,
    gremlin_url: str,
    tickit_folder: Path,
    tmp_path: Path,
) -> None:
    found = same_graph(gremlin, gremlin_url, tmp_path, *_rows(spark, tickit_folder))
    assert len(found) > 20


def _rows(spark: SparkSession, folder: Path) -> list[Rows[Row]]:
    engine = SparkEngine(spark)
    return [
        SparkRows(engine, frame.rdd.map(lambda row: {k: v for k, v in row.asDict().items() if v is not None}))
        for frame in read(spark, str(folder))
    ]


def test_each_file_is_whole_and_the_same_rows_make_the_same_bytes(engine: Engine, tmp_path: Path) -> None:
    nodes, edges = frames(engine, *rows())
    for folder in ("one", "two"):
        write(str(tmp_path / folder), nodes, edges)
    one, two = (
        {file.relative_to(tmp_path / folder): file.read_bytes() for file in (tmp_path / folder).glob("*/*")}
        for folder in ("one", "two")
    )
    assert one == two
    for path, data in one.items():
        header = EDGE_HEADER if path.parts[0] == "edges" else VERTEX_HEADER
        assert gzip.decompress(data).decode().startswith(f"{header}\n")


def test_a_large_partition_becomes_several_files_and_an_empty_one_none(
    engine: Engine, tmp_path: Path
) -> None:
    node = {"id": None, "label": "table", "environment": "dev", "dag_name": "d", "name": "n"}
    made = [tuple({**node, "id": f"dev|{n}"}.get(name) for name in VERTEX_FIELDS) for n in range(2_500)]
    spread = engine.rows(made, 1).union(engine.empty())
    written = write_rows(str(tmp_path), VERTICES, spread, largest_file=1)
    assert written == WrittenFiles(elements=2_500, files=3)
    found = [str(record.id) for file in tmp_path.rglob("*.gz") for record in records(file.read_bytes())]
    assert sorted(found) == sorted(str(row[0]) for row in made)
    nothing = write_rows(str(tmp_path / "none"), VERTICES, engine.rows([], 2))
    assert nothing == WrittenFiles(0, 0)
    assert not (tmp_path / "none").exists()


def test_few_elements_make_few_files(engine: Engine, tmp_path: Path) -> None:
    made = [("i", "table", "dev", "d", *([None] * (len(VERTEX_FIELDS) - 4)))] * 10
    spread = engine.rows(made, 8).repartition(8)
    assert write_rows(str(tmp_path), VERTICES, spread, 10) == WrittenFiles(10, 1)
    assert write_rows(str(tmp_path), VERTICES, spread, 50_000).files == 2


def test_files_go_to_s3_from_the_workers(engine: Engine, s3: S3) -> None:
    nodes, edges = frames(engine, *rows())
    s3.client.create_bucket(Bucket="lineage")
    vertices, of_edges = write("s3://lineage/here", nodes, edges)
    listed = [each["Key"] for each in s3.client.list_objects_v2(Bucket="lineage")["Contents"]]
    assert len(listed) == vertices.files + of_edges.files
    found = set()
    for key in listed:
        with s3.client.get_object(Bucket="lineage", Key=key)["Body"] as body:
            found |= {(key.split("/")[1], record.id) for record in records(body.read())}
    expected = {("vertices", row["id"]) for row in rows()[0]} | {("edges", row["id"]) for row in rows()[1]}
    assert found == expected


def test_a_missing_or_denied_bucket_is_reported(engine: Engine, s3: S3) -> None:
    nodes, edges = frames(engine, *rows())
    with pytest.raises(SourceMissing, match=r"s3://none/x/vertices/.*: no such bucket"):
        write("s3://none/x", nodes, edges)
    s3.client.create_bucket(Bucket="lineage")
    s3.refuse_strangers()
    with pytest.raises(SourceDenied, match=r"s3://lineage/x/vertices/.*S3 rejects these credentials"):
        write("s3://lineage/x", nodes, edges)


def test_a_row_without_a_label_is_named(engine: Engine, tmp_path: Path) -> None:
    nodes, edges = rows()
    nodes[3]["label"] = None
    with pytest.raises(IntermediateError, match="label is missing"):
        write(str(tmp_path), *frames(engine, nodes, edges))
