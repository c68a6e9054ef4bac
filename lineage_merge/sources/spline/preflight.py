"""Is Spline's database there, or are the agents' files? Asked before Spark starts."""

from lineage_merge.sources import line_files
from lineage_merge.sources.spline import arango
from lineage_merge.sources.spline.settings import Spline


def look(spline: Spline) -> None:
    """One request to the server, one listing of the files. Raises `SourceError` or `ConfigError`."""
    if spline.arango:
        arango.overview(arango.log_in(spline.arango))
    if spline.agent:
        line_files.find(spline.agent)
