"""What a merge keeps in Spark's memory is freed when it ends, in a session that lives on."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge import config, pipeline, sample, steps
from lineage_merge.errors import DocumentError
from lineage_merge.progress import silent
from tests.spline_documents import SplineDatabase


def kept_by(spark: SparkSession) -> set[int]:
    """What Spark keeps, by number."""
    context: Any = spark.sparkContext
    return set(context._jsc.getPersistentRDDs().keySet())


def test_a_build_keeps_its_frames_until_they_are_let_go(spark: SparkSession) -> None:
    before = kept_by(spark)
    built = pipeline.build(spark, config.load(sample.config_file(), environ={}))
    nodes = built.nodes.count()
    assert kept_by(spark) > before
    built.let_go()
    assert kept_by(spark) == before
    assert built.nodes.count() == nodes


def test_the_step_that_writes_a_folder_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    before = kept_by(spark)
    steps.build(spark, config.load(sample.config_file(), environ={}), str(tmp_path / "built"), silent)
    assert kept_by(spark) == before


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
    assert kept_by(spark) == before
