"""Steps of a run: a span, a log line and counts each."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field

from lineage_merge.infra.telemetry import run as runs
from lineage_merge.infra.telemetry import spans

log = logging.getLogger("lineage_merge")

_step: ContextVar[str] = ContextVar("lineage_merge_step", default="")


@dataclass(frozen=True, slots=True)
class ActiveStep:
    """An active step and its counts."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, **counts: int) -> None:
        """Set counts."""
        self.counts.update(counts)


def current() -> str:
    """Return the name of the innermost active step, or ""."""
    return _step.get()


@contextmanager
def step(name: str) -> Iterator[ActiveStep]:
    """Run a block as a step: read, join, count, build, compare, load, export. Steps may be nested."""
    token = _step.set(name)
    started = time.monotonic()
    try:
        run = runs.current()
        attributes = spans.run_attributes(run.id, run.dag_name, run.environment) if run else {}
        with spans.span(name, attributes) as span:
            marked = ActiveStep(name)
            yield marked
            span.set_counts(marked.counts)
        if run:
            run.counts.update(marked.counts)
        fields = {"counts": marked.counts, "seconds": round(time.monotonic() - started, 3)}
        log.debug("%s: done", name, extra=fields)
    finally:
        _step.reset(token)


def in_step(on_progress: Callable[[str], None]) -> Callable[[str], None]:
    """Return `on_progress` for other threads, with the run and step of this thread."""
    context = copy_context()
    return lambda line: context.copy().run(on_progress, line)
