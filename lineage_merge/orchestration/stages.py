"""Build and load as two steps that may run on different machines, with a folder between them.

The steps of a DAG, each of which can be repeated: a build replaces the folder's files, a load
compares them with the graph. What they did is left in the folder too, for whoever tells it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from lineage_merge.config import Config
from lineage_merge.infra import storage
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.load.result import LoadResult
from lineage_merge.merge.report import REPORT
from lineage_merge.model.errors import IntermediateError, SourceMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Step = Literal["build", "load"]
STEPS: tuple[Step, ...] = ("build", "load")

LOADED = "loaded.json"


def check(step: Step, config: Config) -> None:
    """Is everybody there whom the step needs? Asked before Spark starts. Raises `LineageMergeError`."""
    from lineage_merge.orchestration import preflight

    if step == "build":
        preflight.check_sources(config)
    else:
        preflight.check_graph(config)


def build(
    spark: "SparkSession", config: Config, folder: str, on_progress: ProgressCallback
) -> dict[str, Any]:
    """Sources to the node and edge files of `folder`, local or in S3. Returns the report as JSON."""
    from lineage_merge.orchestration import pipeline

    with pipeline.build(spark, config, on_progress) as built:
        on_progress(f"writing {folder}")
        if _uses_local_disk(spark, folder):
            with TemporaryDirectory(prefix="lineage-merge-") as work:
                pipeline.write_folder(built, work)
                storage.replace_folder(folder, Path(work))
        else:
            pipeline.write_folder(built, folder)
    return built.report.as_json()


def load(spark: "SparkSession", config: Config, folder: str, on_progress: ProgressCallback) -> dict[str, Any]:
    """The node and edge files of `folder` to the graph. Returns what was written, as JSON."""
    from lineage_merge.orchestration import pipeline

    with _local_copy(spark, folder) as reachable:
        loaded = asdict(pipeline.load_folder(spark, config, reachable, on_progress))
    storage.write_text(f"{folder.rstrip('/')}/{LOADED}", json.dumps(loaded, indent=2) + "\n")
    return loaded


def record_refusal(folder: str, refusal: str) -> None:
    """Leave in the folder, in place of what a load wrote, why it wrote nothing."""
    refused = asdict(LoadResult(nodes=0, edges=0, requests=0, seconds=0.0, refusal=refusal))
    storage.write_text(f"{folder.rstrip('/')}/{LOADED}", json.dumps(refused, indent=2) + "\n")


def outcomes(folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the build reported and the load wrote, as JSON. Raises `IntermediateError` where they did not."""
    return _json(folder, REPORT, "build"), _json(folder, LOADED, "load")


def _json(folder: str, name: str, step: Step) -> dict[str, Any]:
    file = f"{folder.rstrip('/')}/{name}"
    try:
        found = json.loads(storage.read_text(file))
    except SourceMissing:
        raise IntermediateError(f"{file}: not there; the {step} step leaves it") from None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise IntermediateError(f"{file}: not JSON as the {step} step writes it")
    return found


def _uses_local_disk(spark: "SparkSession", folder: str) -> bool:
    """Whether files go over this machine's disk: Spark on one machine has no connector to S3."""
    return storage.is_s3(folder) and (spark.sparkContext.master or "").startswith("local")


@contextmanager
def _local_copy(spark: "SparkSession", folder: str) -> Iterator[str]:
    if not _uses_local_disk(spark, folder):
        yield folder
        return
    with TemporaryDirectory(prefix="lineage-merge-") as work:
        try:
            storage.fetch_folder(folder, Path(work))
        except SourceMissing as error:
            raise IntermediateError(error.message) from None
        yield work
