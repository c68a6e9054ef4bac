"""Writes the page as a folder, for graphs of any size."""

from collections.abc import Mapping

from lineage_merge.cli.page_topics import read_topic_sources
from lineage_merge.exporters.page import Options
from lineage_merge.exporters.page.data import freshness_rows
from lineage_merge.exporters.page.sharded import Annotations, Scope, write_sharded
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import ConfigError
from lineage_merge.query.session import Session
from lineage_merge.questions.traversal.staleness import Expectations, freshness_within


def check_options(given: Mapping[str, bool]) -> None:
    """Raise `ConfigError` for an option that needs the page as one file."""
    for option, is_given in given.items():
        if is_given:
            raise ConfigError(option, "only for a page of one file. Fix: --out lineage.html, or omit it")


def write_folder(
    session: Session,
    location: str,
    options: Options,
    expectations: Expectations,
    on_progress: ProgressCallback,
) -> dict[str, int]:
    """Write everything in the scope of a session; return counts."""
    graph, scope = session.graph, Scope(session.environment, session.dag)
    environments = [scope.environment] if scope.environment else graph.environments()
    on_progress("assessing freshness")
    ids = graph.ids(DATASET_LABELS, *scope)
    freshness = freshness_within(graph, ids, expectations, environment=scope.environment, dag=scope.dag)
    rows = freshness_rows(freshness)
    del freshness
    on_progress("checking policies, tags and names")
    sources = read_topic_sources(graph, environments, session.config, *scope, expectations.now)
    written = write_sharded(graph, location, options, scope, Annotations(rows, sources.describe), on_progress)
    return {
        "datasets": written.datasets,
        "columns": written.columns,
        "shards": written.shards,
        "bytes": written.bytes,
    }
