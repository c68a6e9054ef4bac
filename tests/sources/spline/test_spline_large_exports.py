"""Optimizations for large exports: unselected plans are not shuffled, documents share rows."""

import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.infra.engine.rows import Engine, Shared
from lineage_merge.infra.storage import lines as line_reading
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline import export, key_filter, reader
from lineage_merge.sources.spline.key_filter import build_filter
from lineage_merge.sources.spline.plan_texts import DocumentTexts, text_rows
from tests.record_reading import comparable, problems_of, rows_of
from tests.spline_documents import SplineDatabase, lines
from tests.spline_histories import everything

WANTED = [("a", str(uuid.UUID(int=number << 64))) for number in range(2000)]


def test_a_selected_plan_always_passes_and_hardly_any_other(engine: Engine) -> None:
    found = build_filter(engine.rows(WANTED, 3), ["whole"])
    assert all(found.passes(*each) for each in WANTED)
    others = [("b", plan) for _, plan in WANTED] + [("a", f"{plan}0") for _, plan in WANTED]
    assert sum(found.passes(*each) for each in others) < 10
    assert all(found.passes("whole", plan) for _, plan in WANTED)


def test_nothing_passes_where_nothing_is_wanted(engine: Engine) -> None:
    found = build_filter(engine.empty())
    assert not any(found.passes(*each) for each in WANTED)


def test_the_records_are_the_same_whether_wanted_plans_are_looked_up_or_not(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spline, _ = everything()
    spline.write(tmp_path / "recorded")
    no_progress = SplineDatabase("silent")
    no_progress.plan("silent", reads=["s3://in/a"], writes="s3://out/silent", at=None)
    no_progress.write(tmp_path / "unrecorded")
    with (tmp_path / "recorded/operation.jsonl").open("a") as file:
        file.write("not JSON\n")
    settings = CONFIGURATION.parse(
        {"dag_name": "t", "environment": "dev", "spline": {"export": str(tmp_path)}}
    )

    def records() -> list[Record]:
        return rows_of(reader.read_spline(engine, settings, dataset_resolver.from_config(settings)))

    handed_on = records()
    monkeypatch.setattr(key_filter, "WORTH_BYTES", 0)
    looked_up = records()
    assert comparable(looked_up) == comparable(handed_on)
    assert problems_of(looked_up)


@pytest.mark.jvm
def test_records_of_events_have_few_partitions_however_many_the_plans_need(
    spark: SparkSession, tmp_path: Path
) -> None:
    spline, _ = everything()
    spline.write(tmp_path)
    settings = CONFIGURATION.parse(
        {"dag_name": "t", "environment": "dev", "spline": {"export": str(tmp_path)}}
    )
    name, groups = "spark.sql.shuffle.partitions", 40
    before = spark.conf.get(name)
    spark.conf.set(name, groups)
    try:
        engine = SparkEngine(spark)
        records = reader.read_spline(engine, settings, dataset_resolver.from_config(settings))
        assert records.partition_count <= groups + max(4, engine.parallelism)
    finally:
        spark.conf.set(name, before or "")


def test_documents_of_a_plan_that_follow_each_other_share_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def operation(plan: str, number: int) -> dict[str, str]:
        return {
            "_key": f"{plan}:op-{number}",
            "_belongsTo": f"executionPlan/{plan}",
            "type": "Transformation",
        }

    documents = [operation(plan, number) for plan in ("p", "q", "p") for number in range(4)]
    tmp_path.joinpath("executionPlan.jsonl").write_bytes(b"")
    tmp_path.joinpath("operation.jsonl").write_bytes(lines(documents) + b"broken\n")
    parts = [part for part in export.find(str(tmp_path)) if part.collection == "operation"]

    def rows(wanted: Shared[key_filter.KeyFilter] | None = None) -> list[tuple[str, int]]:
        return [
            (plan, found.text.count("\n") + 1)
            for part in parts
            for (_, plan), found in text_rows(part, wanted)
            if isinstance(found, DocumentTexts)
        ]

    engine = LocalEngine()
    only_q = engine.share(build_filter(engine.rows([("", "q")])))
    assert sorted(rows()) == [("p", 4), ("p", 4), ("q", 4)]
    assert rows(only_q) == [("q", 4)]
    monkeypatch.setattr(line_reading, "_LINE_BLOCK_BYTES", 150)
    assert {row for row in rows() if row[0] == "q"} == {("q", 1), ("q", 2)}
