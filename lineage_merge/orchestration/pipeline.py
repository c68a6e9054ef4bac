"""The pipeline: sources, merge, intermediate files, load.

The command line, the Airflow DAG and cluster jobs call these functions and add no logic.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lineage_merge.config import EMBEDDED, Config
from lineage_merge.exporters import after_load
from lineage_merge.graph_format import local_files
from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.graph_format.schema import Row
from lineage_merge.history.layout import DagScope, history_location
from lineage_merge.history.recording import Recorder
from lineage_merge.infra.arrow_tables import get_column
from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.infra.embedded.graph_tables import GraphTables
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.graph_files import default_graph_file
from lineage_merge.infra.input_budget import limit_input
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.spark_errors import own_errors
from lineage_merge.infra.storage import read_text, write_text
from lineage_merge.infra.telemetry import bind_step, running, step
from lineage_merge.load.graph_access import Graph, check, update
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.result import LoadChanges, LoadResult
from lineage_merge.merge import dataset_resolver
from lineage_merge.merge.alias_resolution import IdentityRow, identities
from lineage_merge.merge.expectations import fail_if_unmet
from lineage_merge.merge.join import job_runs, jobs_with_unread_columns
from lineage_merge.merge.report import EMPTY, REPORT, Report
from lineage_merge.merge.report_builder import complete_report
from lineage_merge.merge.source_completeness import SourceCompleteness, assess
from lineage_merge.model.elements import JobKey, Problem
from lineage_merge.model.errors import (
    DocumentError,
    HistoryError,
    IntermediateError,
    SourceError,
    SourceMissing,
)
from lineage_merge.model.records import Record
from lineage_merge.orchestration.read_sources import (
    input_bytes,
    join_records,
    list_configured_sources,
    read_all,
    read_in_one_task,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage_merge.graph_format.stored_files import Format
    from lineage_merge.load.neptune_bulk.bulk_load import BulkLoad

ALIAS_DDL = "source string, candidates array<string>"
RUNS_DDL = "job_type string, job_name string, runs bigint"
IDENTITY_DDL = "alias_id string, canonical_id string, known_by string"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built(MergeOutput):
    """The output of a merge, and the context of the build.

    `owner`: environment and DAG; None: as in the rows. `release`, or the end of ``with built:``, frees
    cached rows.
    """

    report: Report
    spark: "SparkSession | None"
    owner: tuple[str, str] | None = None

    def release(self) -> None:
        """Free the rows, which cannot be read afterwards."""
        self.nodes.engine.unpersist_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run."""

    report: Report
    loaded: LoadResult


def build(spark: "SparkSession | None", config: Config, on_progress: ProgressCallback = no_progress) -> Built:
    """Read and merge the sources; without Spark in this process, of which `InputTooLarge` is the limit.

    Invalid documents are skipped and reported, as are sources without lineage; with `config.strict` the first
    one raises `DocumentError`, or a source `SourceError`.
    Raises `SourceError` if a source cannot be read.
    """
    with running(config), step("build") as building, own_errors():
        resolver = dataset_resolver.from_config(config)
        records = _records(spark, config, resolver, on_progress)
        with _release_on_error(records.engine):
            if config.strict:
                _stop_at_rejected(records)
            with step("join"):
                on_progress("joining")
                merged = join_records(records, config)
                report = complete_report(records, merged, config)
                if config.strict and report.empty_sources:
                    keys = ", ".join(report.empty_sources)
                    raise SourceError(
                        f"no lineage found in {keys} (strict). Fix: correct or remove its section"
                    )
            building.count(**report.counts)
            return Built(
                merged.nodes,
                merged.edges,
                merged.aliases.candidates,
                job_runs(records),
                identities(records, merged.aliases).cache(),
                replace(assess(config, report), unread_columns=jobs_with_unread_columns(records)),
                report=report,
                spark=spark,
                owner=(config.environment, config.dag_name),
            )


