"""Edges on paths between two datasets."""

from lineage_merge.graph_format.elements import Edge
from lineage_merge.questions.lineage_questions import edges_on_paths


def hops(*pairs: str) -> set[Edge]:
    return {Edge(pair, "feeds", pair[0], pair[1]) for pair in pairs}


def test_dead_ends_are_not_on_paths() -> None:
    assert edges_on_paths(hops("ab", "bc", "bx", "cd"), "a", "c") == hops("ab", "bc")


def test_all_paths_are_found_despite_cycles() -> None:
    found = edges_on_paths(hops("ab", "ac", "bd", "cd", "db", "de"), "a", "e")
    assert found == hops("ab", "ac", "bd", "cd", "db", "de")


def test_paths_do_not_pass_their_ends_twice() -> None:
    assert edges_on_paths(hops("ab", "ba", "bc", "cb", "ca"), "a", "c") == hops("ab", "bc")


def test_a_path_from_a_dataset_to_itself_is_its_cycle() -> None:
    assert edges_on_paths(hops("ab", "ba", "bc"), "a", "a") == hops("ab", "ba")


def test_paths_longer_than_the_depth_are_omitted() -> None:
    assert edges_on_paths(hops("ab", "bc", "ac"), "a", "c", 1) == hops("ac")
    assert edges_on_paths(hops("ab", "bc", "ac"), "a", "c", 2) == hops("ab", "bc", "ac")
