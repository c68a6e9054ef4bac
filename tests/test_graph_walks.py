"""Walks over graphs: order, cycles, long chains."""

from lineage_merge.infra.batches import batched
from lineage_merge.model.graph_walks import parts_first, reachable, sort_by_edges

CYCLE = {"a": ["b", "d"], "b": ["c"], "c": ["a", "e"], "d": [], "e": []}


def test_what_a_cycle_leads_to_is_reached_once() -> None:
    assert reachable(["c"], CYCLE) == {*"abcde"}
    assert reachable(["x"], CYCLE) == {"x"}


def test_parts_come_first_and_a_cycle_is_cut_where_it_closes() -> None:
    assert "".join(parts_first(["a"], CYCLE.__getitem__)) == "ecbda"
    assert "".join(parts_first(["d", "b", "d"], CYCLE.__getitem__)) == "daecb"


def test_a_cycle_and_what_follows_it_have_no_order() -> None:
    following = {"x": ["y", "d"], "y": ["d"], **CYCLE}
    assert [*sort_by_edges(following, following)] == ["x", "y"]
    assert [*sort_by_edges("edz", {"z": ["e", "d"], "d": ["e"]})] == ["z", "d", "e"]


def test_a_long_chain_needs_no_recursion() -> None:
    chain = {number: [number + 1] for number in range(100_000)}
    assert len(reachable([0], chain)) == 100_001
    assert next(parts_first([0], lambda number: chain.get(number, ()))) == 100_000
    assert sum(1 for _ in sort_by_edges(chain, chain)) == 100_001


def test_batches_have_all_items_in_order() -> None:
    assert [*batched(iter("abcde"), 2)] == [["a", "b"], ["c", "d"], ["e"]]
    assert [*batched((), 2)] == []
