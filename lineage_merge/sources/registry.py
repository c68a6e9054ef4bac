"""The registered sources. A new source is one folder and one line here (``CONTRIBUTING.md``).

A source's reader takes an engine, the configuration and a `lineage_merge.sources.resolver.Resolver`, and
returns rows of `lineage_merge.model.records.Record`: elements of `lineage_merge.model.elements`. A catalog's
reader returns rows of `lineage_merge.model.records.CatalogEntry`; only entries that another source
references are used.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.sources.dbt.source import DBT
from lineage_merge.sources.declared.source import DECLARED_LINEAGE
from lineage_merge.sources.glue.source import GLUE
from lineage_merge.sources.hive.source import HIVE
from lineage_merge.sources.openlineage.source import OPENLINEAGE
from lineage_merge.sources.query_log.source import QueryLogSource
from lineage_merge.sources.quicksight.source import QUICKSIGHT
from lineage_merge.sources.source import Source
from lineage_merge.sources.spline.event_log.source import EVENT_LOG
from lineage_merge.sources.spline.source import CAPTURE, SPLINE
from lineage_merge.sources.sql.source import SQL
from lineage_merge.sources.superset.source import SUPERSET

if TYPE_CHECKING:
    from lineage_merge.config import Config

QUERY_LOG = QueryLogSource(DBT)
# In reading order, which is also the order in `doctor`.
SOURCES: tuple[Source[Any], ...] = (
    SPLINE,
    CAPTURE,
    EVENT_LOG,
    OPENLINEAGE,
    HIVE,
    QUERY_LOG,
    DBT,
    SQL,
    QUICKSIGHT,
    SUPERSET,
    DECLARED_LINEAGE,
    GLUE,
)


class Configured(NamedTuple):
    """A configured source and its settings."""

    source: Source[Any]
    settings: Any


def list_configured(config: "Config") -> Iterator[Configured]:
    """Yield the configured sources in reading order."""
    for source in SOURCES:
        settings = config.sources.get(source.key)
        if settings:
            yield Configured(source, settings)
