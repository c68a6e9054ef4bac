"""Checks of files of Spline's agent and of the listener: they exist, and have plans or events."""

from collections.abc import Iterator

from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, examine_lines, validity
from lineage_merge.sources.spline import settings
from lineage_merge.sources.spline.agent.messages import check_message, event_times, messages
from lineage_merge.sources.spline.settings import LINES, Capture, Spline

AGENT = "Spline agent"
FILES = "capture files"
_DISPATCHER = "set spark.spline.lineageDispatcher=logging, or console, and its logger to INFO"
_INSTALL = (
    "call lineage_merge.capture.install(spark, FOLDER) in the jobs, and check their logs for 'lineage:'"
)


def _examine_agent(spline: Spline) -> Iterator[Diagnosis]:
    return examine_lines(
        AGENT, "spline.agent", spline.agent, _inspect, _DISPATCHER, settings.AGENT, times_of=_event_times
    )


def _examine_capture(capture: Capture) -> Iterator[Diagnosis]:
    return examine_lines(
        FILES, "capture.files", capture.files, _inspect, _INSTALL, LINES, times_of=_event_times
    )


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid message, else the problem of the first one."""
    return validity(messages(line_files.number_lines(part)), check_message)


def _event_times(part: Slice) -> Iterator[int]:
    return event_times(line_files.stop_at_damage(messages(line_files.number_lines(part))))


CHECKS = (SourceCheck(AGENT, _examine_agent),)
CAPTURE_CHECKS = (SourceCheck(FILES, _examine_capture),)
