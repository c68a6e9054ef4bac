"""Progress lines with the tasks of Spark's running stage."""

import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from lineage_merge.infra.progress import count_tasks


class Stage(NamedTuple):
    """What Spark's tracker has of a stage."""

    stageId: int  # noqa: N815 - Spark's name
    numTasks: int  # noqa: N815
    numCompletedTasks: int  # noqa: N815


class Tracker:
    """Stages that a test sets, in the place of Spark's."""

    def __init__(self) -> None:
        self.stages: dict[int, Stage | None] = {}
        self.sparkContext = self

    def statusTracker(self) -> "Tracker":  # noqa: N802
        return self

    def getActiveStageIds(self) -> list[int]:  # noqa: N802
        return list(self.stages)

    def getStageInfo(self, stage: int) -> Stage | None:  # noqa: N802
        return self.stages[stage]


class Lines(list[str]):
    """Collected lines."""

    def wait_for(self, line: str) -> None:
        deadline = time.monotonic() + 10
        while line not in self:
            assert time.monotonic() < deadline, self
            time.sleep(0.01)


@pytest.fixture
def tracker() -> Tracker:
    return Tracker()


def test_the_last_line_is_repeated_with_the_largest_stage(tracker: Tracker) -> None:
    lines = Lines()
    with count_tasks(tracker, lines.append, 0.01) as on_progress:  # type: ignore[arg-type]
        on_progress("joining")
        tracker.stages = {1: Stage(1, 8, 8), 2: Stage(2, 400, 120), 3: None}
        lines.wait_for("joining (stage 2: 120 of 400 tasks)")
        on_progress("comparing with the graph")
        lines.wait_for("comparing with the graph (stage 2: 120 of 400 tasks)")


@pytest.mark.parametrize("line", ["", "writing edges (2 of 4 partitions)"])
def test_nothing_is_added_without_a_line_or_to_one_with_a_count(tracker: Tracker, line: str) -> None:
    lines = Lines()
    tracker.stages = {1: Stage(1, 400, 120)}
    with count_tasks(tracker, lines.append, 0.01) as on_progress:  # type: ignore[arg-type]
        if line:
            on_progress(line)
        time.sleep(0.1)
    assert lines == ([line] if line else [])


def test_a_few_tasks_are_not_counted(tracker: Tracker) -> None:
    lines = Lines()
    tracker.stages = {1: Stage(1, 2, 1)}
    with count_tasks(tracker, lines.append, 0.01) as on_progress:  # type: ignore[arg-type]
        on_progress("joining")
        time.sleep(0.1)
    assert lines == ["joining"]


def test_an_error_of_the_tracker_ends_only_the_counts(tracker: Tracker) -> None:
    lines = Lines()
    with count_tasks(tracker, lines.append, 0.01) as on_progress:  # type: ignore[arg-type]
        tracker.stages = None  # type: ignore[assignment]
        on_progress("joining")
        time.sleep(0.1)
        on_progress("saving the graph")
    assert lines == ["joining", "saving the graph"]
    assert [each for each in threading.enumerate() if each.name == "progress of Spark"] == []


@pytest.mark.jvm
def test_tasks_of_spark_are_counted(spark: SparkSession) -> None:
    def slowly(numbers: Iterable[int]) -> Iterable[int]:
        time.sleep(0.3)
        yield from numbers

    lines = Lines()
    with count_tasks(spark, lines.append, 0.1) as on_progress:
        on_progress("joining")
        assert spark.sparkContext.parallelize(range(12), 12).mapPartitions(slowly).count() == 12
    done = [int(each.split()[-4]) for each in lines if each.endswith("of 12 tasks)")]
    assert len(set(done)) > 1
    assert done == sorted(done)
