"""Reading all configured sources into records: distributed, or in one task if the input is small."""

import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.input_budget import limit_input
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.telemetry import step
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.merge.catalog_filter import filter_referenced
from lineage_merge.merge.report import Report
from lineage_merge.merge.report_builder import assign_source, complete_report
from lineage_merge.model.errors import InputTooLarge
from lineage_merge.model.records import Record
from lineage_merge.naming.jobs import DECLARED
from lineage_merge.sources import registry
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.source import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read_all(
    engine: Engine,
    config: Config,
    resolver: Resolver,
    sources: Sequence[Source[Any]],
    on_progress: ProgressCallback = no_progress,
    *,
    before: Iterable[Rows[Record]] = (),
) -> Rows[Record]:
    """Read the records of sources; of catalogs only those about datasets that other sources reference.

    `before`: records that were read before, which belong to the result.
    """
    parts = list(before)
    catalogs: list[tuple[Source[Any], Rows[Any]]] = []
    clients = number_clients(sources)
    for source in sources:
        with step("read"):
            on_progress(f"reading {source.name}")
            read = source.read(engine, config, resolver)
            if source.is_catalog:
                catalogs.append((source, read))
            else:
                parts.append(assign_source(read, source.key, clients.get(source.key, 0)))
    records = engine.union(parts).cache()
    for source, catalog in catalogs:
        listed = catalog.cache()
        records = records.union(assign_source(filter_referenced(listed, records), source.key)).cache()
    return records


def number_clients(sources: Sequence[Source[Any]]) -> dict[str, int]:
    """Return the number of each source that reads what a client in a job reported: the first one is 0."""
    present = sorted(
        (source for source in sources if source.precedence), key=lambda source: source.precedence
    )
    return {source.key: number for number, source in enumerate(present)}


def list_configured_sources(config: Config) -> tuple[Source[Any], ...]:
    """Return the configured sources in reading order."""
    return tuple(source.source for source in registry.list_configured(config))


def input_bytes(config: Config) -> int | None:
    """Return the input size of all sources in bytes; None if it is unknown before reading."""
    total = 0
    for source, settings in registry.list_configured(config):
        size = source.size(settings)
        if size is None:
            return None
        total += size
    return total


def read_in_one_task(
    spark: "SparkSession", config: Config, resolver: Resolver, sources: Sequence[Source[Any]], max_bytes: int
) -> list[Record] | None:
    """Read and translate sources in one Spark task.

    Returns None if more than `max_bytes` of text would be read: compressed files may exceed the listed size.
    """
    task = _OneTask(_prepare_for_executors(config), resolver, sources, max_bytes)
    (by_kind,) = spark.sparkContext.parallelize([0], 1).mapPartitions(task).collect()
    if by_kind is None:
        return None
    return [kind._make(fields) for kind, of_kind in by_kind.items() for fields in of_kind]


class _OneTask:
    def __init__(
        self, config: Config, resolver: Resolver, sources: Sequence[Source[Any]], max_bytes: int
    ) -> None:
        self.config = config
        self.resolver = resolver
        # Passed from the driver: a worker's registry lacks sources that were added at run time.
        self.sources = sources
        self.max_bytes = max_bytes

    def __call__(self, _rows: Iterable[int]) -> Iterator[dict[type[Record], list[tuple[Any, ...]]] | None]:
        # Everything that is read is needed until the end: garbage collection would take a tenth of the time.
        gc.disable()
        try:
            with limit_input(self.max_bytes):
                # Plain tuples pickle faster.
                by_kind: dict[type[Record], list[tuple[Any, ...]]] = defaultdict(list)
                for record in read_all(LocalEngine(), self.config, self.resolver, self.sources).collect():
                    by_kind[type(record)].append(tuple(record))
                yield by_kind
        except InputTooLarge:
            yield None
        finally:
            gc.enable()


def _prepare_for_executors(config: Config) -> Config:
    """Return the configuration with the secrets that only the driver's environment has."""
    sources = dict(config.sources)
    for source, settings in registry.list_configured(config):
        sources[source.key] = source.with_secrets(settings)
    return replace(config, sources=sources)


def join_records(records: Rows[Record], config: Config) -> join.Merged:
    """Merge the records of all sources, by the configuration."""
    has_declared = any(DECLARED in source.job_types for source in list_configured_sources(config))
    return join.merge(
        records,
        config.environment,
        config.dag_name,
        config.merge,
        config.metadata,
        has_declared=has_declared,
    )


class LocalMerge(NamedTuple):
    """The report, and the nodes and edges."""

    report: Report
    elements: Rows[Row]


def merge(config: Config, on_progress: ProgressCallback = no_progress) -> LocalMerge:
    """Read and merge all sources.

    Raises `SourceError`, and `InputTooLarge` for more than `spark.distribute_above_mb` of unpacked input.
    """
    with limit_input(config.spark.distribute_above_mb << 20):
        resolver = dataset_resolver.from_config(config)
        records = read_all(
            LocalEngine(), config, resolver, list_configured_sources(config), on_progress
        ).cache()
        on_progress("joining")
        merged = join_records(records, config)
        report = complete_report(records, merged, config)
    return LocalMerge(report, merged.elements)
