"""Options with durations and times, and the clock of commands."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from lineage_merge.cli.command import Option
from lineage_merge.model import times

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def now_ms() -> int:
    """Return the time in ms since 1970. Tests replace it."""
    return time.time_ns() // 1_000_000


def parse_age(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Return a duration such as ``1d`` in ms."""
    try:
        return None if value is None else times.parse_age(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def parse_since(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Return a time such as ``2026-11-01`` (UTC), or ``1d`` ago, in ms since 1970."""
    try:
        return None if value is None else times.parse_time(value, now_ms())
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def older_than(*, more: bool = False) -> Callable[[Decorated], Decorated]:
    """Return the option of a maximum age; `more`: it is left out of the short help."""
    return click.option(
        "--older-than",
        cls=Option,
        more=more,
        callback=parse_age,
        metavar="DURATION",
        help="age from which any dataset is stale: 90m, 36h, 1d, 2w  [default: that of checks and policies]",
    )
