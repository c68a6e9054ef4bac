"""Logs as JSON lines, for collectors of the logs of Spark's driver."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from lineage_merge.infra.redaction import redact
from lineage_merge.infra.telemetry.run import current, current_step

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
        run = current()
        if run:
            entry |= {"run_id": run.id, "dag_name": run.dag_name, "environment": run.environment}
        if step := current_step():
            entry["step"] = step
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