def _records(
    spark: "SparkSession | None",
    config: Config,
    resolver: dataset_resolver.DatasetResolver,
    on_progress: ProgressCallback,
) -> Rows[Record]:
    """Read the records of all sources: in this process if the input is small, else distributed."""
    sources = list_configured_sources(config)
    limit = config.spark.distribute_above_mb << 20
    if spark is None:
        with limit_input(limit):
            return read_all(_local_engine(), config, resolver, sources, on_progress).cache()
    listed = input_bytes(config) if limit else None
    if listed is not None and listed <= limit:
        with step("read"):
            on_progress(f"reading {', '.join(source.name for source in sources)}")
            records = read_in_one_task(spark, config, resolver, sources, limit)
        if records is not None:
            return _local_engine().rows(records)
        on_progress(
            f"the input is larger than {config.spark.distribute_above_mb} MB unpacked: distributing it"
        )
    return read_all(_spark_engine(spark), config, resolver, sources, on_progress)


def _spark_engine(spark: "SparkSession") -> Engine:
    from lineage_merge.infra.engine.on_spark import SparkEngine

    return SparkEngine(spark)


def _local_engine() -> LocalEngine:
    """Return a local engine with a thread per CPU, for several connections to the graph."""
    return LocalEngine(threads=os.cpu_count() or 1)


def run(
    spark: "SparkSession",
    config: Config,
    on_progress: ProgressCallback = no_progress,
    *,
    dry_run: bool = False,
    graph_file: Path | None = None,
) -> Outcome:
    """Build and load: `build` and `load_graph`. A dry run also compares a merge that joins too little.

    Raises `TooFewJoined` before the load if the merge joins less than `merge.expect`.
    """
    with running(config):
        target = graph_of(config, graph_file)
        check(target)
        with build(spark, config, on_progress) as built:
            if not dry_run:
                fail_if_unmet(built.report)
            history = history_location(config, graph_file)
            loaded = load_graph(built, config, target, on_progress, dry_run=dry_run, history=history)
            return Outcome(built.report, loaded)


def write_folder(
    built: Built, folder: str, file_format: "Format" = "parquet", *, is_indexed: bool = True
) -> None:
    """Write `folder/nodes/`, `folder/edges/` and `folder/report.json`; replaces existing files.

    Also writes the input for retiring: `aliases/`, `runs/`, `identities/`, and `coverage` in the report; and,
    if `is_indexed` and Spark runs on this machine, the `index/` for questions.
    """
    from lineage_merge.graph_format import files, folder_index

    engine = built.nodes.engine
    if built.spark is None:
        raise AssertionError("rows that a load read are not written")
    with own_errors():
        files.write(built.spark, folder, built.nodes, built.edges, file_format)
        facts: list[tuple[str, Rows[Row], str]] = []
        if built.aliases is not None:
            aliases = [{"source": key, "candidates": ids} for key, ids in sorted(built.aliases.items())]
            facts.append(("aliases", engine.rows(aliases, 1), ALIAS_DDL))
        if built.runs is not None:
            runs = [
                {"job_type": key.job_type, "job_name": key.name, "runs": number}
                for key, number in sorted(built.runs.items())
            ]
            facts.append(("runs", engine.rows(runs, 1), RUNS_DDL))
        if built.identities is not None:
            facts.append(("identities", built.identities.map(methodcaller("_asdict")), IDENTITY_DDL))
        for name, rows, ddl in facts:
            files.write_facts(built.spark, folder, name, rows, ddl)
        if is_indexed and (built.spark.sparkContext.master or "").startswith("local["):
            folder_index.write_folder_index(folder)
    text = json.dumps({**built.report.as_json(), "coverage": built.coverage.as_json()}, indent=2)
    write_text(f"{folder.rstrip('/')}/{REPORT}", f"{text}\n")


