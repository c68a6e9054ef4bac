"""The sources that there are. A new one is one folder and one line here (``CONTRIBUTING.md``).

A source's reader takes an engine, the configuration and the names of datasets, and returns rows of
`lineage_merge.merge.records.Record`: elements of `lineage_merge.model.elements`. A catalog's returns rows of
`lineage_merge.merge.catalog_filter.CatalogRecord`, of which only those count that are about something that
another source references.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.sources.dbt.source import DBT
from lineage_merge.sources.glue.source import GLUE
from lineage_merge.sources.hive.source import HIVE
from lineage_merge.sources.openlineage.source import OPENLINEAGE
from lineage_merge.sources.source import Source
from lineage_merge.sources.spline.source import SPLINE
from lineage_merge.sources.sql.source import SQL

if TYPE_CHECKING:
    from lineage_merge.config import Config

# In the order in which they are read, and `doctor` shows them.
SOURCES: tuple[Source, ...] = (SPLINE, OPENLINEAGE, HIVE, DBT, SQL, GLUE)


class Configured(NamedTuple):
    """A source that a configuration names, and its settings."""

    source: Source
    settings: Any


def configured(config: "Config") -> Iterator[Configured]:
    """The sources that a configuration names, in their order."""
    for source in SOURCES:
        settings = config.sources.get(source.key)
        if settings:
            yield Configured(source, settings)
