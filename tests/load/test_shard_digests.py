"""Digests of a merge, what is stored of them, and the comparison of the next merge with it. No graph."""

import base64
import json
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.shard_digests import (
    Differing,
    Entry,
    Shard,
    ShardEntries,
    difference,
    digest_of_keys,
    entries_of,
    numbers_of,
    shard_count,
    shards,
)
from lineage_merge.load.shard_state import (
    FORMAT,
    RunState,
    decode_digests,
    decode_keys,
    encode_digests,
    encode_keys,
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


def entries(merge: Made) -> ShardEntries:
    (shard,) = shards_of(merge)
    return entries_of(shard)


def difference_between(before: Made, after: Made) -> Differing:
    stored = entries(before)
    (shard,) = shards_of(after)
    return difference(
        entries_of(shard), shard.rows, dict(zip(stored.keys, numbers_of(stored.digests), strict=True))
    )


def test_the_order_of_elements_and_values_is_irrelevant() -> None:
    other = made()
    other.nodes = {key: dict(reversed(row.items())) for key, row in reversed(other.nodes.items())}
    other.edges = dict(reversed(other.edges.items()))
    assert [each.digest for each in shards_of(made())] == [each.digest for each in shards_of(other)]
    assert entries(made()) == entries(other)


def digest_of_node(**values: Any) -> bytes:
    (shard,) = shards_of(Made().node("a", **values))
    return shard.digest


@pytest.mark.parametrize(
    "values",
    [
        {"tags": ["b", "a"]},
        {"tags": ("a", "b"), "description": None, "aliases": []},
        {"first_seen": 7, "tags": ["a", "b"], "unknown": 1},
    ],
)
def test_values_that_are_not_compared_do_not_change_a_digest(values: Row) -> None:
    assert digest_of_node(**values) == digest_of_node(tags=["a", "b"])


def test_all_texts_have_digests_of_their_own() -> None:
    texts = ["a\nb", "a\\nb", "x:null", "\ud800", "\ud801", "\\ud800", "\x00", "", "a"]
    assert len({digest_of_node(description=text) for text in texts}) == len(texts)
    assert digest_of_node(description="\ud800", tags=["b", "a"]) == digest_of_node(
        tags=["a", "b"], location=None, description="\ud800"
    )


def test_each_element_is_in_one_shard_and_a_dataset_with_its_columns_and_writers() -> None:
    found = shards_of(made(), 7)
    assert sorted(row["id"] for each in found for row in each.rows) == sorted([*made().nodes, *made().edges])
    together = {dataset("m"), f"{dataset('m')}|y"}
    (one,) = [each for each in found if together & {row["id"] for row in each.rows}]
    assert together <= {row["id"] for row in one.rows}
    assert any(row["label"] == "writes" for row in one.rows)


@pytest.mark.parametrize("number", [1, 7])
def test_what_is_stored_of_a_shard_is_read_back(number: int) -> None:
    for each in shards_of(made(), number):
        found = entries_of(each)
        stored = decode_digests(encode_digests(found))
        assert stored == (each.number, each.digest, digest_of_keys(found.keys), found.digests)
        assert decode_keys(encode_keys(each.number, found.keys)) == (each.number, found.keys)


def test_changed_and_unmatched_elements_are_found() -> None:
    changed = made().node("b", description="new").node("c")
    del changed.nodes[dataset("a") + "|x"]
    found = difference_between(made(), changed)
    assert {row["id"] for row in found.changed} == {dataset("b"), dataset("c")}
    assert found.removed == (Entry("v", dataset("a") + "|x"),)
    assert len(found.unchanged) == len(made().nodes) + len(made().edges) - 2
    assert found.entries == entries(changed)


def test_keys_are_stored_again_only_where_they_changed() -> None:
    assert difference_between(made(), made().node("b", description="new")).entries == entries(
        made().node("b", description="new")
    )._replace(has_new_keys=False)
    for before, after in ((made(), made().node("c")), (made().node("c"), made())):
        found = difference_between(before, after).entries
        assert found is not None
        assert found.has_new_keys


def test_a_different_sequence_is_no_change() -> None:
    other = made()
    for edge in other.edges.values():
        edge["sequence"] = 9
    assert [each.digest for each in shards_of(other)] == [each.digest for each in shards_of(made())]
    assert entries(other) == entries(made())


def test_building_a_dataset_changes_its_digest_and_those_of_its_columns() -> None:
    other = made().edge(JobKey("spark", "j"), "dev|daily|spark|j", "writes", dataset("a"))
    assert shards_of(other)[0].digest != shards_of(made())[0].digest
    found = difference_between(made(), other)
    assert {row["id"] for row in found.changed if "from" not in row} == {dataset("a"), dataset("a") + "|x"}


@pytest.mark.parametrize(
    ("elements", "earlier", "number"),
    [
        (0, 0, 1),
        (256, 0, 1),
        (257, 0, 2),
        (1_000_000, 0, 3_907),
        (400, 4, 4),
        (255, 4, 1),
        (4_097, 4, 17),
        (10_000_000, 0, 16_384),
        (100_000_000, 16_384, 16_384),
    ],
)
def test_the_number_of_shards_changes_only_for_very_large_or_small_shards(
    elements: int, earlier: int, number: int
) -> None:
    assert shard_count(elements, earlier) == number


@pytest.mark.parametrize("text", ["", "?", "eJwDAAAAAAE=", "bm8=", "\u00e4"])
def test_a_damaged_text_is_rejected(text: str) -> None:
    for decode in (decode_digests, decode_keys):
        with pytest.raises(ValueError, match=r"."):
            decode(text)


def test_digests_of_another_shard_or_with_another_byte_are_rejected() -> None:
    content = bytearray(base64.b64decode(encode_digests(entries(made()))))
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1
        with pytest.raises(ValueError, match="digest"):
            decode_digests(base64.b64encode(damaged).decode())


def test_the_state_of_a_run_is_read_back() -> None:
    digests = b"12345678", b"\x00\xff345678"
    state = RunState(shards=digests, left=1, names="n", vertices={"table": 3}, edges={"feeds": 2})
    assert RunState.read(state.text()) == state
    assert state.is_usable
    assert state.shard_count == 3
    assert not RunState(full=1, shards=digests).is_usable
    assert not RunState(load="token", shards=digests).is_usable


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"shards":1}',
        '{"shards":[],"unknown":1}',
        RunState(shards=(b"12345678",), version=FORMAT + 1).text(),
        RunState(shards=(b"12345678",)).text().replace('"shards":"', '"shards":"?'),
    ],
)
def test_a_state_of_another_format_is_not_used(text: str) -> None:
    assert not RunState.read(text).is_usable


def test_shards_of_the_first_format_are_replaced_after_a_full_comparison() -> None:
    state = {"full": 1, "load": "", "shards": ["0" * 16] * 5, "left": 2, "names": "", "version": 1}
    read = RunState.read(json.dumps(state | {"vertices": {}, "edges": {}}))
    assert (read.is_usable, read.full, read.shard_count) == (False, 1, 7)
