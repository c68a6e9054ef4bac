"""Preflight checks: required services are reachable. Run before Spark starts, to fail fast."""

from lineage_merge.config import EMBEDDED, NO_HISTORY, Config
from lineage_merge.exporters import after_load
from lineage_merge.history import merge_index
from lineage_merge.model.errors import ConfigError, SourceError
from lineage_merge.sources import registry
from lineage_merge.sources.kafka_landing import broker_check


def check_sources(config: Config) -> None:
    """Check the servers and log files of all sources, with one request each.

    Raises `SourceError` or `ConfigError`.
    """
    for source, settings in registry.list_configured(config):
        source.preflight(settings)
    for topic in broker_check.list_topics(config):
        broker_check.check(topic)


def check_graph(config: Config) -> None:
    """Check the graph with one query, or what an embedded one needs; exporters' requirements; the history.

    Raises `GraphError`, `EmbeddedError` or `ConfigError`.
    """
    after_load.check(config.exporters)
    _check_history(config.history.location)
    if config.gremlin.endpoint == EMBEDDED:
        from lineage_merge.infra.embedded.graph_tables import require_arrow

        require_arrow()
    else:
        # Imports a client, which a build does not need before Spark starts.
        from lineage_merge.load.gremlin import configured_endpoint
        from lineage_merge.load.gremlin.connection import check

        check(configured_endpoint.endpoint(config.gremlin))


def _check_history(location: str) -> None:
    """List the history, which may be empty: a load whose merge cannot be added should not start."""
    if location in ("", NO_HISTORY):
        return
    try:
        merge_index.environments(location)
    except SourceError as error:
        raise ConfigError("history.location", error.message) from None
