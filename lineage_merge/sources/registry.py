"""The sources that there are. A new one is one folder and one line here.

A source is a function that takes a Spark session and its part of the configuration and
returns rows of `lineage_merge.records.RECORD_DDL`: elements of `lineage_merge.model`. A catalog
returns rows of `lineage_merge.merge.mentioned.DESCRIBED_DDL`, of which only those count that are
about something that another source mentions.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config
from lineage_merge.merge.names import Names
from lineage_merge.sources.dbt.read import read_dbt
from lineage_merge.sources.glue.read import read_glue
from lineage_merge.sources.spline.read import read_spline

Reader = Callable[[SparkSession, Config, Names], DataFrame]


class Source(NamedTuple):
    """A source: what a person calls it, whether a configuration has it, and its reader."""

    name: str
    is_configured: Callable[[Config], bool]
    read: Reader
    is_catalog: bool = False


SOURCES: tuple[Source, ...] = (
    Source("Spline", lambda config: config.spline is not None, read_spline),
    Source("dbt", lambda config: bool(config.dbt), read_dbt),
    Source("the Glue catalog", lambda config: bool(config.glue), read_glue, is_catalog=True),
)


def configured(config: Config) -> Iterator[Source]:
    """The sources that a configuration names."""
    return (source for source in SOURCES if source.is_configured(config))
