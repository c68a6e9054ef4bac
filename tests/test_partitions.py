"""Large input is shuffled in more partitions, in sessions whose number of them is ours to choose."""

import pytest
from pyspark.sql import SparkSession

from lineage_merge.cli import sample
from lineage_merge.infra import spark_session
from lineage_merge.infra.spark_session import ADJUSTABLE, fit_partitions
from lineage_merge.infra.storage import StoredFile
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION

pytestmark = pytest.mark.jvm

MEGABYTE = 1 << 20


@pytest.fixture
def own(spark: SparkSession) -> SparkSession:
    """A session with settings of its own, as one begins that was started here."""
    return spark.newSession()


def fit(spark: SparkSession, *files: StoredFile) -> None:
    fit_partitions(spark, sum(file.text_bytes for file in files))


def number(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 0)


def test_there_are_few_for_a_small_pipeline(own: SparkSession) -> None:
    fit(own, StoredFile("a.json", 3 * MEGABYTE), StoredFile("b.json.gz", MEGABYTE))
    assert number(own) == 2


def test_there_are_more_for_large_input_and_no_fewer_for_small_input_after_it(own: SparkSession) -> None:
    fit(own, StoredFile("a.json", 90 * MEGABYTE), StoredFile("b.json", 50 * MEGABYTE))
    assert number(own) == 5
    fit(own, StoredFile("c.json", MEGABYTE))
    assert number(own) == 5


@pytest.mark.parametrize("name", ["a.json.gz", "part-0.parquet"])
def test_packed_files_count_for_what_is_in_them(own: SparkSession, name: str) -> None:
    fit(own, StoredFile(name, 20 * MEGABYTE))
    assert number(own) == 5


def test_a_foreign_session_is_unchanged(own: SparkSession) -> None:
    own.conf.unset(ADJUSTABLE)
    fit(own, StoredFile("a.json", 900 * MEGABYTE))
    assert number(own) == 2


def test_a_graph_that_many_partitions_made_is_the_same(
    own: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(above_mb: int) -> tuple[set[str], set[str]]:
        flags = {"spark.distribute_above_mb": str(above_mb)}
        settings = CONFIGURATION.load(sample.config_file(), environ={}, flags=flags)
        with pipeline.build(own, settings) as made:
            nodes, edges = ({row["id"] for row in rows.collect()} for rows in (made.nodes, made.edges))
        return nodes, edges

    in_one_process = built(64)
    monkeypatch.setattr(spark_session, "BYTES_PER_PARTITION", 35_000)
    assert built(0) == in_one_process
    assert number(own) > 2
