"""Translation of runs, static jobs and static datasets into `lineage_merge.model.elements`. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge.model.elements import (
    Authority,
    Dataset,
    Element,
    Feeds,
    Job,
    Problem,
    Scalar,
    Writes,
)
from lineage_merge.sources.openlineage import columns
from lineage_merge.sources.openlineage.datasets import dataset_elements, reference
from lineage_merge.sources.openlineage.documents import Document
from lineage_merge.sources.openlineage.facets import sets_of
from lineage_merge.sources.openlineage.jobs import JobRun, job_of
from lineage_merge.sources.openlineage.runs import DatasetKey, Run
from lineage_merge.sources.openlineage.stored import StoredTable, stored, stored_table

_DEFINITIONS = frozenset({"CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"})
_OVERWRITES = frozenset({"CREATE", "OVERWRITE", "TRUNCATE"})


def targets(run: Run) -> list[DatasetKey]:
    """Return the datasets that the run wrote data to, in a fixed order.

    A table that is only created, altered or dropped (`lifecycleStateChange`, and neither a source nor a row)
    received no data.
    """
    return [key for key, output in run.outputs.items() if not _only_defines(run, output)]


def write_mode(run: Run, key: DatasetKey) -> str:
    """Return ``overwrite``, ``append``, or "" if the producer does not report it.

    openlineage-spark reports overwriting and creating; everything else is an append.
    """
    change = _lifecycle(run.outputs[key])
    if change in _OVERWRITES:
        return "overwrite"
    return "append" if job_of(run).key.job_type == "spark" else ""


def rows_written(run: Run, key: DatasetKey) -> int | None:
    """Return the number of rows written to one of the run's targets, if reported."""
    statistics = (run.outputs[key].get("outputFacets") or {}).get("outputStatistics") or {}
    count = statistics.get("rowCount")
    return None if count is None else int(count)


def translate(run: Run, key: DatasetKey, sequence: int | None = None) -> Iterator[Element]:
    """Yield what the run did to one target. `sequence` is the position of the write in the job's run.

    Every input feeds the target, and so does a dataset that only the column lineage names.
    """
    job_run = job_of(run)
    job, of_spark = job_run.key, job_run.key.job_type == "spark"
    output = run.outputs[key]
    target = reference(*key, job.name)
    inputs = {reference(*each, job.name): found for each, found in run.inputs.items()}
    query = str((run.job_facets.get("sql") or {}).get("query") or "")
    tables = {
        ref: stored_table(found, ref, query, of_spark=of_spark)
        for ref, found in ((target, output), *inputs.items())
    }
    yield from dataset_elements(output, tables[target], Authority.BUILDER, of_spark=of_spark)
    if job.job_type == "dbt" and job.name.startswith("snapshot."):
        yield Dataset(target, Authority.BUILDER, "snapshot")
    yield _job(run, job_run)
    yield Writes(job, target)
    for ref, found in inputs.items():
        yield from dataset_elements(found, tables[ref], Authority.READER, of_spark=of_spark)
    facet: Mapping[str, Any] = (output.get("facets") or {}).get("columnLineage") or {}
    mode = write_mode(run, key)
    properties: dict[str, Scalar] = {"write_mode": mode} if mode else {}
    if sequence is not None:
        properties["sequence"] = sequence
    for source in sorted(inputs.keys() | columns.sources(facet, job.name)):
        table = tables.get(source) or StoredTable(source)
        reads: dict[str, Scalar] = {"reads": "metadata"} if table.part == "metadata" else {}
        yield Feeds(job, table.ref, target, {**properties, **reads})
    yield from stored(columns.column_elements(facet, job, target), tables)


def translate_dataset(event: Document, location: str) -> Iterator[Element]:
    """Translate a `DatasetEvent`: metadata of a dataset, without a job."""
    dataset = event["dataset"]
    ref = reference(dataset["namespace"], dataset["name"])
    yield from dataset_elements(dataset, stored_table(dataset, ref), Authority.CATALOG)
    facet = (dataset.get("facets") or {}).get("columnLineage") or {}
    if columns.sources(facet, ""):
        what = "the event names no job, so its column lineage cannot be used"
        yield Problem("skipped", location, "dataset.facets.columnLineage", what)


def _job(run: Run, job_run: JobRun) -> Job:
    known = {"framework": job_run.framework, "project": job_run.project}
    properties = {name: value for name, value in known.items() if value}
    return Job(job_run.key, properties=properties, sets=sets_of(run.job_facets))


def _only_defines(run: Run, output: Document) -> bool:
    if _lifecycle(output) not in _DEFINITIONS or run.inputs:
        return False
    statistics = (output.get("outputFacets") or {}).get("outputStatistics") or {}
    return not statistics.get("rowCount") and not (output.get("facets") or {}).get("columnLineage")


def _lifecycle(output: Document) -> str:
    facet = (output.get("facets") or {}).get("lifecycleStateChange") or {}
    return str(facet.get("lifecycleStateChange") or "").upper()
