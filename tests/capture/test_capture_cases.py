"""Column edges and what decides on rows, of many kinds of plans."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge import capture
from tests.capture.capture_cases import CASES, VIEWS, flows_of, influences_of, prepare

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module", autouse=True)
def _files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    prepare(spark, Path(tmp_path_factory.mktemp("sales")))
    yield
    for view in VIEWS:
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize("name", CASES)
def test_a_plan_has_the_origins_of_its_columns_and_rows(spark: SparkSession, name: str) -> None:
    case = CASES[name]
    captured = capture(case.make(spark), name="daily", target="s3://lake/out")

    assert (flows_of(captured), influences_of(captured)) == (case.flows, case.influences)
    assert captured.problems == ()
