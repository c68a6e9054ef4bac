"""The whole job in a page: sources, merge, intermediate format, load.

The command line, the Airflow DAG and a Glue job call these functions and add nothing.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from lineage_merge import sources
from lineage_merge.config import EMBEDDED, Config
from lineage_merge.embedded.server import EmbeddedServer
from lineage_merge.embedded.store import default_graph_file
from lineage_merge.errors import DocumentError
from lineage_merge.graph import files
from lineage_merge.load.connection import Endpoint, check
from lineage_merge.load.loader import Loaded, load
from lineage_merge.merge import join, names
from lineage_merge.merge.report import Report, report
from lineage_merge.spark import own_errors
from lineage_merge.storage import write_text

Say = Callable[[str], None]


def _silent(_line: str) -> None:
    """The progress of one who wants to hear none."""


@dataclass(frozen=True, slots=True)
class Built:
    """Nodes and edges as DataFrames (`lineage_merge.graph.schema`), and how they came about."""

    nodes: DataFrame
    edges: DataFrame
    report: Report


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did."""

    report: Report
    loaded: Loaded


def build(spark: SparkSession, config: Config, say: Say = _silent) -> Built:
    """Sources to nodes and edges.

    Broken documents are left out and stand in the report; with `config.strict` the first one
    raises `DocumentError`. Raises `SourceError` where a source cannot be read at all.
    """
    with own_errors():
        known = names.from_config(config)
        found = []
        for source in sources.configured(config):
            say(f"reading {source.name}")
            found.append(source.read(spark, config, known))
        records = reduce(DataFrame.unionByName, found).persist(StorageLevel.MEMORY_AND_DISK)
        if config.strict:
            _stop_at_rejected(records)
        say("joining")
        merged = join.merge(records, config.environment, config.dag_name)
        nodes = merged.nodes.persist(StorageLevel.MEMORY_AND_DISK)
        edges = merged.edges.persist(StorageLevel.MEMORY_AND_DISK)
        merged = join.Merged(nodes, edges, merged.aliases)
        return Built(nodes, edges, report(records, merged))


def run(spark: SparkSession, config: Config, say: Say = _silent) -> Outcome:
    """Sources to graph: `build` and `load_graph`."""
    with endpoint(config, say) as target:
        check(target)
        built = build(spark, config, say)
        return Outcome(built.report, load_graph(built.nodes, built.edges, target, say))


def write_folder(built: Built, folder: str, file_format: files.Format = "parquet") -> None:
    """`folder/nodes/`, `folder/edges/` and `folder/report.json`, in place of what stands there."""
    with own_errors():
        files.write(folder, built.nodes, built.edges, file_format)
    write_text(f"{folder.rstrip('/')}/report.json", json.dumps(built.report.as_json(), indent=2) + "\n")


def load_folder(spark: SparkSession, config: Config, folder: str, say: Say = _silent) -> Loaded:
    """Node and edge files to graph."""
    with endpoint(config, say) as target:
        check(target)
        nodes, edges = files.read(spark, folder)
        return load_graph(nodes, edges, target, say)


def load_graph(nodes: DataFrame, edges: DataFrame, target: Endpoint, say: Say = _silent) -> Loaded:
    """Upsert nodes and edges. Raises `GraphError`."""

    def on_progress(what: str, done: int, total: int) -> None:
        say(f"writing {what} ({done} of {total} partitions)")

    with own_errors():
        return load(nodes, edges, target, on_progress=on_progress)


@contextmanager
def endpoint(config: Config, say: Say = _silent, graph_file: Path | None = None) -> Iterator[Endpoint]:
    """The graph to write to; the embedded one is started, and saved at the end."""
    timeout = config.gremlin.timeout_seconds
    if config.gremlin.endpoint != EMBEDDED:
        yield Endpoint(config.gremlin.endpoint, timeout)
        return
    server = EmbeddedServer.attach_or_start(graph_file or default_graph_file(), on_progress=say)
    with server:
        yield Endpoint(server.url, timeout)
        say("saving the graph")
        server.save()


def _stop_at_rejected(records: DataFrame) -> None:
    rejected = records.where("kind = 'problem' and rule = 'rejected'").orderBy("document", "field")
    for row in rejected.limit(1).collect():
        raise DocumentError(row.document, row.field, row.message)
