"""Concurrent run of all checks, with a time limit."""

import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from lineage_merge.config import Config
from lineage_merge.model.errors import GraphError, SourceError
from lineage_merge.orchestration.doctor import aws, bulk, gremlin, joins, kafka, machine
from lineage_merge.orchestration.doctor.finding import Check, Finding, failed, ok, one_line, unexpected
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source, function


def _of_source(source: Source) -> Iterator[Check]:
    """Yield the checks of a source; without any, its preflight check is one."""
    for area, reference in source.checks:
        yield Check(area, function(reference), SourceError.exit_code)
    if not source.checks and source.preflight:
        yield Check(source.name, partial(_preflight, source), SourceError.exit_code)


def _preflight(source: Source, config: Config) -> Iterator[Finding]:
    settings = config.sources.get(source.key)
    if not settings:
        return
    try:
        function(source.preflight)(settings)
    except SourceError as error:
        yield failed(source.name, error, f"correct {source.key}, or create the input")
    else:
        yield ok(source.name, "the input exists")


# In display order.
CHECKS: tuple[Check, ...] = (
    Check("AWS credentials", aws.examine, SourceError.exit_code),
    *chain.from_iterable(map(_of_source, SOURCES)),
    Check("Kafka", kafka.examine, SourceError.exit_code),
    Check("joins", joins.examine),
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
