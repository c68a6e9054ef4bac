"""One run of the merge: its id, made once, and the counts that its steps leave.

The run is found by context, so that functions need not hand it on to where a step is marked.
"""

import logging
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TextIO

from lineage_merge.config import Config
from lineage_merge.infra.telemetry import emf, spans

log = logging.getLogger("lineage_merge")


@dataclass(frozen=True, slots=True)
class Run:
    """`counts` by name (``documents_read``, ``vertices_written``), as far as the run has come."""

    id: str
    dag_name: str
    environment: str
    counts: dict[str, int] = field(default_factory=dict)


_current: ContextVar[Run | None] = ContextVar("lineage_merge_run", default=None)


def current() -> Run | None:
    """The run that is under way here, if one is."""
    return _current.get()


@contextmanager
def running(config: Config, out: TextIO | None = None) -> Iterator[Run]:
    """The run that is under way, or a new one, whose end is logged, traced and counted.

    `out` is where metrics go if `config.metrics` asks for them (standard output).
    """
    under_way = _current.get()
    if under_way is not None:
        yield under_way
        return
    run = Run(uuid.uuid4().hex, config.dag_name, config.environment)
    token = _current.set(run)
    started = time.monotonic()
    failed = True
    try:
        with spans.span("run", spans.whose(run.id, run.dag_name, run.environment)) as span:
            yield run
            span.tell(run.counts)
        failed = False
        log.info("done", extra={"counts": dict(run.counts), "seconds": _since(started)})
    finally:
        if config.metrics.format == "emf":
            counts = {**run.counts, "failed": int(failed)}
            whose = emf.Whose(run.id, run.dag_name, run.environment)
            now = time.time_ns() // 1_000_000
            line = emf.line(config.metrics.namespace, whose, counts, _since(started), now)
            print(line, file=out or sys.stdout, flush=True)
        _current.reset(token)


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)
