"""Writes inside another command: their failures and row counts."""

import random

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.sources.openlineage.events import merge_nested
from lineage_merge.sources.runs.events import EventRow

# By key: whether it failed, and its rows.
Found = dict[str, tuple[bool | None, int | None]]


def write(
    key: str,
    began: int,
    at: int,
    *,
    rows: int | None = None,
    failed: bool = False,
    target: str | None = "t",
    run: str = "app",
) -> EventRow:
    return EventRow(
        "",
        key=key,
        run_id=run,
        target=target,
        at=at,
        duration_ms=at - began if began < at else None,
        rows=rows,
        failed=failed,
    )


def found(engine: Engine, *writes: EventRow) -> Found:
    shuffled = random.Random(7).sample(writes, len(writes))
    events = merge_nested(engine.rows(shuffled, 2)).collect()
    assert len(events) == len(writes)
    return {str(each.key): (each.failed, each.rows) for each in events}


def test_rows_of_a_write_within_another_of_as_many_rows_count_once(engine: Engine) -> None:
    assert found(
        engine,
        write("create", 0, 10, rows=5),
        write("insert", 2, 10, rows=5),
        write("other rows", 2, 9, rows=6),
        write("behind", 3, 11, rows=5),
        write("after it", 12, 14, rows=5),
        write("other target", 2, 9, rows=5, target="u"),
        write("other run", 2, 9, rows=5, run="other"),
        write("unknown", 2, 9),
    ) == {
        "create": (False, 5),
        "insert": (False, None),
        "other rows": (False, 6),
        "behind": (False, 5),
        "after it": (False, 5),
        "other target": (False, 5),
        "other run": (False, 5),
        "unknown": (False, None),
    }


def test_of_two_that_began_together_the_later_end_is_around_the_other_and_then_the_smaller_key(
    engine: Engine,
) -> None:
    assert found(
        engine,
        write("b", 0, 10, rows=5),
        write("a", 0, 10, rows=5),
        write("short", 0, 9, rows=5),
    ) == {"a": (False, 5), "b": (False, None), "short": (False, None)}


def test_a_command_around_a_failed_write_failed_and_no_other(engine: Engine) -> None:
    assert found(
        engine,
        write("before", 0, 5),
        write("create", 6, 20),
        write("insert", 8, 15, failed=True),
        write("ended earlier", 7, 14),
        write("after it", 16, 18),
        write("other target", 6, 20, target="u"),
    ) == {
        "before": (False, None),
        "create": (True, None),
        "insert": (True, None),
        "ended earlier": (False, None),
        "after it": (False, None),
        "other target": (False, None),
    }


def test_a_run_that_wrote_nothing_fails_with_no_other(engine: Engine) -> None:
    assert found(
        engine, write("count", 0, 20, target=None), write("inner", 5, 10, target=None, failed=True)
    ) == {"count": (False, None), "inner": (True, None)}
