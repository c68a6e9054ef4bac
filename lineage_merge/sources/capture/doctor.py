"""Check of the listener's files: they exist and are valid."""

from collections.abc import Iterator

from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.sources import line_files
from lineage_merge.sources.capture.settings import LINES, Capture
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, examine_lines, validity
from lineage_merge.sources.spline.agent.messages import check_message, event_times, messages

FILES = "capture files"
_INSTALL = (
    "call lineage_merge.capture.install(spark, FOLDER) in the jobs, and check their logs for 'lineage:'"
)


def _examine(capture: Capture) -> Iterator[Diagnosis]:
    """Check the files of each location, and the last one for a plan or an event."""
    return examine_lines(
        FILES, "capture.files", capture.files, _inspect, _INSTALL, LINES, times_of=_event_times
    )


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid message, else the problem of the first one."""
    return validity(messages(line_files.number_lines(part)), check_message)


def _event_times(part: Slice) -> Iterator[int]:
    return event_times(line_files.until_damage(messages(line_files.number_lines(part))))


CHECKS = (SourceCheck(FILES, _examine),)
