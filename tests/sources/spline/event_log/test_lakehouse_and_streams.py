"""Row-level changes, streams and RDDs in event logs; plans in the simple form, and cut ones.

The logs of `tests/lakehouse_log_recipe.py`.
"""

import json
from functools import cache

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.event_log.messages import LoggedWrite
from lineage_merge.sources.spline.event_log.writes import read_writes
from tests import event_log_recipe
from tests.sources.spline.columns.lineage_reading import flows, influences, untraced
from tests.sources.spline.event_log.log_reading import columns_of, read_targets

CHANGES = """
# on_read_merge
orders.id -> id IDENTITY
orders.amount -> amount TRANSFORMATION
~ on_read_merge.id JOIN
~ orders.id JOIN
~ orders.customer FILTER
~ orders.status FILTER
# on_read_update
on_read_update.amount -> amount TRANSFORMATION
on_read_update.country -> note IDENTITY
~ on_read_update.id FILTER
# on_read_delete
~ on_read_delete.amount FILTER
~ on_read_delete.note FILTER
# on_read_delete_in
~ on_read_delete_in.id FILTER
~ orders.id FILTER
~ orders.status FILTER
# on_copy_delete_in
~ on_copy_delete_in.id FILTER
~ orders.id FILTER
~ orders.status FILTER
# on_copy_subquery
orders.amount -> amount AGGREGATION
~ on_copy_subquery.country FILTER
# metadata_delete
~ metadata_delete.country FILTER
# delta_delete
~ delta_delete.status FILTER
~ delta_delete.amount FILTER
# delta_update
delta_update.status -> address.city TRANSFORMATION
delta_update.amount -> amount TRANSFORMATION
~ delta_update.customer FILTER
# delta_merge
orders.amount -> amount AGGREGATION
~ delta_merge.country JOIN
~ orders.country GROUP_BY,JOIN
"""
STREAMS = """
# as_files
in.id -> id IDENTITY
in.amount -> twice TRANSFORMATION
# by_batch
in.id -> id IDENTITY
in.amount -> twice TRANSFORMATION
# totals
in.amount -> total AGGREGATION
# streamed
in.id -> id IDENTITY
in.amount -> twice TRANSFORMATION
# as_delta
in.id -> id IDENTITY
in.amount -> twice TRANSFORMATION
"""
OTHER_FORMS = """
# windows
orders.id -> id IDENTITY
orders.customer -> place WINDOW
orders.amount -> place WINDOW
# selected
orders.id -> id IDENTITY
~ orders.customer FILTER
~ orders.status FILTER
# unfolded
orders.id -> id IDENTITY
orders.status -> part TRANSFORMATION
"""


@cache
def writes(name: str) -> dict[str, LoggedWrite]:
    """Return the last write of each target of a log."""
    return dict(read_targets(event_log_recipe.lines(f"{name}.jsonl")))


def problems(name: str) -> list[str]:
    found = read_writes("log", event_log_recipe.lines(f"{name}.jsonl"))
    return [problem.message for problem in found if isinstance(problem, Problem)]


def unavailable(write: LoggedWrite) -> list[str]:
    return [message for _, _, message in write.plan["extraInfo"]["problems"]]


@pytest.mark.parametrize(
    ("log", "case"),
    [
        pytest.param(log, case, id=f"{log}-{case.partition(chr(10))[0]}")
        for log, cases in (
            ("lakehouse", CHANGES),
            ("streams", STREAMS),
            ("simple", OTHER_FORMS),
            ("cut", OTHER_FORMS),
        )
        for case in cases.split("# ")[1:]
    ],
)
def test_columns_and_rows_of_a_write(log: str, case: str) -> None:
    target, *lines = case.strip().split("\n")
    write = writes(log)[target]
    lineage = columns_of(write)

    assert flows(lineage) == {line for line in lines if not line.startswith("~ ")}
    assert influences(lineage) == {line[2:] for line in lines if line.startswith("~ ")}
    assert untraced(lineage) == []
    assert unavailable(write) == []


@pytest.mark.parametrize("log", ["simple", "cut"])
def test_results_of_aggregates_that_a_form_does_not_have_are_unknown(log: str) -> None:
    write = writes(log)["above"]

    assert flows(columns_of(write)) == set()
    assert influences(columns_of(write)) == {"orders.amount FILTER", "orders.country GROUP_BY"}
    assert unavailable(write) == ["this form of a plan has no results of aggregates"]


def test_rows_of_an_rdd_come_from_the_files_that_its_names_say() -> None:
    lineage = columns_of(writes("streams")["of_rdd"])

    assert flows(lineage) == set()
    assert untraced(lineage) == ["orders"]


def test_a_save_of_an_rdd_is_reported_and_what_stores_nothing_is_not() -> None:
    assert problems("streams") == [
        "saveAsTextFile of an RDD of /data/in/orders: event logs do not have its target"
    ]
    assert problems("lakehouse") == []


def test_batches_of_a_stream_are_one_write_with_the_rows_of_all() -> None:
    """A stream that runs for months has a batch each minute."""
    lines = [line for _, line in event_log_recipe.lines("streams.jsonl")]
    events = [json.loads(line) for line in lines]
    of_stream = [event for event in events if "by_batch" in json.dumps(event)]
    [identifier] = {event["executionId"] for event in of_stream}
    [progress] = [at for at, event in enumerate(events) if "ForeachBatchSink" in json.dumps(event)]
    first = min(at for at, event in enumerate(events) if event.get("executionId") == identifier) - 1

    again = [*enumerate_lines(lines[: progress + 1]), *enumerate_lines(lines[first : progress + 1])]
    found = [write for target, write in read_targets(again) if target == "by_batch"]

    assert len(found) == 1
    assert found[0].event["extra"]["writeMetrics"]["numOutputRows"] == 4


def enumerate_lines(lines: list[bytes]) -> list[tuple[str, bytes]]:
    return [(f"line {number}", line) for number, line in enumerate(lines)]
