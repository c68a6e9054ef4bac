"""OpenTelemetry spans; no-op if its API is not installed (extra `otel`).

The exporter of spans is configured outside: ``opentelemetry-instrument`` and its variables.
"""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from lineage_merge.infra.redaction import redact

Attributes = Mapping[str, str | int]


class TraceSpan:
    """The span of a step; does nothing without OpenTelemetry."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Set counts as attributes ``lineage_merge.<name>``."""
        if self._span is not None:
            self._span.set_attributes({f"lineage_merge.{name}": value for name, value in counts.items()})


@contextmanager
def span(name: str, attributes: Attributes) -> Iterator[TraceSpan]:
    """Run a block in a span ``lineage_merge.<name>``, which records an exception of the block."""
    trace = _api()
    if trace is None:
        yield TraceSpan()
        return
    tracer = trace.get_tracer("lineage_merge")
    with tracer.start_as_current_span(
        f"lineage_merge.{name}",
        attributes=dict(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        try:
            yield TraceSpan(started)
        except SystemExit:
            # OpenTelemetry does not mark a SystemExit, by which commands end.
            started.set_status(trace.StatusCode.ERROR)
            raise
        except Exception as error:
            started.record_exception(error, attributes=_redacted(error))
            message = redact(f"{type(error).__name__}: {error}")
            started.set_status(trace.Status(trace.StatusCode.ERROR, message))
            raise


def _redacted(error: Exception) -> dict[str, str]:
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
