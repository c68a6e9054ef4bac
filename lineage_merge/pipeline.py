"""The whole job in a page: sources, merge, intermediate format, load.

The command line, the Airflow DAG and a Glue job call these functions and add nothing.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import EMBEDDED, Config
from lineage_merge.embedded.server import EmbeddedServer
from lineage_merge.embedded.store import default_graph_file
from lineage_merge.errors import DocumentError, IntermediateError, SinkError, SourceMissing
from lineage_merge.graph import files
from lineage_merge.kept import keep, keep_planned, keeping, let_go
from lineage_merge.load import bulk, configured
from lineage_merge.load.connection import Endpoint, check
from lineage_merge.load.outcome import Loaded
from lineage_merge.load.update import ALIAS_DDL, RUNS_DDL, Merge, update
from lineage_merge.merge import join, names
from lineage_merge.merge.coverage import NOTHING, Coverage, covered, why_not_retired
from lineage_merge.merge.identities import IDENTITY_DDL, identities
from lineage_merge.merge.job_runs import job_runs
from lineage_merge.merge.mentioned import of_mentioned
from lineage_merge.merge.outcome import REPORT, Report
from lineage_merge.merge.report import of_source, report
from lineage_merge.progress import Say, silent
from lineage_merge.sinks import after_load
from lineage_merge.sources import registry
from lineage_merge.sources.source import function
from lineage_merge.spark import own_errors
from lineage_merge.storage import read_text, write_text
from lineage_merge.telemetry import in_step, running, step
from lineage_merge.telemetry.counts import loaded_counts, report_counts

EMPTY = Report({}, {}, {}, (), ())


@dataclass(frozen=True, slots=True)
class Built:
    """Nodes and edges as DataFrames (`lineage_merge.graph.schema`), and how they came about.

    `aliases`, `runs`, `identities` and `coverage` say what the graph may lose (`load.update.Merge`).
    `kept` are frames that Spark keeps until `let_go`, which comes at the end of ``with built:``.
    """

    nodes: DataFrame
    edges: DataFrame
    report: Report
    aliases: DataFrame | None = None
    runs: DataFrame | None = None
    identities: DataFrame | None = None
    coverage: Coverage = NOTHING
    kept: tuple[DataFrame, ...] = ()

    def let_go(self) -> None:
        """Free what Spark keeps of it, which cannot be read any more."""
        let_go(self.kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.let_go()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did."""

    report: Report
    loaded: Loaded


def build(spark: SparkSession, config: Config, say: Say = silent) -> Built:
    """Sources to nodes and edges.

    Broken documents are left out and stand in the report; with `config.strict` the first one
    raises `DocumentError`. Raises `SourceError` where a source cannot be read at all.
    """
    with running(config), step("build") as building, own_errors(), keeping() as kept:
        known = names.from_config(config)
        found: list[DataFrame] = []
        catalogs: list[DataFrame] = []
        for source, _ in registry.configured(config):
            with step("read"):
                say(f"reading {source.name}")
                read = of_source(function(source.read)(spark, config, known), source.key)
                (catalogs if source.is_catalog else found).append(read)
        records = keep(reduce(DataFrame.unionByName, found))
        if catalogs:
            listed = keep(reduce(DataFrame.unionByName, catalogs))
            records = keep(records.unionByName(of_mentioned(listed, records)))
        if config.strict:
            _stop_at_rejected(records)
        with step("join"):
            say("joining")
            merged = join.merge(records, config.environment, config.dag_name, config.merge)
            nodes, edges = keep_planned(merged.nodes), keep_planned(merged.edges)
            merged = join.Merged(nodes, edges, merged.aliases)
            # The first of Spark's jobs: what was only planned so far is done here.
            told = report(records, merged)
            told = replace(told, not_retired=why_not_retired(config, told))
        building.count(**report_counts(told))
        return Built(
            nodes,
            edges,
            told,
            merged.aliases,
            job_runs(records),
            keep(identities(records, merged.aliases)),
            covered(config, told),
            tuple(kept),
        )


def run(spark: SparkSession, config: Config, say: Say = silent, *, dry_run: bool = False) -> Outcome:
    """Sources to graph: `build` and `load_graph`."""
    with running(config), endpoint(config, say) as target:
        check(target)
        with build(spark, config, say) as built:
            return Outcome(built.report, load_graph(built, config, target, say, dry_run=dry_run))