def load_folder(
    spark: "SparkSession | None",
    config: Config,
    folder: str,
    on_progress: ProgressCallback = no_progress,
    *,
    dry_run: bool = False,
    graph_file: Path | None = None,
) -> LoadResult:
    """Load node and edge files. Without `coverage` in their report nothing is retired.

    `spark` may be None if `loads_without_spark`.
    Raises `TooFewJoined` if the build that wrote them joined less than its `merge.expect`.
    """
    report = _report_of(folder)
    if not dry_run:
        fail_if_unmet(Report.from_json(report) if report else EMPTY)
    target = graph_of(config, graph_file)
    check(target)
    with own_errors():
        reader = None if loads_without_spark(config, folder) else spark
        is_distributed = reader is not None and not _is_small(config, folder)
        local = _local_engine()
        engine: Engine = _spark_engine(reader) if reader and is_distributed else local
        tables: GraphTables | None = None
        with _release_on_error(engine):
            if reader is None and isinstance(target, GraphFolder):
                tables = GraphTables(*local_files.read_tables(folder))
                nodes, edges = (local.deferred_rows(partial(rows_of_table, table)) for table in tables)
            else:
                nodes, edges = (rows.cache() for rows in _read_rows(engine, reader, folder))
            aliases, runs, resolved = (
                _read_facts(engine, reader, folder, name, ddl)
                for name, ddl in (("aliases", ALIAS_DDL), ("runs", RUNS_DDL), ("identities", IDENTITY_DDL))
            )
    built = Built(
        nodes,
        edges,
        None if aliases is None else {alias["source"]: alias["candidates"] for alias in aliases.collect()},
        None if runs is None else _fewest(runs.collect()),
        None if resolved is None else resolved.map(IdentityRow.from_row),
        SourceCompleteness.from_json(report.get("coverage", {})),
        report=Report.from_json(report) if report else EMPTY,
        tables=tables,
        spark=spark,
    )
    with built:
        history = history_location(config, graph_file)
        return load_graph(built, config, target, on_progress, dry_run=dry_run, history=history)


def _read_rows(engine: Engine, spark: "SparkSession | None", folder: str) -> tuple[Rows[Row], Rows[Row]]:
    if spark is None:
        return local_files.read_rows(engine, folder)
    from lineage_merge.graph_format import files

    return files.read_rows(engine, spark, folder)


def _read_facts(
    engine: Engine, spark: "SparkSession | None", folder: str, name: str, ddl: str
) -> Rows[Row] | None:
    if spark is None:
        return local_files.read_facts(engine, folder, name, ddl)
    from lineage_merge.graph_format import files

    return files.read_facts(engine, spark, folder, name, ddl)


def loads_without_spark(config: Config, folder: str) -> bool:
    """Return whether `load_folder` needs no Spark session. Raises `IntermediateError`."""
    return local_files.may_read_locally(folder) and _is_small(config, folder)


def _is_small(config: Config, folder: str) -> bool:
    """Return whether this process loads the rows of a folder."""
    limit = config.spark.distribute_above_mb
    if limit and config.gremlin.endpoint == EMBEDDED:
        return True  # this machine holds the graph anyway
    return local_files.estimate_unpacked_size(folder) <= limit << 20


def _fewest(rows: list[Row]) -> dict[JobKey, int]:
    fewest: dict[JobKey, int] = {}
    for row in rows:
        key = JobKey(row["job_type"], row["job_name"])
        fewest[key] = min(row["runs"], fewest.get(key, row["runs"]))
    return fewest


