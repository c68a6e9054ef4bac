"""What Python workers do when rows are grouped, without Spark."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from operator import add, itemgetter
from typing import Any

import pytest

from lineage_merge.infra.engine import on_spark
from lineage_merge.merge.property_rows import Facts

PARTITIONS = 7
ROWS = [(f"key {number % 40}", number) for number in range(1500)]


def partitions(*parts: Iterable[on_spark.Bucket]) -> list[list[bytes]]:
    """Move buckets to their partitions, as Spark does."""
    moved = defaultdict(list)
    for part in parts:
        for number, pickled in part:
            moved[number].append(pickled)
    return list(moved.values())


def summed(key: str, rows: list[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    yield key, len(rows), sum(number for _, number in rows)


def expected() -> list[tuple[str, int, int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for key, number in ROWS:
        groups[key].append(number)
    return sorted((key, len(numbers), sum(numbers)) for key, numbers in groups.items())


# With 1 MB, which each process has in use already, all is written to disk and read again.
@pytest.mark.parametrize("memory_mb", [1, 1 << 20])
def test_rows_of_several_parts_are_grouped_by_key(
    memory_mb: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    to_buckets = partial(on_spark.make_keyed_buckets, itemgetter(0), PARTITIONS)
    grouping = partial(on_spark.apply_by_key, summed, memory_mb)

    moved = partitions(to_buckets(ROWS[:1234]), to_buckets(ROWS[1234:]))

    assert len(moved) == PARTITIONS
    assert sorted(each for part in moved for each in grouping(part)) == expected()


@pytest.mark.parametrize("memory_mb", [1, 1 << 20])
def test_values_of_several_parts_are_combined_by_key(
    memory_mb: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    combining = on_spark.Combining(int, add, add, memory_mb)
    to_buckets = partial(on_spark.buckets_of, PARTITIONS)

    moved = partitions(*(to_buckets(combining.values(part)) for part in (ROWS[:1234], ROWS[1234:])))

    found = sorted(each for part in moved for each in combining.merge_partitions(part))
    assert found == [(key, total) for key, _, total in expected()]


def test_keys_of_one_value_go_to_one_partition_in_every_process() -> None:
    to_buckets = partial(on_spark.make_keyed_buckets, itemgetter(0), 1000)
    found = {place for place, _ in to_buckets([("dev|a\ud800", 1), ("dev|a\ud800", 2)])}
    # The number is part of the test: a hash that differs by process would be another one.
    assert found == {43}


def test_rows_come_back_from_their_buckets() -> None:
    moved = partitions(on_spark.make_keyed_buckets(itemgetter(1), 3, ROWS))
    assert sorted(row for part in moved for row in on_spark.rows_of(part)) == sorted(ROWS)


def test_facts_are_unchanged_by_a_move() -> None:
    facts = Facts((1, "table"), {"name": (2, "orders")}, {"aliases": {"a", "b"}})
    [moved] = partitions(on_spark.buckets_of(2, [("id", facts)]))
    assert list(on_spark.rows_of(moved)) == [facts]
