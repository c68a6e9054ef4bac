"""The whole way between two datasets."""

from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import T

from lineage_merge.query.way import Hop, on_the_way, way


def hops(*pairs: str) -> set[Hop]:
    return {Hop(pair[0], pair[1], "job") for pair in pairs}


def test_dead_ends_and_what_lies_behind_are_not_on_the_way() -> None:
    assert on_the_way(hops("ab", "bc", "bx", "cd"), "a", "c") == hops("ab", "bc")


def test_every_path_counts_and_a_circle_does_no_harm() -> None:
    found = on_the_way(hops("ab", "ac", "bd", "cd", "db", "de"), "a", "e")
    assert found == hops("ab", "ac", "bd", "cd", "db", "de")


def test_a_way_through_the_graph_names_jobs_and_datasets(gremlin: GraphTraversalSource) -> None:
    for name in "abcdx":
        gremlin.add_v("file").property(T.id, name).property("namespace", "s3://n").property(
            "qualified_name", name
        ).iterate()
    for start, end in ("ab", "bc", "ac", "cd", "xc", "ax"):
        gremlin.add_e("feeds").from_(__.V(start)).to(__.V(end)).property(
            "job_name", f"{start}{end}"
        ).iterate()

    found = way(gremlin, "a", "c")

    assert {(hop.source, hop.target, hop.job) for hop in found.hops} == {
        ("a", "b", "ab"),
        ("b", "c", "bc"),
        ("a", "c", "ac"),
        ("a", "x", "ax"),
        ("x", "c", "xc"),
    }
    assert found.datasets["a"].title == "s3://n/a"


def test_no_way_is_no_hops(gremlin: GraphTraversalSource) -> None:
    gremlin.add_v("file").property(T.id, "a").iterate()
    gremlin.add_v("file").property(T.id, "b").iterate()
    assert way(gremlin, "a", "b").hops == ()
