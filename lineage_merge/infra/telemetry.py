"""Telemetry of a run: its id, its steps and their counts, as spans, logs and metrics.

The run is a context variable, so that functions need not pass it on. Each step has a span, a log line and
counts. Metrics are a JSON line in CloudWatch's Embedded Metric Format, which CloudWatch Logs converts:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
import logging
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, Protocol, TextIO

from lineage_merge.infra.redaction import redact
from lineage_merge.infra.setting import Form, declare

Attributes = Mapping[str, str | int]
SetCounts = Callable[[Mapping[str, int]], None]


@contextmanager
def span(name: str, attributes: Attributes) -> Iterator[SetCounts]:
    """Run a block in an OpenTelemetry span ``lineage_merge.<name>``, which records an exception of the block.

    Yields a function that sets counts as attributes ``lineage_merge.<name>``. Does nothing if the API is not
    installed (extra `otel`). The exporter is configured outside: ``opentelemetry-instrument``.
    """
    trace = _api()
    if trace is None:
        yield lambda _counts: None
        return
    tracer = trace.get_tracer("lineage_merge")
    with tracer.start_as_current_span(
        f"lineage_merge.{name}",
        attributes=dict(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        try:
            yield lambda counts: started.set_attributes(_attributes(counts))
        except SystemExit:
            # OpenTelemetry does not mark a SystemExit, by which commands end.
            started.set_status(trace.StatusCode.ERROR)
            raise
        except Exception as error:
            started.record_exception(error, attributes=_redact(error))
            message = redact(f"{type(error).__name__}: {error}")
            started.set_status(trace.Status(trace.StatusCode.ERROR, message))
            raise


def _attributes(values: Attributes) -> Attributes:
    return {f"lineage_merge.{name}": value for name, value in values.items()}


def _redact(error: Exception) -> dict[str, str]:
    """Return an exception's attributes; messages of libraries may contain an address with a password."""
    trace = "".join(traceback.format_exception(error))
    return {"exception.message": redact(str(error)), "exception.stacktrace": redact(trace)}


@cache
def _api() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace


log = logging.getLogger("lineage_merge")

# CloudWatch rejects documents with more.
MAX_METRICS = 100


@dataclass(frozen=True, slots=True)
class Metrics:
    """Metrics of each run in CloudWatch's Embedded Metric Format (`emf`), or none."""

    format: Literal["none", "emf"] = declare(
        "emf (CloudWatch Embedded Metric Format on standard output) or none", "none"
    )
    namespace: str = declare(
        "CloudWatch namespace of the metrics",
        "lineage_merge",
        "lineage_merge",
        form=Form(
            "^(?!AWS/)[A-Za-z0-9._/#:-]{1,255}$", "letters, digits and . _ / # : -, not beginning with AWS/"
        ),
    )


class RunSettings(Protocol):
    """The part of the configuration that telemetry needs."""

    @property
    def dag_name(self) -> str: ...

    @property
    def environment(self) -> str: ...

    @property
    def metrics(self) -> Metrics: ...


@dataclass(slots=True)
class ActiveRun:
    """A run. `counts` by name (``documents_read``, ``vertices_written``) of its steps so far.

    `dag_name`, `environment`: of the configuration; those of the files once a load has read them.
    """

    id: str
    dag_name: str
    environment: str
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def attributes(self) -> Attributes:
        """The attributes of all spans of the run."""
        return _attributes({"run_id": self.id, "dag_name": self.dag_name, "environment": self.environment})


_current: ContextVar[ActiveRun | None] = ContextVar("lineage_merge_run", default=None)
_step: ContextVar[str] = ContextVar("lineage_merge_step", default="")


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
        with span("run", run.attributes) as set_counts:
            yield run
            set_counts(run.counts)
        failed = False
        log.info("done", extra={"counts": dict(run.counts), "seconds": _measure_since(started)})
    finally:
        if config.metrics.format == "emf":
            counts = {**run.counts, "failed": int(failed)}
            now = time.time_ns() // 1_000_000
            line = emf_line(config.metrics.namespace, run, counts, _measure_since(started), now)
            print(line, file=out or sys.stdout, flush=True)
        _current.reset(token)


