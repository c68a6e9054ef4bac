"""Is everybody there? Asked before Spark starts, so that a wrong address is known in a second."""

from lineage_merge.config import EMBEDDED, Config
from lineage_merge.load import configured
from lineage_merge.load.connection import check


def check_sources(config: Config) -> None:
    """One request to each server that documents come from. Raises `SourceError` or `ConfigError`."""
    if config.spline and config.spline.arango:
        from lineage_merge.sources.spline import arango

        arango.overview(arango.log_in(config.spline.arango))


def check_graph(config: Config) -> None:
    """One query to the graph, if it is not the embedded one. Raises `GraphError` or `ConfigError`."""
    if config.gremlin.endpoint != EMBEDDED:
        check(configured.endpoint(config.gremlin))
