"""Lineage of a DataFrame as the agent records it, and as `capture` does: for tests that expect the same."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from lineage_merge import capture
from tests.capture.capture_cases import flows_of, influences_of
from tests.sources.spline.columns.harvesting import harvest
from tests.sources.spline.columns.lineage_reading import flows, influences, read

TARGET = "s3://lake/target"
# Returns flows as ``t.a -> x IDENTITY``, and influences as ``t.a FILTER``.
Reader = Callable[[DataFrame], tuple[set[str], set[str]]]


def _by_agent(frame: DataFrame) -> tuple[set[str], set[str]]:
    found = read(harvest(frame, TARGET))
    return flows(found), influences(found)


def _by_capture(frame: DataFrame) -> tuple[set[str], set[str]]:
    found = capture(frame, target=TARGET)
    edges = {f"{source} -> {column} {kinds}" for source, column, kinds, _ in flows_of(found)}
    return edges, influences_of(found)


BY_BOTH = pytest.mark.parametrize("reader", [_by_agent, _by_capture])
