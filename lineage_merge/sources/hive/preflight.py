"""Are the logs there? Asked before Spark starts."""

from lineage_merge.sources import line_files
from lineage_merge.sources.hive.settings import Hive


def look(hive: Hive) -> None:
    """One listing. Raises `SourceError`."""
    line_files.find(hive.log)
