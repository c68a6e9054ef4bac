"""A run of the merge: its id, and the counts of its steps.

The run is a context variable, so that functions need not pass it on.
"""

import logging
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from lineage_merge.infra.telemetry import emf, spans

log = logging.getLogger("lineage_merge")


class MetricsSettings(Protocol):
    """Settings of the metrics of a run; `format` is ``emf`` if they are enabled."""

    @property
    def format(self) -> str:
        """Return the format."""

    @property
    def namespace(self) -> str:
        """Return the namespace in CloudWatch."""


class RunSettings(Protocol):
    """The part of the configuration that telemetry needs."""

    @property
    def dag_name(self) -> str:
        """Return the name of the DAG."""

    @property
    def environment(self) -> str:
        """Return the environment."""

    @property
    def metrics(self) -> MetricsSettings:
        """Return the settings of metrics."""


@dataclass(slots=True)
class ActiveRun:
    """A run. `counts` by name (``documents_read``, ``vertices_written``) of its steps so far.

    `dag_name`, `environment`: of the configuration; those of the files once a load has read them.
    """

    id: str
    dag_name: str
    environment: str
    counts: dict[str, int] = field(default_factory=dict)


_current: ContextVar[ActiveRun | None] = ContextVar("lineage_merge_run", default=None)


def current() -> ActiveRun | None:
    """Return the active run, or None."""
    return _current.get()


@contextmanager
def running(config: RunSettings, out: TextIO | None = None) -> Iterator[ActiveRun]:
    """Yield the active run, or start a new one, whose end is logged, traced and counted.

    `out`: target of metrics if `config.metrics` enables them (default: standard output).
    """
    active = _current.get()
    if active is not None:
        yield active
        return
    run = ActiveRun(uuid.uuid4().hex, config.dag_name, config.environment)
    token = _current.set(run)
    started = time.monotonic()
    failed = True
    try:
        with spans.span("run", spans.run_attributes(run.id, run.dag_name, run.environment)) as span:
            yield run
            span.set_counts(run.counts)
        failed = False
        log.info("done", extra={"counts": dict(run.counts), "seconds": _since(started)})
    finally:
        if config.metrics.format == "emf":
            counts = {**run.counts, "failed": int(failed)}
            identity = emf.RunIdentity(run.id, run.dag_name, run.environment)
            now = time.time_ns() // 1_000_000
            line = emf.line(config.metrics.namespace, identity, counts, _since(started), now)
            print(line, file=out or sys.stdout, flush=True)
        _current.reset(token)


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)
