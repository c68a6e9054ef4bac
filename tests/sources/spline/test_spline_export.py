"""Exported databases through Spark: all formats yield the same records."""

import json
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.errors import SourceError
from lineage_merge.model.records import Record
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import line_files as sliced
from lineage_merge.sources.spline.reader import read_spline
from tests import expected
from tests.record_reading import comparable, flows_of, problems_of, rows_of
from tests.spline_documents import DAY, Document, SplineDatabase, write_collections
from tests.spline_histories import everything


def settings(export_folder: Path, **more: object) -> Config:
    common = {"dag_name": "daily", "environment": "dev"}
    return CONFIGURATION.parse({**common, "spline": {"export": str(export_folder)}, **more})


def read(engine: Engine, folder: Path) -> list[Record]:
    found = settings(folder)
    return rows_of(read_spline(engine, found, dataset_resolver.from_config(found)))


def test_order_repetition_slices_and_formats_change_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spline, _ = everything()
    plain = read(engine, spline.write(tmp_path / "plain"))

    chaos = random.Random(11)
    formats = ["jsonl", "byte order mark and blank lines", "arangodump with envelopes", "pretty", "json.gz"]
    folder = tmp_path / "mixed"
    for number, (collection, documents) in enumerate(spline.contents.items()):
        doubled = chaos.sample([*documents, *documents], 2 * len(documents))
        write_collections({collection: doubled}, folder, formats[number % len(formats)])
    monkeypatch.setattr(sliced, "SLICE_BYTES", 20_000)

    assert comparable(read(engine, folder)) == comparable(plain)
    assert len(flows_of(plain)) > 50


def test_malformed_documents_are_named_and_the_rest_is_read(engine: Engine, tmp_path: Path) -> None:
    spline = SplineDatabase()
    good = spline.plan("good", reads=["s3://in/a"], writes="s3://out/x", at=1)
    half = spline.plan("half", reads=["s3://in/a", "s3://in/b"], writes="s3://out/y", at=1)
    old = spline.plan("good", reads=["s3://in/old"], writes="s3://out/x", at=0)
    wrong = spline.part("operation", f"{half}:op-2")
    wrong["inputSources"] = "s3://in/a"
    spline.part("operation", f"{old}:op-1")["type"] = "of a plan that does not count"
    late: Document = spline.ended(good, 2, timestamp="late")
    spline.contents["operation"].append({"_key": "orphan", "type": "Write"})
    spline.contents["expression"].append({"name": "unowned"})
    spline.write(tmp_path)
    for name in ("follows", "operation", "progress"):
        with (tmp_path / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write('{"_key": "cut", "_fr\n')
    with (tmp_path / "executionPlan.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"_key": }\n{"_key": 7}\n')
    with (tmp_path / "follows.jsonl").open("a", encoding="utf-8") as file:
        file.write(f'{{"_key": "9", "_belongsTo": "executionPlan/{good}", "_from": }}\n')

    rows = read(engine, tmp_path)

    assert flows_of(rows) == {
        ("good", "s3://in|a", "s3://out|x"),
        ("half", "s3://in|b", "s3://out|y"),
    }
    lines = {
        name: len((tmp_path / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
        for name in ("follows", "operation", "progress", "executionPlan", "expression")
    }
    assert {(document, field) for _, document, field, _ in problems_of(rows)} == {
        (f"operation/{wrong['_key']}", "inputSources"),
        (f"progress/{late['_key']}", "timestamp"),
        (f"{tmp_path}/operation.jsonl, line {lines['operation'] - 1}", "outputSource"),
        (f"{tmp_path}/operation.jsonl, line {lines['operation']}", ""),
        (f"{tmp_path}/expression.jsonl, line {lines['expression']}", "_key"),
        (f"{tmp_path}/progress.jsonl, line {lines['progress']}", ""),
        (f"{tmp_path}/follows.jsonl, line {lines['follows'] - 1}", ""),
        ("follows/9", ""),
        (f"{tmp_path}/executionPlan.jsonl, line {lines['executionPlan'] - 1}", ""),
        (f"{tmp_path}/executionPlan.jsonl, line {lines['executionPlan']}", "_key"),
    }
    assert {kind for kind, *_ in problems_of(rows)} == {"rejected"}


@pytest.mark.jvm
def test_the_two_collections_of_the_prototype_make_a_whole_graph(
    spark: SparkSession, tmp_path: Path, data: Path
) -> None:
    for application in ("tickit_sales_ingest", "tickit_sales_load"):
        for collection in ("executionPlan", "operation"):
            lines = (data / "spline" / application / f"{collection}.jsonl").read_text(encoding="utf-8")
            documents = [json.loads(line) for line in lines.splitlines()]
            write_collections({collection: documents}, tmp_path / application, "pretty")

    built = pipeline.build(
        spark, settings(tmp_path, merge={"default_schemas": {expected.WAREHOUSE: "dev.public"}})
    )

    nodes = {row["id"] for row in built.nodes.collect()}
    edges = {(row["from"], row["label"], row["to"]) for row in built.edges.collect()}
    truth = expected.tickit_sales_ingest("daily") | expected.tickit_sales_load("daily")
    assert edges == expected.ids(truth, "dev")
    assert {end for start, _, end in edges} | {start for start, _, _ in edges} == nodes
    assert [problem.document for problem in built.report.select_kind("notice")] == [
        "Spline database tickit_sales_ingest",
        "Spline database tickit_sales_load",
    ]


@pytest.mark.jvm
def test_an_error_in_a_worker_is_the_packages_own(spark: SparkSession, tmp_path: Path) -> None:
    spline = SplineDatabase()
    spline.plan("load", reads=["s3://in/a"], writes="s3://out/x", at=DAY)
    spline.write(tmp_path, "json.gz")
    packed = tmp_path / "operation.json.gz"
    packed.write_bytes(packed.read_bytes()[:-9])

    with pytest.raises(SourceError, match=r"operation\.json\.gz: not a valid gzip file") as caught:
        pipeline.build(spark, settings(tmp_path))

    assert "\n" not in str(caught.value)
