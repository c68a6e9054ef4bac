from itertools import pairwise
from typing import Any

import pytest
from gremlin_python.process.traversal import Bytecode, Cardinality, Direction, T
from gremlin_python.statics import LongType
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.load.gremlin.upserts import batches, bytecode, edge_upsert, vertex_upserts
from lineage_merge.model.errors import IntermediateError

Row = dict[str, Any]

KEYS = {"environment": "dev", "dag_name": "daily"}
NODE = {"id": "dev|s3://b|sales", "label": "file", "name": "sales", **KEYS}
EDGE = {"id": "e1", "label": "feeds", "from": "a", "to": "b", **KEYS}

texts = st.text(min_size=1, max_size=8)
some = st.none() | texts
node_rows = st.fixed_dictionaries(
    {
        "id": texts,
        "label": st.sampled_from(["file", "job"]),
        "environment": texts,
        "dag_name": texts,
        "name": texts,
        "description": some,
        "rows_written": st.none() | st.integers(0, 2**62),
        "tags": st.none()
        | st.lists(some, max_size=5)
        | st.integers(190, 450).map(lambda n: [*map(str, range(n))]),
        "aliases": st.none() | st.lists(texts, max_size=5, unique=True),
    }
)
edge_rows = st.fixed_dictionaries(
    {
        "id": texts,
        "label": st.just("feeds"),
        "from": texts,
        "to": texts,
        "environment": texts,
        "dag_name": texts,
        "job_name": some,
        "via": some,
    }
)


def records_of(request: Bytecode) -> int:
    """Count the records as Neptune does: each label and each property of an element."""
    count = 0
    for name, *arguments in request.step_instructions:
        if name in ("mergeV", "mergeE", "property"):
            count += 1
        elif name == "option" and arguments[0].name == "on_create":
            count += sum(not isinstance(key, T | Direction) for key in arguments[1])
    return count


def properties_of(request: Bytecode) -> list[tuple[Cardinality, str, Any]]:
    return [tuple(rest) for name, *rest in request.step_instructions if name == "property"]


def only_request(row: Row) -> Bytecode:
    (batch,) = batches(vertex_upserts(row))
    return bytecode(batch)


@given(st.lists(node_rows, max_size=120))
def test_no_request_for_vertices_exceeds_the_limits_of_neptune_and_no_value_is_lost(rows: list[Row]) -> None:
    requests = [bytecode(batch) for batch in batches(u for row in rows for u in vertex_upserts(row))]
    assert all(records_of(request) <= 200 for request in requests)
    assert all(len(request.step_instructions) <= 1_500 for request in requests)
    written = [value for request in requests for _, key, value in properties_of(request) if key == "tags"]
    assert written == [tag for row in rows for tag in row["tags"] or [] if tag is not None]


@given(st.lists(edge_rows, max_size=300))
def test_no_request_for_edges_exceeds_the_limits_of_neptune_and_none_is_lost(rows: list[Row]) -> None:
    requests = [bytecode(batch) for batch in batches(map(edge_upsert, rows))]
    assert all(records_of(request) <= 200 for request in requests)
    assert all(len(request.step_instructions) <= 1_500 for request in requests)
    merged = [step[1] for request in requests for step in request.step_instructions if step[0] == "mergeE"]
    assert merged == [{T.id: row["id"]} for row in rows]


@given(st.lists(st.integers(0, 30), max_size=60))
def test_a_request_is_filled_before_the_next_one_starts(tags: list[int]) -> None:
    rows = [NODE | {"id": str(n), "tags": [str(tag) for tag in range(count)]} for n, count in enumerate(tags)]
    full = list(batches(upsert for row in rows for upsert in vertex_upserts(row)))
    for batch, following in pairwise(full):
        assert sum(upsert.records for upsert in batch) + following[0].records > 200


def test_long_texts_are_not_put_into_one_request() -> None:
    rows = [NODE | {"id": str(number), "description": "x" * 400_000} for number in range(5)]
    batched = list(batches(upsert for row in rows for upsert in vertex_upserts(row)))
    assert [len(batch) for batch in batched] == [2, 2, 1]


def test_a_text_above_the_request_limit_is_still_sent() -> None:
    row = NODE | {"description": "x" * 2_000_000}
    assert [len(batch) for batch in batches(vertex_upserts(row))] == [1]


def test_unknown_values_are_not_written() -> None:
    request = only_request(NODE | {"description": None, "tags": [], "aliases": None, "rows_written": None})
    assert {key for _, key, _ in properties_of(request)} == {"environment", "dag_name", "name"}


def test_all_properties_have_an_explicit_cardinality() -> None:
    request = only_request(NODE | {"tags": ["daily", "core"]})
    created = [step[2] for step in request.step_instructions if step[0] == "option"]
    assert created == [{T.id: NODE["id"], T.label: "file"}]
    sets = {
        (key, value) for cardinality, key, value in properties_of(request) if cardinality is Cardinality.set_
    }
    assert sets == {("dag_name", "daily"), ("tags", "daily"), ("tags", "core")}
    rest = {cardinality for cardinality, key, _ in properties_of(request) if key not in ("dag_name", "tags")}
    assert rest == {Cardinality.single}


def test_a_small_number_declared_long_is_sent_as_long() -> None:
    request = only_request(NODE | {"label": "job", "rows_written": 7})
    assert [type(value) for _, key, value in properties_of(request) if key == "rows_written"] == [LongType]


@pytest.mark.parametrize("key", ["id", "label", "environment", "dag_name"])
def test_a_node_without_a_key_is_named(key: str) -> None:
    with pytest.raises(IntermediateError, match=f"{key} is missing"):
        list(vertex_upserts(NODE | {key: None}))


@pytest.mark.parametrize("key", ["id", "label", "from", "to", "environment", "dag_name"])
def test_an_edge_without_a_key_is_named(key: str) -> None:
    with pytest.raises(IntermediateError, match=f"edge .*{key} is missing"):
        edge_upsert(EDGE | {key: ""})
