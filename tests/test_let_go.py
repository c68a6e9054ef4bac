"""What a merge keeps in Spark's memory is freed when it ends, in a session that lives on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge import config, kept, pipeline, sample, steps
from lineage_merge.errors import DocumentError
from lineage_merge.progress import silent
from tests.spline_documents import SplineDatabase


def kept_by(spark: SparkSession) -> set[int]:
    """What Spark keeps, by number. What nobody holds any more (another test did) goes at any time."""
    context: Any = spark.sparkContext
    return set(context._jsc.getPersistentRDDs().keySet())


@pytest.fixture(params=["in one process", "on a cluster"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How frames are kept depends on it: this session is in one process, and told that it is on a cluster."""
    monkeypatch.setattr(kept, "_in_one_process", lambda _frame: request.param == "in one process")


@pytest.mark.usefixtures("place")
def test_a_build_keeps_its_frames_until_they_are_let_go(spark: SparkSession) -> None:
    before = kept_by(spark)
    built = pipeline.build(spark, config.load(sample.config_file(), environ={}))
    assert kept_by(spark) - before
    built.let_go()
    assert kept_by(spark) <= before


def test_the_graph_is_the_same_wherever_frames_are_kept(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config.load(sample.config_file(), environ={})
    folding = replace(settings, merge=replace(settings.merge, fold=("s3://*",)))

    def built() -> tuple[set[str], set[str]]:
        with pipeline.build(spark, folding) as made:
            nodes, edges = ({str(row) for row in rows.collect()} for rows in (made.nodes, made.edges))
        return nodes, edges

    here = built()
    monkeypatch.setattr(kept, "_in_one_process", lambda _frame: False)
    assert built() == here


@pytest.mark.usefixtures("place")
def test_the_step_that_writes_a_folder_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    before = kept_by(spark)
    steps.build(spark, config.load(sample.config_file(), environ={}), str(tmp_path / "built"), silent)
    assert kept_by(spark) <= before


@pytest.mark.usefixtures("place")
def test_a_build_that_stops_at_a_broken_document_leaves_nothing_behind(
    spark: SparkSession, tmp_path: Path
) -> None:
    spline = SplineDatabase()
    spline.plan("broken", reads=["s3://in/a"], writes="s3://out/b", at=1)
    spline.contents["operation"][0]["type"] = "Unknown"
    spline.write(tmp_path)
    settings = {"dag_name": "t", "environment": "dev", "strict": True, "spline": {"export": str(tmp_path)}}
    before = kept_by(spark)
    with pytest.raises(DocumentError):
        pipeline.build(spark, config.parse(settings))
    assert kept_by(spark) <= before
