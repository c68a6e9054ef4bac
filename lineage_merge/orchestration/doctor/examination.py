"""Concurrent run of all checks, with a time limit."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.exporters.exporter import Exporter
from lineage_merge.exporters.registry import EXPORTERS
from lineage_merge.model.errors import ExportError, GraphError, SourceError, one_line
from lineage_merge.orchestration.doctor import bulk, gremlin, joins, machine
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, ok, report_failure, report_unexpected
from lineage_merge.sources.kafka_landing import broker_check
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source


class Check(NamedTuple):
    """A check of one area; `examine` yields its diagnoses in order, none if it is not configured.

    `exit_code`: that of a run without a response in this area. `late`: the diagnosis of a check that takes
    longer than `seconds`, if that is no failure.
    """

    area: str
    examine: Callable[[Config], Iterator[Diagnosis]]
    exit_code: int = 1
    seconds: float = float("inf")
    late: Diagnosis | None = None


def _check_source(source: Source[Any]) -> Iterator[Check]:
    """Yield the checks of a source; without any, its preflight check is one."""
    for check in source.checks() or (SourceCheck(source.name, partial(_preflight, source)),):
        yield Check(check.area, partial(_if_configured, source.key, check.examine), SourceError.exit_code)


def _if_configured(
    key: str, examine: Callable[[Any], Iterator[Diagnosis]], config: Config
) -> Iterator[Diagnosis]:
    settings = config.sources.get(key)
    return examine(settings) if settings else iter(())


def _preflight(source: Source[Any], settings: Any) -> Iterator[Diagnosis]:
    try:
        source.preflight(settings)
    except SourceError as error:
        yield report_failure(source.name, error, f"correct {source.key}, or create the input")
    else:
        yield ok(source.name, "the input exists")


def _check_exporter(exporter: Exporter) -> Iterator[Check]:
    if own := exporter.examine:

        def examine(config: Config) -> Iterator[Diagnosis]:
            settings = config.exporters.get(exporter.name)
            return own(settings) if settings else iter(())

        yield Check(exporter.name, examine, ExportError.exit_code)


def _kafka(config: Config) -> Iterator[Diagnosis]:
    return chain.from_iterable(map(broker_check.examine, broker_check.list_topics(config)))


# In display order.
CHECKS: tuple[Check, ...] = (
    Check(machine.CREDENTIALS, machine.examine_aws, SourceError.exit_code),
    *chain.from_iterable(map(_check_source, SOURCES)),
    Check(broker_check.KAFKA, _kafka, SourceError.exit_code),
    Check(joins.JOINS, joins.examine, seconds=joins.SECONDS, late=joins.LATE),
    Check("graph", gremlin.examine, GraphError.exit_code),
    Check("bulk loader", bulk.examine, GraphError.exit_code),
    *chain.from_iterable(map(_check_exporter, EXPORTERS.values())),
    Check("this machine", machine.examine),
)

SECONDS = 20.0


def examine(config: Config, checks: Sequence[Check] = CHECKS, seconds: float = SECONDS) -> list[Diagnosis]:
    """Return the diagnoses of all checks in order. A check that exceeds `seconds` has failed.

    Its diagnoses so far are included; its thread ends with the process.
    """
    running = [_Running(check, config) for check in checks]
    deadline = time.monotonic() + seconds
    for check in running:
        check.start()
    return [diagnosis for check in running for diagnosis in check.diagnoses(deadline)]


class _Running:
    """A check in a daemon thread."""

    def __init__(self, check: Check, config: Config) -> None:
        self._check = check
        self._config = config
        self._diagnoses: list[Diagnosis] = []
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"doctor: {check.area}", daemon=True)

    def start(self) -> None:
        self._started = time.monotonic()
        self._thread.start()

    def _run(self) -> None:
        try:
            for diagnosis in self._check.examine(self._config):
                self._diagnoses.append(diagnosis)
        except Exception as error:  # noqa: BLE001 - one check that breaks must not hide the others
            self._diagnoses.append(report_unexpected(self._check.area, error))

    def diagnoses(self, deadline: float) -> list[Diagnosis]:
        deadline = min(deadline, self._started + self._check.seconds)
        self._thread.join(max(deadline - time.monotonic(), 0.0))
        diagnoses = list(self._diagnoses)
        if not self._thread.is_alive():
            return diagnoses
        if self._check.late:
            diagnoses.append(self._check.late)
        else:
            waited = time.monotonic() - self._started
            problem = "a server accepts connections but does not respond"
            message = one_line(f"no result after {waited:.0f} s: {problem}")
            fix = "correct the addresses, and check the network"
            diagnoses.append(Diagnosis(self._check.area, "failed", message, fix, self._check.exit_code))
        return diagnoses
