"""Runs many cases, each within a limit of time, and shows the one that fails as small as it gets.

``LINEAGE_MERGE_FUZZ_SEED`` gives other cases than the run's own seed (`tests.drawing`),
``LINEAGE_MERGE_FUZZ_TIMES`` as many times all of them, ``LINEAGE_MERGE_FUZZ_CASE`` only the one of a number.
"""

import os
import random
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, TypeVar

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.model.records import Record
from lineage_merge.sources.spline.document_rows import PlanOutput, TranslatedPlan
from tests import drawing
from tests.fuzz.mutation import SECRET

SEED = os.environ.get("LINEAGE_MERGE_FUZZ_SEED") or drawing.seed()
TIMES = float(os.environ.get("LINEAGE_MERGE_FUZZ_TIMES") or drawing.share())
ONLY = os.environ.get("LINEAGE_MERGE_FUZZ_CASE", "")

# A case takes about a millisecond; one that computes, or waits, so long hangs, however busy the machine is.
_LIMIT_SECONDS = 60
_LIMIT_WAITING = 900
_LONGEST_SHOWN = 4000

Input = TypeVar("Input")


class Hangs(BaseException):
    """Not an `Exception`, so that no code that is tested catches it."""


class Leaks(Exception):
    """A password stands where it may not. Such a case is not made smaller: less of an address is none."""


# The fields of `sources.runs.events.EventRow` with their types.
EVENT_DDL = (
    "database string, problem string, wanted boolean, key string, plan string, application string,"
    " job string, job_type string, target string, dataset string, at bigint,"
    " duration_ms bigint, run_id string, shown_run_id string, failed boolean, append boolean, rows bigint,"
    " framework string, unlabelled array<string>, statement string,"
    " owners array<string>, tags array<string>, version string"
)


@contextmanager
def limit(seconds: float = _LIMIT_SECONDS) -> Iterator[None]:
    """Raises `Hangs` where the block takes more of the processor's time."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Hangs(f"took more than {seconds} s")

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, _LIMIT_WAITING),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, limit_ in timers.values():
        signal.setitimer(timer, limit_)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def blocks(count: int, size: int = 1000) -> list[range]:
    """Numbers of cases in parts, a test each, so that several processes share them."""
    if ONLY:
        return [range(int(ONLY), int(ONLY) + 1)]
    whole = round(count * TIMES)
    return [range(start, min(start + size, whole)) for start in range(0, whole, size)]


def run(
    name: str,
    numbers: Iterable[int],
    make: Callable[[random.Random], Input],
    check: Callable[[Input], None],
    smaller: Callable[[Input], Iterable[Input]] = lambda _: (),
) -> None:
    """Make each case of its own chance and check it; the first failure is reported with its seed.

    `smaller` gives cases that are a bit less than one: as long as one of them fails, it is taken.
    """
    for number in numbers:
        case = make(random.Random(f"{SEED}/{name}/{number}"))
        fault = _fault(check, case)
        if fault is not None:
            case, fault = _reduced(case, fault, check, smaller)
            text = "".join(traceback.format_exception(fault))
            shown = repr(case)
            pytest.fail(
                f"LINEAGE_MERGE_FUZZ_SEED={SEED} LINEAGE_MERGE_FUZZ_CASE={number} ({name})\n"
                f"{text[-_LONGEST_SHOWN:]}\n{shown[:_LONGEST_SHOWN]} ({len(shown)} characters)",
                pytrace=False,
            )


def _fault(check: Callable[[Input], None], case: Input) -> BaseException | None:
    try:
        with limit():
            check(case)
    except (Exception, Hangs) as fault:  # noqa: BLE001 (whatever it is, it is what is looked for)
        return fault
    return None


def _reduced(
    case: Input,
    fault: BaseException,
    check: Callable[[Input], None],
    smaller: Callable[[Input], Iterable[Input]],
    most: int = 2000,
) -> tuple[Input, BaseException]:
    tried, going = 0, not isinstance(fault, Hangs | Leaks)
    while going and tried < most:
        going = False
        for each in smaller(case):
            tried += 1
            found = _fault(check, each)
            if type(found) is type(fault) and found is not None:
                case, fault, going = each, found, True
                break
            if tried >= most:
                break
    return case, fault


def less_text(text: bytes) -> Iterator[bytes]:
    """A text without a half, a quarter, ... of it, in each place."""
    size = len(text) // 2
    while size:
        for start in range(0, len(text), size):
            yield text[:start] + text[start + size :]
        size //= 2


_MADE_DDL = "database string, plan string, job string, dataset string, created bigint"
_LARGEST = {"int": 2**31, "bigint": 2**63}


@cache
def _fields(ddl: str) -> list[list[str]]:
    return [part.split(maxsplit=1) for part in ddl.split(", ")]


def assert_fits(row: Sequence[Any], ddl: str) -> None:
    """A row that Spark takes for what it is."""
    fields = _fields(ddl)
    assert len(row) == len(fields), row
    for (name, kind), value in zip(fields, row, strict=True):
        if value is None:
            continue
        location = f"{name} {kind}: {value!r}"
        match kind:
            case "string":
                assert type(value) is str, location
            case "boolean":
                assert type(value) is bool, location
            case "int" | "bigint":
                assert type(value) is int, location
                assert -_LARGEST[kind] <= value < _LARGEST[kind], location
            case "map<string,string>":
                assert all(type(each) is str for pair in value.items() for each in pair), location
            case "array<string>":
                assert all(type(each) is str for each in value), location
            case _:
                assert all(type(each) is str for each in value), location
                assert all(type(each) is str for values in value.values() for each in values), location


def assert_records(records: Iterable[Record]) -> list[Record]:
    """The records, each of which fits; a problem among them is named."""
    found = list(records)
    for record in found:
        if isinstance(record, Problem):
            assert_named(record)
        assert_plain(record)
    return found


def assert_plain(value: Any) -> None:
    """Only texts, whole numbers that fit into 64 bits, and collections of them."""
    match value:
        case Mapping():
            assert_plain([*value, *value.values()])
        case list() | tuple():
            for part in value:
                assert_plain(part)
        case int():
            assert type(value) in (int, bool), repr(value)
            assert -_LARGEST["bigint"] <= value < _LARGEST["bigint"], value
        case _:
            assert value is None or type(value) is str, repr(value)


def assert_made(plan: TranslatedPlan) -> None:
    """A translated plan, of which it is known who made it, or that says nothing of it."""
    assert_fits((plan.database, plan.plan, *(plan.output or (None,) * len(PlanOutput._fields))), _MADE_DDL)


def assert_named(problem: Problem) -> None:
    """Check that a problem has its document and what is wrong, without a secret."""
    assert problem.document, problem
    assert problem.message, problem
    assert_no_secret(problem)


def assert_no_secret(reported: object) -> None:
    """No password of `mutation.ADDRESSES`. What damage made no address of may hide as little as any text."""
    if any(mark + SECRET in repr(reported) for mark in ("//etl:", "//key:", "password=", "token=")):
        raise Leaks(repr(reported))
