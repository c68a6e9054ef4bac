"""Stages build and load, which may run on different machines, with a folder between them.

Both are repeatable: a build replaces the files of the folder, a load compares them with the graph. Their
outcomes are stored in the folder for the report.
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

Step = Literal["build", "load", "check"]
STEPS: tuple[Step, ...] = ("build", "load", "check")

LOADED = "loaded.json"


def check(step: Step, config: Config) -> None:
    """Check that the services of a build or load are reachable, before Spark starts.

    Raises `LineageMergeError`.
    """
    from lineage_merge.orchestration import preflight

    if step == "build":
        preflight.check_sources(config)
    elif step == "load":
        preflight.check_graph(config)


def build(
    spark: "SparkSession", config: Config, folder: str, on_progress: ProgressCallback
) -> dict[str, Any]:
    """Build the node and edge files of `folder`, local or in S3. Return the report as JSON.

    Raises `TooFewJoined` if the merge joins less than `merge.expect`; the folder is written before.
    """
    from lineage_merge.merge.expectations import fail_if_unmet
    from lineage_merge.orchestration import pipeline

    with pipeline.build(spark, config, on_progress) as built:
        on_progress(f"writing {folder}")
        if _uses_local_disk(spark, folder):
            with TemporaryDirectory(prefix="lineage-merge-") as work:
                pipeline.write_folder(built, work, is_indexed=False)
                storage.replace_folder(folder, Path(work))
        else:
            pipeline.write_folder(built, folder)
    # Afterwards: the report in the folder shows what is missing.
    fail_if_unmet(built.report)
    return built.report.as_json()


def load(spark: "SparkSession", config: Config, folder: str, on_progress: ProgressCallback) -> dict[str, Any]:
    """Load the node and edge files of `folder` into the graph. Return the outcome as JSON."""
    from lineage_merge.orchestration import pipeline

    with _local_copy(spark, folder) as reachable:
        loaded = asdict(pipeline.load_folder(spark, config, reachable, on_progress))
    storage.write_text(f"{folder.rstrip('/')}/{LOADED}", json.dumps(loaded, indent=2) + "\n")
    return loaded


def record_refusal(folder: str, refusal: str) -> None:
    """Store in the folder, as the outcome of a load, why it wrote nothing."""
    refused = asdict(LoadResult(nodes=0, edges=0, requests=0, seconds=0.0, refusal=refusal))
    storage.write_text(f"{folder.rstrip('/')}/{LOADED}", json.dumps(refused, indent=2) + "\n")


def outcomes(folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the report of the build and the outcome of the load. Raises `IntermediateError` if missing."""
    return _json(folder, REPORT, "build"), _json(folder, LOADED, "load")


def _json(folder: str, name: str, step: Step) -> dict[str, Any]:
    file = f"{folder.rstrip('/')}/{name}"
    try:
        content = json.loads(storage.read_text(file))
    except SourceMissing:
        raise IntermediateError(f"{file}: missing; the {step} step writes it") from None
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise IntermediateError(f"{file}: not a JSON object of the {step} step")
    return content


def _uses_local_disk(spark: "SparkSession", folder: str) -> bool:
    """Whether files are copied to the local disk: local Spark has no S3 connector."""
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
