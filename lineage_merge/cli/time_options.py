"""Options with durations and times, and the clock of commands."""

import time
from datetime import datetime, timedelta

import click

from lineage_merge.infra.durations import FORM, parse_duration
from lineage_merge.infra.times import epoch_ms

_MILLISECOND = timedelta(milliseconds=1)


def now_ms() -> int:
    """Return the time in ms since 1970. Tests replace it."""
    return time.time_ns() // 1_000_000


def parse_age(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Return a duration such as ``1d`` in ms."""
    if value is None:
        return None
    try:
        return parse_duration(value) // _MILLISECOND
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def parse_since(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Return a time such as ``2026-11-01`` (UTC), or ``1d`` ago, in ms since 1970."""
    if value is None:
        return None
    try:
        return now_ms() - parse_duration(value) // _MILLISECOND
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        message = f"expected a time such as 2026-11-01 or 2026-11-01T06:00Z, or {FORM}; found {value}"
        raise click.BadParameter(message) from None
    return epoch_ms(moment)


older_than = click.option(
    "--older-than",
    callback=parse_age,
    metavar="DURATION",
    help="age from which a dataset is stale: 1d, 36h, 90m  [default: no age is stale]",
)