def _measure_since(started: float) -> float:
    return round(time.monotonic() - started, 3)


def emf_line(namespace: str, run: ActiveRun, counts: Mapping[str, int], seconds: float, now: int) -> str:
    """Return counts and duration as metrics with the dimensions `environment` and `dag_name`.

    `now`: ms since 1970. A load that fails before it reads its files may know neither dimension. The run id
    is a plain property, for searches: as a dimension it would create new metrics, and costs, per run.
    """
    metrics = [{"Name": name, "Unit": "Count"} for name in sorted(counts)[: MAX_METRICS - 1]]
    metrics.append({"Name": "seconds", "Unit": "Seconds"})
    scope = {"environment": run.environment, "dag_name": run.dag_name}
    # CloudWatch rejects empty values of dimensions.
    dimensions = [name for name, value in scope.items() if value]
    directive = {"Namespace": namespace, "Dimensions": [dimensions], "Metrics": metrics}
    document: dict[str, Any] = {
        "_aws": {"Timestamp": now, "CloudWatchMetrics": [directive]},
        **scope,
        "run_id": run.id,
        **counts,
        "seconds": seconds,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ActiveStep:
    """The counts of an active step."""

    counts: dict[str, int] = field(default_factory=dict)

    def count(self, **counts: int) -> None:
        """Set counts."""
        self.counts.update(counts)


@contextmanager
def step(name: str) -> Iterator[ActiveStep]:
    """Run a block as a step: read, join, count, build, compare, load, export. Steps may be nested."""
    token = _step.set(name)
    started = time.monotonic()
    try:
        run = _current.get()
        attributes = run.attributes if run else {}
        with span(name, attributes) as set_counts:
            marked = ActiveStep()
            yield marked
            set_counts(marked.counts)
        if run:
            run.counts.update(marked.counts)
        fields = {"counts": marked.counts, "seconds": _measure_since(started)}
        log.debug("%s: done", name, extra=fields)
    finally:
        _step.reset(token)


def bind_step(on_progress: Callable[[str], None]) -> Callable[[str], None]:
    """Return `on_progress` for other threads, with the run and step of this thread."""
    context = copy_context()
    return lambda line: context.copy().run(on_progress, line)


# Fields that callers may add with `extra`.
_EXTRA = ("counts", "seconds", "exit_code")


class JsonFormatter(logging.Formatter):
    """Log records as JSON: `timestamp` (UTC), `level`, `logger`, `message`.

    If available also `run_id`, `dag_name`, `environment`, `step`, `counts`, `seconds`, `exit_code`, `error`
    (its type).
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line, without unknown fields."""
        moment = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds")
        entry: dict[str, Any] = {
            "timestamp": moment.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
        }
        if run := _current.get():
            entry |= {"run_id": run.id, "dag_name": run.dag_name, "environment": run.environment}
        if name := _step.get():
            entry["step"] = name
        entry["message"] = redact(" ".join(record.getMessage().split()))
        for name in _EXTRA:
            value = getattr(record, name, None)
            if value not in (None, {}):
                entry[name] = value
        if record.exc_info and record.exc_info[0]:
            entry["error"] = record.exc_info[0].__name__
        return json.dumps(entry, ensure_ascii=False, default=str)


@contextmanager
def as_json(level: int = logging.INFO, stream: TextIO | None = None) -> Iterator[None]:
    """Log all records of this process as JSON lines to `stream` (default: standard error) in the block."""
    root, own = logging.getLogger(), logging.getLogger("lineage_merge")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    before, root.handlers = root.handlers, [handler]
    level_before = own.level
    own.setLevel(level)
    try:
        yield
    finally:
        root.handlers = before
        own.setLevel(level_before)
