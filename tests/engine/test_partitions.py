"""Partitions of rows, which each engine numbers and counts."""

from collections.abc import Iterable, Iterator

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine


@pytest.fixture(params=["local", "threads", pytest.param("spark", marks=pytest.mark.jvm)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param != "spark":
        return LocalEngine(threads=3 if request.param == "threads" else 1)
    from lineage_merge.infra.engine.on_spark import SparkEngine

    return SparkEngine(request.getfixturevalue("spark"))


def test_each_partition_has_a_number_of_its_own(engine: Engine) -> None:
    # Within the test: workers cannot import its module.
    def numbered(number: int, rows: Iterable[int]) -> Iterator[tuple[int, int]]:
        return ((number, row) for row in rows)

    rows = engine.rows(range(30)).repartition(3)
    found = rows.map_numbered_partitions(numbered).collect()
    assert sorted(row for _, row in found) == list(range(30))
    assert {number for number, _ in found} <= set(range(rows.partition_count))
    assert rows.partition_count == 3


def test_rows_of_one_key_are_in_one_partition(engine: Engine) -> None:
    def keys(rows: Iterable[int]) -> Iterator[tuple[set[int], int]]:
        found = list(rows)
        yield {row % 5 for row in found}, len(found)

    rows = engine.rows(range(40)).repartition_by(lambda row: row % 5, 3)
    assert rows.partition_count <= 3
    found = rows.map_partitions(keys).collect()
    assert sum(number for _, number in found) == 40
    assert sorted(key for keys, _ in found for key in keys) == list(range(5))
