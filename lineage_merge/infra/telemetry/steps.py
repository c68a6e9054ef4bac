"""The steps of a run, marked where they begin and end: a span, a line for the log, counts."""

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
class Step:
    """A step under way; `counts` fills as the step learns them."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, **counts: int) -> None:
        """Say how many of something there were."""
        self.counts.update(counts)


def current() -> str:
    """The innermost step that is under way here, "" outside of all."""
    return _step.get()


@contextmanager
def step(name: str) -> Iterator[Step]:
    """One step of the pipeline: read, join, count, build, compare, load, export. Steps may nest."""
    token = _step.set(name)
    started = time.monotonic()
    try:
        run = runs.current()
        attributes = spans.whose(run.id, run.dag_name, run.environment) if run else {}
        with spans.span(name, attributes) as span:
            marked = Step(name)
            yield marked
            span.tell(marked.counts)
        if run:
            run.counts.update(marked.counts)
        told = {"counts": marked.counts, "seconds": round(time.monotonic() - started, 3)}
        log.debug("%s: done", name, extra=told)
    finally:
        _step.reset(token)


def in_step(on_progress: Callable[[str], None]) -> Callable[[str], None]:
    """`on_progress` for another thread, which otherwise would not know the run and the step of this one."""
    context = copy_context()
    return lambda line: context.copy().run(on_progress, line)
