"""Propagation of tags on a small graph: in memory, from a folder and from a server."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lineage_merge.config import Cleared, Propagation
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.tags import TagCounts, counts, paths, select_tags
from lineage_merge.questions.traversal.tag_propagation import PropagatedTags, propagate
from tests.lineage_made import BACKENDS, MadeLineage, at, col


def made() -> MadeLineage:
    """Tags on two columns and on a dataset; a diamond, a cycle, hops without columns, two environments.

    ::

        in.email -> a.email -> b.email -> d.who          in.email -> c.hash -> d.who
        in.email -> e (rows);  d -> report!;  a -> lost (columns unavailable) -> after -> far!
        crm (tagged) -> vip;   x.k -> y.k -> x.k;   a -> files (metadata), crm -> files (metadata)
    """
    lineage = MadeLineage()
    lineage.flow("in > a > b > d > report!").flow("in > c > d", job="side").flow("in > e", job="rows")
    lineage.flow("a > lost", job="rdd", column_lineage="unavailable").flow("lost > after", job="copy")
    lineage.flow("a > files", job="inspect", reads="metadata")
    lineage.flow("crm > files", job="inspect", reads="metadata")
    lineage.flow("after > far!").flow("crm > vip", job="vip").flow("x > y > x", job="loop", dag="nightly")
    lineage.columns("in.email > a.email", transformation="IDENTITY")
    lineage.columns("in.id > a.id", transformation="IDENTITY")
    lineage.columns("a.email > b.email", transformation="TRANSFORMATION", expression="lower(email)")
    lineage.columns("b.email > d.who", transformation="IDENTITY")
    lineage.columns("in.email > c.hash", "side", transformation="TRANSFORMATION", expression="md5(Email)")
    lineage.columns("c.hash > d.who", "side", transformation="AGGREGATION,IDENTITY")
    lineage.columns("in.email > e", "rows", transformation="FILTER")
    lineage.columns("in.id > e.id", "rows", transformation="IDENTITY")
    lineage.columns("lost.n > after.n", "copy", transformation="AGGREGATION", expression="sum(n)")
    lineage.columns("crm.name > vip.name", "vip", transformation="IDENTITY")
    lineage.columns("x.k > y.k", "loop", "nightly", transformation="IDENTITY")
    lineage.columns("y.k > x.k", "loop", "nightly", transformation="IDENTITY")
    lineage.flow("in > a", environment="prod").columns("in.email > a.email", environment="prod")
    for column, tags in (("in.email", ["pii"]), ("d.who", ["gold", "pii"]), ("y.k", ["key"])):
        lineage.nodes[col(*column.split("."))]["tags"] = tags
    lineage.nodes[at("crm")]["tags"] = ["customer"]
    lineage.nodes[col("in", "email", "prod")]["tags"] = ["pii"]
    return lineage


@pytest.fixture(params=BACKENDS)
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LineageGraph]:
    yield from made().opened(request, tmp_path)


def short(identifier: str) -> str:
    return "#".join(identifier.split("|")[2:])


def carriers(found: PropagatedTags, tag: str) -> dict[str, str]:
    """Each carrier of a tag with its origin."""
    return {
        short(each.id) + (" own" if each.own else " by rows" if each.by_rows else ""): short(each.origin)
        for each in found.carriers
        if each.tag == tag
    }


def path(found: PropagatedTags, tag: str, identifier: str) -> list[str]:
    (one,) = (each for each in found.carriers if (each.tag, each.id) == (tag, identifier))
    return [f"{short(edge.from_id)}>{short(edge.to_id)}" for edge in one.path]


PII = {
    "in#email own": "in#email",
    "a#email": "in#email",
    "b#email": "in#email",
    "c#hash": "in#email",
    "d#who own": "d#who",
    "e by rows": "in#email",
    "report!": "d#who",
    "lost": "in#email",
    "lost#n": "in#email",
    "after#n": "in#email",
    "far!": "in#email",
}


def test_tags_pass_columns_rows_and_whole_datasets(graph: LineageGraph) -> None:
    found = propagate(graph, ["pii"], {}, "dev")
    assert carriers(found, "pii") == PII
    assert path(found, "pii", at("far!")) == ["in#email>a#email", "a>lost", "lost#n>after#n", "after>far!"]
    assert path(found, "pii", at("report!")) == ["d>report!"]
    assert path(found, "pii", at("e")) == ["in#email>e"]
    assert found.stops == ()


def test_all_tags_and_their_counts(graph: LineageGraph) -> None:
    found = propagate(graph, None, {}, "dev")
    assert carriers(found, "pii") == PII
    assert carriers(found, "gold") == {"d#who own": "d#who", "report!": "d#who"}
    assert carriers(found, "key") == {"x#k": "y#k", "y#k own": "y#k"}
    assert carriers(found, "customer") == {"crm own": "crm", "crm#name own": "crm", "vip#name": "crm"}
    assert counts(found) == [
        TagCounts("customer", own_datasets=1, own_columns=1, inherited_columns=1),
        TagCounts("gold", own_columns=1, inherited_datasets=1),
        TagCounts("key", own_columns=1, inherited_columns=1),
        TagCounts("pii", own_columns=2, inherited_datasets=4, inherited_columns=5),
    ]
    ordered = [(each.tag, each.id) for each in found.carriers]
    assert ordered == sorted(ordered)


def test_environments_and_dags_are_separate(graph: LineageGraph) -> None:
    prod = propagate(graph, ["pii"], {}, "prod")
    assert {each.id for each in prod.carriers} == {col("in", "email", "prod"), col("a", "email", "prod")}
    assert propagate(graph, None, {}, "dev", "nightly").carriers == tuple(
        each for each in propagate(graph, ["key"], {}, "dev").carriers
    )
    both = propagate(graph, ["pii"], {})
    assert len(both.carriers) == len(PII) + 2


STOPS: list[tuple[Mapping[str, Propagation], set[str], set[tuple[str, str, str]]]] = [
    (
        {"pii": Propagation(stop_at=frozenset({"AGGREGATION", "influences"}))},
        # AGGREGATION,IDENTITY passes: one chain is a copy.
        {"after#n", "far!", "e by rows"},
        {("after#n", "transformation", "AGGREGATION"), ("e", "influences", "influences")},
    ),
    (
        {"*": Propagation(stop_at_functions=("md5",))},
        {"c#hash"},
        {("c#hash", "function", "md5")},
    ),
    (
        {"pii": Propagation(stop_at_datasets=("lo*", "wh|e", "redshift://wh:5439/e")), "*": Propagation()},
        {"lost", "lost#n", "after#n", "far!", "e by rows"},
        {("lost", "dataset", "lo*"), ("e", "dataset", "redshift://wh:5439/e")},
    ),
    (
        {"pii": Propagation(clear=(Cleared("*", "WHO", "known names"), Cleared("a", "e*", "")))},
        # The tag of d.who itself is cleared, and so the exposure has it no longer.
        {"d#who own", "report!", "a#email", "b#email", "lost", "lost#n", "after#n", "far!"},
        {("d#who", "cleared", "known names"), ("a#email", "cleared", "")},
    ),
]


@pytest.mark.parametrize(("propagation", "without", "stops"), STOPS)
def test_tags_stop(
    graph: LineageGraph,
    propagation: Mapping[str, Propagation],
    without: set[str],
    stops: set[tuple[str, str, str]],
) -> None:
    found = propagate(graph, ["pii"], propagation, "dev")
    assert carriers(found, "pii").keys() == PII.keys() - without
    assert {(short(each.id), each.kind, each.reason) for each in found.stops} == stops


def test_settings_of_a_tag_replace_the_default(graph: LineageGraph) -> None:
    settings = {"*": Propagation(stop_at=frozenset({"IDENTITY"})), "pii": Propagation()}
    found = propagate(graph, None, settings, "dev")
    assert carriers(found, "pii") == PII
    assert carriers(found, "customer") == {"crm own": "crm", "crm#name own": "crm"}


def test_a_stop_is_not_reported_where_the_tag_arrives_by_another_path(graph: LineageGraph) -> None:
    found = propagate(graph, ["pii"], {"pii": Propagation(stop_at_datasets=("d",))}, "dev")
    # d.who has the tag of its own.
    assert found.stops == ()


def test_the_tags_of_a_dataset_are_those_of_its_columns(graph: LineageGraph) -> None:
    found = propagate(graph, None, {}, "dev")
    (dataset,) = graph.vertices([at("d")])
    of_d = select_tags(found, dataset)
    assert {(each.tag, short(each.id)) for each in of_d.carriers} == {("gold", "d#who"), ("pii", "d#who")}
    (column,) = graph.vertices([col("a", "email")])
    of_a = select_tags(found, column)
    assert [short(each.id) for each in of_a.carriers] == ["a#email"]
    assert select_tags(found, column, own=True).carriers == ()
    graph_of_a = paths(found, of_a.carriers)
    assert {short(each) for each in graph_of_a.vertices} == {"in#email", "a#email"}


def test_a_tag_that_is_unknown_has_no_carriers(graph: LineageGraph) -> None:
    assert propagate(graph, ["secret"], {}, "dev") == PropagatedTags()
