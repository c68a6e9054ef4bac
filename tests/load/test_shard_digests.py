"""Digests of written elements, and the comparison of the next merge with them. No graph."""

from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.shard_digests import (
    FORMAT,
    Entry,
    RunState,
    Shard,
    decode_entries,
    difference,
    digest_of_entries,
    encode_entries,
    shard_count,
    shards,
)
from lineage_merge.model.elements import JobKey
from tests.made_merges import Made, dataset

Row = dict[str, Any]


def made() -> Made:
    found = Made().job("dbt", "model.p.m", {"m": ["a", "b"]}, 1, "p", sequence=1)
    return found.feeds_column(("dbt", "model.p.m"), ("a", "x"), ("m", "y"))


def shards_of(merge: Made, number: int = 1) -> list[Shard]:
    engine = LocalEngine()
    return shards(engine.rows(merge.nodes.values()), engine.rows(merge.edges.values()), number).collect()


def entries_of(merge: Made) -> list[Entry]:
    return [entry for shard in shards_of(merge) for entry, _ in shard.elements]


def test_the_order_of_elements_and_values_is_irrelevant() -> None:
    other = made()
    other.nodes = {key: dict(reversed(row.items())) for key, row in reversed(other.nodes.items())}
    other.edges = dict(reversed(other.edges.items()))
    assert [each.digest for each in shards_of(made())] == [each.digest for each in shards_of(other)]


def test_each_element_is_in_one_shard_and_a_dataset_with_its_columns_and_writers() -> None:
    found = shards_of(made(), 7)
    assert sorted(entry.id for each in found for entry, _ in each.elements) == sorted(
        [*made().nodes, *made().edges]
    )
    together = {dataset("m"), f"{dataset('m')}|y"}
    (one,) = [each for each in found if together & {entry.id for entry, _ in each.elements}]
    assert together <= {entry.id for entry, _ in one.elements}
    assert any(row["label"] == "writes" for _, row in one.elements)


@pytest.mark.parametrize("number", [1, 7])
def test_a_shard_has_the_digest_of_its_entries(number: int) -> None:
    for each in shards_of(made(), number):
        stored = decode_entries(encode_entries(entry for entry, _ in each.elements))
        assert digest_of_entries(stored) == each.digest


def test_changed_and_unmatched_elements_are_found() -> None:
    before = entries_of(made())
    changed = made().node("b", description="new").node("c")
    del changed.nodes[dataset("a") + "|x"]
    (shard,) = shards_of(changed)
    found = difference(shard, before)
    assert {row["id"] for row in found.changed} == {dataset("b"), dataset("c")}
    assert {entry.id for entry in found.removed} == {dataset("a") + "|x"}
    assert len(found.unchanged) == len(before) - 2


def test_a_different_sequence_is_no_change() -> None:
    other = made()
    for edge in other.edges.values():
        edge["sequence"] = 9
    assert entries_of(other) == entries_of(made())


def test_building_a_dataset_changes_its_digest_and_those_of_its_columns() -> None:
    other = made().edge(JobKey("spark", "j"), "dev|daily|spark|j", "writes", dataset("a"))
    (shard,) = shards_of(other)
    found = difference(shard, entries_of(made()))
    assert {row["id"] for row in found.changed if "from" not in row} == {dataset("a"), dataset("a") + "|x"}


@pytest.mark.parametrize(
    ("elements", "earlier", "number"),
    [
        (0, 0, 1),
        (2_000, 0, 1),
        (2_001, 0, 2),
        (1_000_000, 0, 500),
        (2_500, 4, 4),
        (1_999, 4, 1),
        (33_000, 4, 17),
    ],
)
def test_the_number_of_shards_changes_only_for_very_large_or_small_shards(
    elements: int, earlier: int, number: int
) -> None:
    assert shard_count(elements, earlier) == number


@pytest.mark.parametrize("text", ["", "?", "eJwDAAAAAAE=", "bm8="])
def test_a_damaged_text_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_entries(text)


def test_the_state_of_a_run_is_read_back() -> None:
    state = RunState(shards=("a", "b"), left=1, names="n", vertices={"table": 3}, edges={"feeds": 2})
    assert RunState.read(state.text()) == state
    assert state.is_usable
    assert not RunState(full=1, shards=("a",)).is_usable
    assert not RunState(load="token", shards=("a",)).is_usable


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"shards":1}', '{"shards":[],"unknown":1}', RunState(version=FORMAT + 1).text()]
)
def test_a_state_of_another_format_is_not_used(text: str) -> None:
    assert not RunState.read(text).is_usable
