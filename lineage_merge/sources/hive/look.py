"""Are the logs there? Asked before Spark starts."""

from lineage_merge.sources import lines
from lineage_merge.sources.hive.settings import Hive


def look(hive: Hive) -> None:
    """One listing. Raises `SourceError`."""
    lines.find(hive.log)
