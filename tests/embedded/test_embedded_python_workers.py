"""The Python workers of a local Spark, as a task in one of them sees itself."""

import gc
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from zipimport import zipimporter

import pytest
from pyspark.sql import SparkSession

from lineage_merge.infra.embedded.python_workers import path_without_archives


@pytest.mark.jvm
def test_a_worker_has_no_archive_on_its_path_and_the_imports_of_its_tasks_behind_it(
    spark: SparkSession,
) -> None:
    def seen(_rows: Iterable[int]) -> Iterator[tuple[list[str], bool, int]]:
        yield sys.path, "lineage_merge.sources.spline.translator" in sys.modules, gc.get_freeze_count()

    ((path, is_imported, frozen),) = spark.sparkContext.parallelize([0], 1).mapPartitions(seen).collect()
    assert [entry for entry in path if entry.endswith((".jar", ".zip"))] == []
    assert is_imported
    assert frozen > 10_000


@pytest.mark.jvm
def test_a_worker_forgets_the_jar_that_the_check_for_jython_found(spark: SparkSession) -> None:
    def archives(_rows: Iterable[int]) -> Iterator[list[str]]:
        yield [path for path, finder in sys.path_importer_cache.items() if isinstance(finder, zipimporter)]

    assert spark.sparkContext.parallelize([0], 1).mapPartitions(archives).collect() == [[]]


@pytest.mark.jvm
def test_modules_of_earlier_tasks_are_excluded_from_collection(spark: SparkSession) -> None:
    def imported(_rows: Iterable[int]) -> Iterator[tuple[int, bool]]:
        is_new = "lineage_merge.cli" not in sys.modules
        import_module("lineage_merge.cli")
        yield gc.get_freeze_count(), is_new

    tasks = spark.sparkContext.parallelize([0], 1).mapPartitions(imported)
    ((before, _),) = tasks.collect()
    ((after, is_new),) = tasks.collect()
    # Another worker may run the second task: it has not imported the module before.
    assert is_new or after > before


def test_pyspark_that_lies_in_a_zip_only_is_still_found(tmp_path: Path) -> None:
    zipped, jar = tmp_path / "pyspark.zip", tmp_path / "spark-core.jar"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("pyspark/__init__.py", "")
    folder = str(tmp_path)
    assert path_without_archives([folder, str(jar), str(zipped)]) == [folder, str(zipped)]


def test_a_zip_is_left_out_where_pyspark_is_installed() -> None:
    assert path_without_archives([*sys.path, "somewhere/pyspark.zip"]) == [
        entry for entry in sys.path if not entry.endswith(".zip")
    ]