def write_folder(built: Built, folder: str, file_format: files.Format = "parquet") -> None:
    """`folder/nodes/`, `folder/edges/` and `folder/report.json`, in place of what stands there.

    With what a load needs to retire: `aliases/`, `runs/`, `identities/`, and `coverage` in the report.
    """
    with own_errors():
        files.write(folder, built.nodes, built.edges, file_format)
        facts = (("aliases", built.aliases), ("runs", built.runs), ("identities", built.identities))
        for name, rows in facts:
            if rows is not None:
                files.write_facts(folder, name, rows)
    told = {**built.report.as_json(), "coverage": built.coverage.as_json()}
    write_text(f"{folder.rstrip('/')}/{REPORT}", json.dumps(told, indent=2) + "\n")


def load_folder(
    spark: SparkSession, config: Config, folder: str, say: Say = silent, *, dry_run: bool = False
) -> Loaded:
    """Node and edge files to graph. Files that do not say what was read retire nothing."""
    with endpoint(config, say) as target:
        check(target)
        with own_errors(), keeping() as kept:
            nodes, edges = (keep(rows) for rows in files.read(spark, folder))
            aliases = files.read_facts(spark, folder, "aliases", ALIAS_DDL)
            runs = files.read_facts(spark, folder, "runs", RUNS_DDL)
            resolved = files.read_facts(spark, folder, "identities", IDENTITY_DDL)
        told = _told(folder)
        read = Report.from_json(told) if told else EMPTY
        built = Built(
            nodes,
            edges,
            read,
            aliases,
            runs,
            resolved,
            Coverage.from_json(told.get("coverage", {})),
            tuple(kept),
        )
        with built:
            return load_graph(built, config, target, say, dry_run=dry_run)


def load_graph(
    built: Built, config: Config, target: Endpoint, say: Say = silent, *, dry_run: bool = False
) -> Loaded:
    """Make the graph what was built; with `dry_run` only say what would be done.

    Afterwards `config.sinks` are told. Raises `GraphError`: `RetireRefused` where too much would go, unless
    `config.load.allow_retire`; `SinkError` where the graph is loaded, but a sink did not take it.
    """

    with running(config), step("load") as loading, own_errors():
        tell = in_step(say)

        def on_progress(what: str, done: int, total: int) -> None:
            tell(f"writing {what} ({done} of {total} partitions)")

        say("comparing with the graph")
        whose = _whose(built, config)
        loaded = update(
            Merge(
                built.nodes,
                built.edges,
                built.aliases,
                built.runs,
                built.identities,
                built.coverage,
                built.report,
            ),
            target,
            *whose,
            allow_retire=config.load.allow_retire,
            dry_run=dry_run,
            on_progress=on_progress,
            in_bulk=bulk.configured(config.gremlin, target),
            say=tell,
        )
        loading.count(**loaded_counts(loaded))
    if dry_run or not config.sinks:
        return loaded
    with running(config), step("export"):
        return replace(loaded, exported=after_load.send(config.sinks, target, *whose, say))


def _whose(built: Built, config: Config) -> tuple[str, str]:
    """Environment and DAG of the nodes: files say it themselves."""
    found = built.nodes.select("environment", "dag_name").distinct().limit(2).collect()
    if len(found) > 1:
        raise IntermediateError("the files hold several environments or DAGs: load each by itself")
    return (found[0].environment, found[0].dag_name) if found else (config.environment, config.dag_name)


def _told(folder: str) -> dict[str, Any]:
    """What `report.json` says; nothing where there is none."""
    file = f"{folder.rstrip('/')}/{REPORT}"
    try:
        told = json.loads(read_text(file))
    except SourceMissing:
        return {}
    except ValueError:
        raise IntermediateError(f"{file}: not JSON") from None
    if not isinstance(told, dict):
        raise IntermediateError(f"{file}: not a report")
    return told


@contextmanager
def endpoint(config: Config, say: Say = silent, graph_file: Path | None = None) -> Iterator[Endpoint]:
    """The graph to write to; the embedded one is started, and saved at the end."""
    if config.gremlin.endpoint != EMBEDDED:
        yield configured.endpoint(config.gremlin)
        return
    server = EmbeddedServer.attach_or_start(graph_file or default_graph_file(), on_progress=say)
    with server:
        try:
            yield configured.endpoint(config.gremlin, server.url)
        except SinkError:
            server.save()  # the graph is loaded, whoever did not take it afterwards
            raise
        say("saving the graph")
        server.save()


def _stop_at_rejected(records: DataFrame) -> None:
    rejected = records.where("kind = 'problem' and rule = 'rejected'").orderBy("document", "field")
    for row in rejected.limit(1).collect():
        raise DocumentError(row.document, row.field, row.message)
