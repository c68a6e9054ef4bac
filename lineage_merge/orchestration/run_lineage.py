"""The lineage of one run: what it read and wrote, by the sources of a configuration. Nothing is stored."""

from collections.abc import Iterable
from dataclasses import replace

from lineage_merge.config import Config
from lineage_merge.graph_format.elements import COLUMN, JOB, edge_of_row, vertex_of_row
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.input_budget import limit_input
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Job, JobKey, dataset_of
from lineage_merge.model.errors import ConfigError, NotFound
from lineage_merge.orchestration.read_sources import join_records, list_configured_sources, read_all
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.sources.settings import Runs, RunSelection


def read_run(config: Config, run: str, on_progress: ProgressCallback) -> InMemory:
    """Return the graph of a run: of an application or a Glue run, or of a job whose last run it is.

    Sources that know runs read all of their input. Raises `ConfigError` without sources, `NotFound`,
    `SourceError`, and `InputTooLarge` for more than `spark.distribute_above_mb`.
    """
    sources = list_configured_sources(config)
    if not sources:
        raise ConfigError("--run", "a run is read from the sources: set --config")
    selected = {
        key: replace(settings, runs=Runs("run", run=run)) if isinstance(settings, RunSelection) else settings
        for key, settings in config.sources.items()
    }
    with_runs = [source for source in sources if isinstance(selected[source.key], RunSelection)]
    others = [source for source in sources if source not in with_runs]
    of_run = replace(config, sources=selected)
    with limit_input(config.spark.distribute_above_mb << 20):
        resolver = dataset_resolver.from_config(of_run)
        engine = LocalEngine()
        own = read_all(engine, of_run, resolver, with_runs, on_progress)
        records = read_all(engine, of_run, resolver, others, on_progress, before=[own])
        # Jobs without a run, such as OpenLineage's static ones, are of no run.
        jobs = {
            record.key
            for record in own.collect()
            if isinstance(record, Job) and record.properties.get("last_run_id")
        }
        rows = join_records(records, of_run).elements.collect()
    return _select(rows, jobs, run)


def _select(rows: Iterable[Row], jobs: set[JobKey], run: str) -> InMemory:
    """Return the jobs of a run with their edges, and the datasets and columns at these."""
    listed = list(rows)
    ran = {
        key
        for row in listed
        if row["label"] == JOB
        and ((key := JobKey(row["job_type"], row["name"])) in jobs or row.get("last_run_id") == run)
    }
    if not ran:
        raise NotFound(
            f"no run {run} in the sources. Fix: give the id of an application, a Glue run or a dbt invocation"
        )
    edges = [row for row in listed if JobKey(row.get("job_type", ""), row.get("job_name", "")) in ran]
    ends = {end for row in edges for end in (row["from"], row["to"])}
    datasets = ends | {dataset_of(end) for end in ends}
    edges += [row for row in listed if row["label"] == "has_column" and dataset_of(row["from"]) in datasets]
    nodes = [
        row
        for row in listed
        if "from" not in row
        and (
            row["id"] in datasets
            or (row["label"] == COLUMN and dataset_of(row["id"]) in datasets)
            or (row["label"] == JOB and JobKey(row["job_type"], row["name"]) in ran)
        )
    ]
    return InMemory(map(vertex_of_row, nodes), map(edge_of_row, edges))
