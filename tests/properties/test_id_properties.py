"""No two things share an id, and an id can be read back."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.model.elements import (
    DatasetName,
    JobKey,
    column_id,
    dataset_id,
    decode,
    edge_id,
    encode,
    job_id,
    operation_id,
)
from tests.properties.drawn import examples

# Separators and escapes, in all combinations.
_PIECES = st.sampled_from(
    ["", "|", "%", "%7C", "%25", "%257C", "7C", "25", "a", "A", "b", "é", "Σ", "😀", " "]
)
PARTS = st.one_of(st.lists(_PIECES, max_size=3).map("".join), st.text(max_size=4))
DATASETS = st.builds(dataset_id, PARTS, st.builds(DatasetName, PARTS, PARTS))


@examples(300)
@given(PARTS)
def test_a_part_is_read_back(part: str) -> None:
    assert decode(encode(part)) == part
    assert "|" not in encode(part)


@examples(300)
@given(PARTS, PARTS, PARTS, PARTS)
def test_an_id_has_its_parts_again(environment: str, one: str, two: str, three: str) -> None:
    def parts(identifier: str) -> list[str]:
        return [decode(each) for each in identifier.split("|")]

    assert parts(dataset_id(environment, DatasetName(one, two))) == [environment, one, two]
    assert parts(job_id(environment, one, JobKey(two, three))) == [environment, one, two, three]
    column = column_id(dataset_id(environment, DatasetName(one, two)), three)
    assert parts(column) == [environment, one, two, three.lower()]


# Nothing but what separates: without encoding almost any two of these would be one.
BARS = st.sampled_from(["", "|", "||", "%7C"])
JOBS = st.builds(JobKey, BARS, BARS) | st.builds(JobKey, PARTS, PARTS)
EDGES = st.tuples(BARS, BARS, st.none() | JOBS, BARS | DATASETS, BARS, BARS | DATASETS)


@pytest.mark.parametrize(
    ("parts", "identify"),
    [
        (
            st.tuples(BARS | PARTS, st.tuples(BARS, BARS | PARTS)),
            lambda of: dataset_id(of[0], DatasetName(*of[1])),
        ),
        (st.tuples(DATASETS, (BARS | PARTS).map(str.lower)), lambda of: column_id(*of)),
        (st.tuples(BARS, BARS | PARTS, JOBS), lambda of: job_id(*of)),
        (st.tuples(BARS, BARS, JOBS, BARS | PARTS), lambda of: operation_id(job_id(*of[:3]), of[3])),
        (EDGES, lambda of: edge_id(*of)),
    ],
    ids=["datasets", "columns", "jobs", "operations", "edges"],
)
def test_distinct_parts_have_distinct_ids(
    parts: st.SearchStrategy[Any], identify: Callable[[Any], str]
) -> None:
    @examples(60)
    @given(st.sets(parts, min_size=2, max_size=40))
    def check(distinct: set[Any]) -> None:
        assert len({identify(each) for each in distinct}) == len(distinct)

    check()
