"""A merge of small sources in this process, without Spark and without a graph: for checks before a run."""

from typing import NamedTuple

from lineage_merge.config import Config
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.infra.input_budget import limited
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.merge.report import Report
from lineage_merge.merge.report_builder import complete_report
from lineage_merge.orchestration.read_sources import configured_sources, read_all


class LocalMerge(NamedTuple):
    """The report, and the nodes and edges."""

    report: Report
    elements: Rows[Row]


def merge(config: Config, on_progress: ProgressCallback = no_progress) -> LocalMerge:
    """Read and merge all sources.

    Raises `SourceError`, and `InputTooLarge` for more than `spark.distribute_above_mb` of unpacked input.
    """
    with limited(config.spark.distribute_above_mb << 20):
        resolver = dataset_resolver.from_config(config)
        records = read_all(LocalEngine(), config, resolver, configured_sources(config), on_progress).cache()
        on_progress("joining")
        merged = join.merge(records, config.environment, config.dag_name, config.merge, config.metadata)
        found = complete_report(records, merged, config)
    return LocalMerge(found, merged.elements)
