"""Write events as rows: the columns that run selection needs, and the order and sums of nullable values."""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar


class EventRow(NamedTuple):
    """The end of one write as reported by a source, or a `problem` as JSON.

    `plan` names the document with the write's lineage, within `database` ("" if a source has only one);
    `run_id` is the run that wrote. Times are ms since 1970. `target` is the raw URI, `dataset` the id it
    resolves to. `unlabelled`: the requested labels that the write itself lacks; its plan may have them.
    Writes of one job with different `statement`s are selected independently. `owners` and `tags` are those
    of the job. `version`: the target after the write, ``db.orders@8744736658442914487``.
    """

    database: str
    problem: str | None = None
    wanted: bool = False
    key: str | None = None
    plan: str | None = None
    application: str | None = None
    job: str | None = None
    job_type: str | None = None
    target: str | None = None
    dataset: str | None = None
    at: int | None = None
    duration_ms: int | None = None
    run_id: str | None = None
    shown_run_id: str | None = None
    failed: bool | None = None
    append: bool | None = None
    rows: int | None = None
    framework: str | None = None
    unlabelled: list[str] | None = None
    statement: str | None = None
    owners: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    version: str | None = None


T = TypeVar("T", bound=Any)


def nulls_first(*values: object) -> tuple[tuple[bool, Any], ...]:
    """Return a sort key of the values in which None sorts first."""
    return tuple((value is not None, value) for value in values)


def largest(values: Iterable[T | None]) -> T | None:
    """Return the largest value that is not None; None without one."""
    return max((value for value in values if value is not None), default=None)


def smallest(values: Iterable[T | None]) -> T | None:
    """Return the smallest value that is not None; None without one."""
    return min((value for value in values if value is not None), default=None)


def total(values: Iterable[int | None]) -> int | None:
    """Return the sum of the values that are not None; None without one."""
    present = [value for value in values if value is not None]
    return sum(present) if present else None
