"""What a distributed merge keeps in Spark's memory is freed when it ends, in a session that lives on."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge.cli import sample
from lineage_merge.config import Config
from lineage_merge.infra.progress import no_progress
from lineage_merge.model.errors import DocumentError
from lineage_merge.orchestration import pipeline, stages
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.spline_documents import SplineDatabase

pytestmark = pytest.mark.jvm

DISTRIBUTED = {"spark.distribute_above_mb": "0"}


def cached_by(spark: SparkSession) -> set[int]:
    """What Spark keeps, by number. What nothing refers to any more (another test did) goes at any time."""
    context: Any = spark.sparkContext
    return set(context._jsc.getPersistentRDDs().keySet())


@pytest.fixture
def distributed() -> Config:
    return CONFIGURATION.load(sample.config_file(), environ={}, flags=DISTRIBUTED)


def test_a_build_keeps_its_rows_until_they_are_released(spark: SparkSession, distributed: Config) -> None:
    before = cached_by(spark)
    built = pipeline.build(spark, distributed)
    assert cached_by(spark) - before
    built.release()
    assert cached_by(spark) <= before


def test_the_step_that_writes_a_folder_leaves_nothing_behind(
    spark: SparkSession, distributed: Config, tmp_path: Path
) -> None:
    before = cached_by(spark)
    stages.build(spark, distributed, str(tmp_path / "built"), no_progress)
    assert cached_by(spark) <= before


def test_a_build_that_stops_at_a_broken_document_leaves_nothing_behind(
    spark: SparkSession, tmp_path: Path
) -> None:
    spline = SplineDatabase()
    spline.plan("broken", reads=["s3://in/a"], writes="s3://out/b", at=1)
    spline.contents["operation"][0]["type"] = "Unknown"
    spline.write(tmp_path)
    settings = {
        "dag_name": "t",
        "environment": "dev",
        "strict": True,
        "spline": {"export": str(tmp_path)},
        "spark": {"distribute_above_mb": 0},
    }
    before = cached_by(spark)
    with pytest.raises(DocumentError):
        pipeline.build(spark, CONFIGURATION.parse(settings))
    assert cached_by(spark) <= before
