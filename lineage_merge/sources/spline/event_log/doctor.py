"""Check of event logs: what they hold, and which setting of Spark repairs plans; how `init` finds them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lineage_merge.infra.storage import StoredFile
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.model.times import latest_credible
from lineage_merge.naming import redact
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import (
    Diagnosis,
    SourceCheck,
    ahead_warning,
    fix_for,
    ok,
    report_failure,
    warning,
)
from lineage_merge.sources.discovery import SourceDiscovery, files_option
from lineage_merge.sources.spline.event_log.executions import Log, read_events
from lineage_merge.sources.spline.event_log.log_files import EventLogFiles, find_logs, read_lines
from lineage_merge.sources.spline.event_log.settings import LINES, EventLog
from lineage_merge.sources.spline.event_log.writes import read_writes

LOGS = "Spark event logs"
_ENABLE = (
    "set spark.eventLog.enabled=true and spark.eventLog.dir; on Glue --enable-spark-ui=true and "
    "--spark-event-logs-path"
)
# What is read of the last logs at a location: some seconds.
_BYTES = 64 << 20
_FIRST_LINES = 100
# What a problem of a plan says, and the setting of a job that repairs it.
_REPAIRS = {
    "spark.sql.debug.maxToStringFields": "spark.sql.debug.maxToStringFields=1000",
    "spark.sql.maxPlanStringLength": "spark.sql.maxPlanStringLength=2147483632 (Spark's default)",
    "spark.sql.ui.explainMode": "spark.sql.ui.explainMode=formatted (Spark's default)",
    "this form of a plan": "spark.sql.ui.explainMode=formatted (Spark's default)",
}


@dataclass(slots=True)
class _Holding:
    """What logs hold: `cut` counts plans that are not whole by the setting that repairs them."""

    applications: set[str] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    plans: int = 0
    incomplete: int = 0
    cut: Counter[str] = field(default_factory=Counter)
    ahead: list[int] = field(default_factory=list)
    problem: Problem | None = None
    notices: set[str] = field(default_factory=set)

    def add_problems(self, messages: Iterable[str]) -> bool:
        """Count the settings that a plan needs; return whether it needs one."""
        settings = {repair for message in messages for text, repair in _REPAIRS.items() if text in message}
        self.cut.update(settings)
        return bool(settings)


def _examine(settings: EventLog) -> Iterator[Diagnosis]:
    for location in settings.logs:
        try:
            logs = find_logs([location])
            holding, number = _read_last(logs)
            kind = None if holding.versions else line_files.recognize(logs[-1].parts[-1:])
        except SourceError as error:
            yield report_failure(LOGS, error, fix_for(error, location, "event_log.logs"))
            continue
        message = _describe(location, len(logs), number, holding)
        if kind and kind is not LINES:
            yield warning(LOGS, f"{redact(location)}: {kind.name}", kind.remedy or _ENABLE)
        elif holding.cut:
            share = 100 * holding.incomplete / holding.plans
            repair = f"set {' and '.join(sorted(holding.cut))} in the jobs"
            yield warning(LOGS, f"{message}, of which {holding.incomplete} are cut ({share:.0f} %)", repair)
        elif holding.plans:
            yield ok(LOGS, message)
        elif holding.problem:
            problem = f"{holding.problem.document}: {holding.problem.message}"
            yield warning(LOGS, f"{message}, but {problem}", "see the page on event logs: what is not read")
        else:
            yield warning(LOGS, message, _ENABLE)
        if holding.ahead:
            yield ahead_warning(LOGS, redact(location), holding.ahead)


def _describe(location: str, logs: int, number: int, holding: _Holding) -> str:
    read = "" if number == logs else f", of the last {number}"
    applications = f"{len(holding.applications)} applications"
    versions = f" of Spark {', '.join(sorted(holding.versions))}" if holding.versions else ""
    notices = "".join(f" ({notice})" for notice in sorted(holding.notices))
    held = f"{applications}{versions}{notices}, {holding.plans} plans of writes"
    return f"{redact(location)}: {logs} logs{read}: {held}"


def _read_last(logs: list[EventLogFiles]) -> tuple[_Holding, int]:
    """Read the last logs; return what they hold, and how many these are."""
    holding, left = _Holding(), _BYTES
    for number, log in enumerate(reversed(logs), 1):
        left = _read(log, holding, left)
        if left <= 0:
            return holding, number
    return holding, len(logs)


def _read(log: EventLogFiles, holding: _Holding, left: int) -> int:
    """Add a log, of which only the beginning is read if it is long; return how much may still be read."""
    latest = latest_credible()
    first: list[tuple[str, bytes]] = []

    def read_limited() -> Iterator[tuple[str, bytes]]:
        nonlocal left
        for location, line in read_lines(log):
            left -= len(line)
            if len(first) < _FIRST_LINES:
                first.append((location, line))
            yield location, line
            if left <= 0:
                return

    for write in read_writes(log.location, read_limited()):
        if isinstance(write, Problem):
            if write.kind == "notice":
                holding.notices.add(write.message)
                continue
            if holding.add_problems([write.message]):
                holding.plans += 1
                holding.incomplete += 1
            holding.problem = holding.problem or write
            continue
        holding.plans += 1
        problems = write.plan["extraInfo"]["problems"]
        holding.incomplete += holding.add_problems(message for _, _, message in problems)
        if write.event["timestamp"] > latest:
            holding.ahead.append(write.event["timestamp"])
    found = Log()
    for _ in read_events(first, found):
        pass
    holding.applications |= {found.application.app_id} - {""}
    holding.versions |= {found.application.version} - {""}
    return left


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
