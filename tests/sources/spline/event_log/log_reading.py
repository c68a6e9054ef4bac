"""Writes of an event log, and their column lineage."""

from collections.abc import Iterable, Iterator

from lineage_merge.sources.spline.agent.plans import documents
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.lineage import ColumnLineage, column_lineage
from lineage_merge.sources.spline.event_log.messages import LoggedWrite
from lineage_merge.sources.spline.event_log.writes import read_writes


def read_targets(lines: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, LoggedWrite]]:
    """Yield the writes of a log, each with the last part of its target's path."""
    for write in read_writes("log", lines):
        if isinstance(write, LoggedWrite):
            yield str(write.plan["operations"]["write"]["outputSource"]).rpartition("/")[2], write


def columns_of(write: LoggedWrite) -> ColumnLineage:
    """Return the column lineage of a write."""
    parts = documents(write.plan)
    [header] = parts.pop("executionPlan")
    return column_lineage(PlanColumns(header, parts))