def load_graph(
    built: Built,
    config: Config,
    target: Graph,
    on_progress: ProgressCallback = no_progress,
    *,
    dry_run: bool = False,
    history: str = "",
) -> LoadResult:
    """Update the graph; with `dry_run` only compute the changes.

    Then adds the merge to a history, at `history` if set, and runs `config.exporters`. Raises `GraphError`:
    `RetireRefused` if more than the limit would be retired, unless `config.load.allow_retire`; `ExportError`
    if the graph is loaded, but its history is not written, or an export failed.
    """

    with running(config) as run, step("load") as loading, own_errors():
        on_step_progress = bind_step(on_progress)

        def on_written(what: str, done: int, total: int) -> None:
            on_step_progress(f"writing {what} ({done} of {total} partitions)")

        on_progress("comparing with the graph")
        owner = _owner_of(built, config)
        run.environment, run.dag_name = owner
        recorder = None
        changed: list[LoadChanges] = []
        if history and not dry_run:
            recorder = Recorder.read_last_load(history, DagScope(*owner), target)
        loaded = update(
            built,
            target,
            *owner,
            allow_retire=config.load.allow_retire,
            verify=config.load.verify,
            dry_run=dry_run,
            on_written=on_written,
            in_bulk=_bulk_loader(config, target),
            on_progress=on_step_progress,
            on_changed=changed.append,
        )
        loading.count(**loaded.counts)
    unwritten: HistoryError | None = None
    if recorder:
        try:
            with running(config), step("history"), own_errors():
                engine = built.nodes.engine
                changes = changed[0] if changed else None
                recorder.record(engine, built.spark, config, loaded, built.report, on_progress, changes)
        except HistoryError as error:
            unwritten = error  # after the exporters
    if config.exporters and not dry_run:
        with running(config), step("export"):
            exported = after_load.send(config.exporters, target, *owner, on_progress)
            loaded = replace(loaded, exported=exported)
    if unwritten:
        raise unwritten
    return loaded


def _bulk_loader(config: Config, target: Graph) -> "BulkLoad | None":
    if isinstance(target, GraphFolder):
        return None
    from lineage_merge.load.neptune_bulk import bulk_load

    return bulk_load.find_configured(config.gremlin, target)


def _owner_of(built: Built, config: Config) -> tuple[str, str]:
    """Return environment and DAG of the nodes."""
    if built.owner:
        return built.owner
    # A row without one of the two is reported when it is written.
    owners = [owner for owner in _owners_in(built) if all(owner)]
    if len(owners) > 1:
        raise IntermediateError("the files contain several environments or DAGs: load each separately")
    owner: tuple[str, str] = owners[0] if owners else (config.environment, config.dag_name)
    if not all(owner):
        problem = "the files have no nodes with an environment and a DAG name"
        raise IntermediateError(f"{problem}. Fix: set --environment and --dag-name to load them")
    return owner


def _owners_in(built: Built) -> list[tuple[str, str]]:
    if built.tables:
        environments, dags = (get_column(built.tables.vertices, name) for name in ("environment", "dag_name"))
        return [*product(environments.unique().to_pylist(), dags.unique().to_pylist())]
    return built.nodes.map(_owner).distinct().collect()


def _owner(row: Row) -> tuple[str, str]:
    return row.get("environment") or "", row.get("dag_name") or ""


def _report_of(folder: str) -> dict[str, Any]:
    """Return `report.json`; empty if it is missing."""
    file = f"{folder.rstrip('/')}/{REPORT}"
    try:
        content = json.loads(read_text(file))
    except SourceMissing:
        return {}
    except ValueError:
        raise IntermediateError(f"{file}: not JSON") from None
    if not isinstance(content, dict):
        raise IntermediateError(f"{file}: not a report")
    return content


def graph_of(config: Config, graph_file: Path | None = None) -> Graph:
    """Return the graph of a configuration: an endpoint, or the folder of the embedded graph.

    `graph_file`: that folder, if it is not the default one.
    """
    if config.gremlin.endpoint == EMBEDDED:
        return GraphFolder(graph_file or default_graph_file())
    from lineage_merge.load.gremlin import configured_endpoint

    return configured_endpoint.endpoint(config.gremlin)


@contextmanager
def _release_on_error(engine: Engine) -> Iterator[None]:
    try:
        yield
    except BaseException:
        engine.unpersist_all()
        raise


def _stop_at_rejected(records: Rows[Record]) -> None:
    rejected = records.flat_map(_list_rejected).collect()
    if rejected:
        first = min(rejected, key=lambda problem: (problem.document, problem.field))
        raise DocumentError(first.document, first.field, first.message)


def _list_rejected(record: Record) -> Iterator[Problem]:
    if isinstance(record, Problem) and record.kind == "rejected":
        yield record
