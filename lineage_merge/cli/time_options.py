"""Options with durations and times, and the clock of commands."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from lineage_merge.infra.durations import FORM, parse_duration

_MILLISECOND = timedelta(milliseconds=1)


def now_ms() -> int:
    """Return the time in ms since 1970. Tests replace it."""
    return time.time_ns() // 1_000_000


class Duration(click.ParamType):
    """A duration such as ``1d``, converted to ms."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the duration in ms."""
        if isinstance(value, int):
            return value
        try:
            return parse_duration(value) // _MILLISECOND
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Since(click.ParamType):
    """A time such as ``2026-11-01`` or ``2026-11-01T06:00Z``, or how long ago, converted to ms since 1970."""

    name = "since"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time in ms since 1970. Times without an offset are UTC."""
        if isinstance(value, int):
            return value
        try:
            return now_ms() - parse_duration(value) // _MILLISECOND
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"expected a time such as 2026-11-01 or 2026-11-01T06:00Z, or {FORM}", param, ctx)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // _MILLISECOND


older_than = click.option(
    "--older-than",
    type=Duration(),
    metavar="DURATION",
    help="age from which a dataset is stale: 1d, 36h, 90m  [default: no age is stale]",
)
