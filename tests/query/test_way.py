"""What lies on a way, and what beside it."""

from lineage_merge.query.elements import Edge
from lineage_merge.query.paths import on_the_way


def hops(*pairs: str) -> set[Edge]:
    return {Edge(pair, "feeds", pair[0], pair[1]) for pair in pairs}


def test_dead_ends_and_what_lies_behind_are_not_on_the_way() -> None:
    assert on_the_way(hops("ab", "bc", "bx", "cd"), "a", "c") == hops("ab", "bc")


def test_every_path_counts_and_a_circle_does_no_harm() -> None:
    found = on_the_way(hops("ab", "ac", "bd", "cd", "db", "de"), "a", "e")
    assert found == hops("ab", "ac", "bd", "cd", "db", "de")


def test_a_way_neither_passes_its_start_again_nor_its_end() -> None:
    assert on_the_way(hops("ab", "ba", "bc", "cb", "ca"), "a", "c") == hops("ab", "bc")


def test_from_a_dataset_to_itself_it_is_the_circle() -> None:
    assert on_the_way(hops("ab", "ba", "bc"), "a", "a") == hops("ab", "ba")


def test_what_is_longer_than_the_depth_is_left_out() -> None:
    assert on_the_way(hops("ab", "bc", "ac"), "a", "c", 1) == hops("ac")
    assert on_the_way(hops("ab", "bc", "ac"), "a", "c", 2) == hops("ab", "bc", "ac")
