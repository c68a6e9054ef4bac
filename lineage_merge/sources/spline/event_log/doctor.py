"""Check of event logs: they exist, and have executions that write; how `init` finds them."""

from collections.abc import Iterator

from lineage_merge.infra.storage import Slice, StoredFile
from lineage_merge.model.elements import Problem
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, examine_lines
from lineage_merge.sources.discovery import SourceDiscovery, files_option
from lineage_merge.sources.spline.event_log.log_files import EventLogFiles, find_logs, read_lines
from lineage_merge.sources.spline.event_log.settings import LINES, EventLog
from lineage_merge.sources.spline.event_log.writes import read_writes

LOGS = "Spark event logs"
_ENABLE = (
    "set spark.eventLog.enabled=true and spark.eventLog.dir; on Glue --enable-spark-ui=true and "
    "--spark-event-logs-path"
)


def _examine(settings: EventLog) -> Iterator[Diagnosis]:
    return examine_lines(
        LOGS, "event_log.logs", settings.logs, _inspect, _ENABLE, LINES, times_of=_event_times
    )


def _writes(part: Slice) -> Iterator[tuple[int, Problem | None]]:
    for write in read_writes(part.location, read_lines(EventLogFiles(part.location, (part,)))):
        yield (0, write) if isinstance(write, Problem) else (write.event["timestamp"], None)


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a write, else the problem of the first execution."""
    problem: Problem | None = None
    for time, found in _writes(part):
        if time:
            return True, None
        problem = problem or found
    return False, problem


def _event_times(part: Slice) -> Iterator[int]:
    return (time for time, _ in _writes(part) if time)


CHECKS = (SourceCheck(LOGS, _examine),)


class EventLogDiscovery(SourceDiscovery):
    """Files whose first lines are events of Spark's listeners."""

    options = (files_option("--event-log", "logs", "Spark's event logs"),)
    line_key = "logs"
    job_word = "application"
    selected_by = "applications"

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the first line of a file is an event of Spark's. Raises `SourceError`."""
        logs = find_logs([file.location])
        first = next((line for log in logs for _, line in read_lines(log)), b"")
        return first.startswith(b'{"Event":"SparkListener')
