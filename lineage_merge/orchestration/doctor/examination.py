"""Concurrent run of all checks, with a time limit."""

import threading
import time
from collections.abc import Sequence

from lineage_merge.config import Config
from lineage_merge.model.errors import GraphError, SourceError
from lineage_merge.orchestration.doctor import aws, bulk, gremlin, kafka, machine
from lineage_merge.orchestration.doctor.finding import Check, Finding, one_line, unexpected
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import function

# In display order.
CHECKS: tuple[Check, ...] = (
    Check("AWS credentials", aws.examine, SourceError.exit_code),
    *(
        Check(area, function(place), SourceError.exit_code)
        for source in SOURCES
        for area, place in source.checks
    ),
    Check("Kafka", kafka.examine, SourceError.exit_code),
    Check("graph", gremlin.examine, GraphError.exit_code),
    Check("bulk loader", bulk.examine, GraphError.exit_code),
    Check("this machine", machine.examine),
)

SECONDS = 20.0


def examine(config: Config, checks: Sequence[Check] = CHECKS, seconds: float = SECONDS) -> list[Finding]:
    """Return the findings of all checks in order. A check that exceeds `seconds` has failed.

    Its findings so far are included; its thread ends with the process.
    """
    running = [_Running(check, config) for check in checks]
    deadline = time.monotonic() + seconds
    for each in running:
        each.start()
    return [finding for each in running for finding in each.findings(deadline)]


class _Running:
    """A check in a daemon thread."""

    def __init__(self, check: Check, config: Config) -> None:
        self._check = check
        self._config = config
        self._found: list[Finding] = []
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"doctor: {check.area}", daemon=True)

    def start(self) -> None:
        self._started = time.monotonic()
        self._thread.start()

    def _run(self) -> None:
        try:
            for finding in self._check.examine(self._config):
                self._found.append(finding)
        except Exception as error:  # noqa: BLE001 - one check that breaks must not hide the others
            self._found.append(unexpected(self._check.area, error))

    def findings(self, deadline: float) -> list[Finding]:
        self._thread.join(max(deadline - time.monotonic(), 0.0))
        found = list(self._found)
        if self._thread.is_alive():
            waited = time.monotonic() - self._started
            problem = "a server accepts connections but does not respond"
            message = one_line(f"no result after {waited:.0f} s: {problem}")
            fix = "correct the addresses, and check the network"
            found.append(Finding(self._check.area, "failed", message, fix, self._check.exit_code))
        return found
