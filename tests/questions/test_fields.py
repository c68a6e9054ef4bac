"""Questions on fields of structures: in memory, to a folder and to a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_merge.graph_format.elements import Edge, Subgraph, column_title, subgraph
from lineage_merge.model.errors import Ambiguous, NotFound
from lineage_merge.questions.formats.tree import tree
from lineage_merge.questions.graph import Direction, LineageGraph
from lineage_merge.questions.lineage import all_paths
from lineage_merge.questions.names import resolve_dataset_or_column
from lineage_merge.questions.traversal.dependents import dependents
from lineage_merge.questions.traversal.effects import Change, Effect
from lineage_merge.questions.traversal.impact import impact
from lineage_merge.questions.traversal.lineage import lineage, upstream
from lineage_merge.questions.traversal.lineage_changes import neighbors_of
from lineage_merge.questions.traversal.tag_propagation import propagate
from tests.lineage_made import BACKENDS, MadeLineage, at, col


def made() -> MadeLineage:
    """A structure that is passed on whole, read by its fields, and built of columns.

    ::

        crm.customer -> users.whole -> dump.text (to_json);  users.whole.email -> mart.mail
        crm.customer.email -> mails.address;  crm.customer.city -> places.home.city -> trips.city
        places.home -> copies.home;  x.a -> y.b.in, y.b -> x.a (a cycle that wraps);  dots."a.b", dots.a.b
    """
    lineage = MadeLineage()
    lineage.flow("crm > users > dump").flow("users > mart").flow("crm > mails").flow("crm > places > trips")
    lineage.flow("places > copies").flow("x > y > x", job="loop").flow("dots > trips", job="dots")
    lineage.columns("crm.customer > users.whole", transformation="IDENTITY")
    lineage.columns("users.whole > dump.text", transformation="TRANSFORMATION", expression="to_json(whole)")
    lineage.columns("users.whole/email > mart.mail", transformation="IDENTITY")
    lineage.columns("users.whole/email > mart", transformation="FILTER")
    lineage.columns("crm.customer/email > mails.address", transformation="IDENTITY")
    lineage.columns("crm.customer/city > places.home/city", transformation="IDENTITY")
    lineage.columns("places.home/city > trips.city", transformation="IDENTITY")
    lineage.columns("places.home > copies.home", transformation="IDENTITY")
    lineage.columns("x.a > y.b/in", "loop", transformation="IDENTITY")
    lineage.columns("y.b > x.a", "loop", transformation="IDENTITY")
    lineage.columns("dots.a/b > trips.dots", "dots", transformation="IDENTITY")
    lineage.nodes[col("dots", "a.b")] = {
        **lineage.nodes[col("dots", "a")],
        "id": col("dots", "a.b"),
        "name": "a.b",
    }
    lineage.nodes[col("users", "whole")]["data_type"] = "struct<email:string,phone:string,city:string>"
    return lineage


@pytest.fixture(params=BACKENDS)
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LineageGraph]:
    yield from made().opened(request, tmp_path)


def flows(found: Subgraph | list[Edge]) -> set[str]:
    """Each flow as ``crm#customer -> users#whole``, each edge to a field as ``crm#customer . crm#...``."""
    signs = {"has_column": ".", "feeds_column": "->"}
    edges = found.edges if isinstance(found, Subgraph) else found
    return {
        f"{column_title(edge.from_id)} {signs[edge.label]} {column_title(edge.to_id)}"
        for edge in edges
        if edge.label in signs
    }


def asked(graph: LineageGraph, name: str, direction: Direction, depth: int | None = None) -> set[str]:
    start = resolve_dataset_or_column(graph, name)
    found = lineage(graph, start, direction, depth=depth)
    assert start.id in found.vertices
    return flows(found)


def test_a_field_follows_its_own_edges_and_those_of_the_structure(graph: LineageGraph) -> None:
    assert asked(graph, "crm#customer.email", "down") == {
        "crm#customer.email -> mails#address",
        "crm#customer.email -> users#whole.email",
        "users#whole.email -> dump#text",
        "users#whole.email -> mart#mail",
    }
    assert asked(graph, "mart#mail", "up") == {
        "users#whole.email -> mart#mail",
        "crm#customer.email -> users#whole.email",
    }


def test_a_column_covers_its_fields(graph: LineageGraph) -> None:
    assert asked(graph, "crm#customer", "down") == {
        "crm#customer -> users#whole",
        "crm#customer . crm#customer.email",
        "crm#customer.email -> mails#address",
        "crm#customer . crm#customer.city",
        "crm#customer.city -> places#home.city",
        "places#home.city -> trips#city",
        "places#home.city -> copies#home.city",
        "users#whole -> dump#text",
        "users#whole . users#whole.email",
        "users#whole.email -> mart#mail",
    }
    assert asked(graph, "copies#home", "up") == {
        "places#home -> copies#home",
        "places#home . places#home.city",
        "crm#customer.city -> places#home.city",
    }


def test_the_depth_counts_no_step_into_a_structure(graph: LineageGraph) -> None:
    assert asked(graph, "crm#customer", "down", 1) == {
        "crm#customer -> users#whole",
        "crm#customer . crm#customer.email",
        "crm#customer.email -> mails#address",
        "crm#customer . crm#customer.city",
        "crm#customer.city -> places#home.city",
    }
    assert asked(graph, "trips#city", "up", 1) == {"places#home.city -> trips#city"}


def test_a_field_that_the_graph_does_not_have_is_answered_by_what_passes_it_on(graph: LineageGraph) -> None:
    start = resolve_dataset_or_column(graph, "users#WHOLE.phone")
    assert (start.label, start.title, start.dags) == ("column", "users#whole.phone", ("daily",))
    found = lineage(graph, start, "up")
    assert flows(found) == {"crm#customer.phone -> users#whole.phone"}
    assert found.vertices[col("crm", "customer") + "|phone"].title == "crm#customer.phone"
    assert asked(graph, "users#whole.phone", "down") == {"users#whole.phone -> dump#text"}


@pytest.mark.parametrize("name", ["users#whole.fax", "users#phone.x", "users#whole.", "mart#mail."])
def test_a_field_of_another_type_is_not_found(graph: LineageGraph, name: str) -> None:
    with pytest.raises(NotFound, match=f"column not found: {name}; known columns:"):
        resolve_dataset_or_column(graph, name)


def test_a_column_with_a_dot_and_a_field_are_asked_back(graph: LineageGraph) -> None:
    with pytest.raises(Ambiguous) as error:
        resolve_dataset_or_column(graph, "dots#a.b")
    assert error.value.candidates == (col("dots", "a.b"), col("dots", "a") + "|b")
    assert resolve_dataset_or_column(graph, col("dots", "a") + "|b").qualified_name == "a.b"


def test_a_cycle_that_wraps_a_structure_ends(graph: LineageGraph) -> None:
    found = lineage(graph, resolve_dataset_or_column(graph, "y#b.in"), "down")
    assert {"y#b.in -> x#a.in", "x#a.in -> y#b.in.in"} <= flows(found)
    assert len(found.edges) < 100


def test_paths_lead_through_fields(graph: LineageGraph) -> None:
    def paths(start: str, end: str) -> set[str]:
        ends = (resolve_dataset_or_column(graph, each) for each in (start, end))
        return flows(all_paths(graph, *ends))

    assert paths("crm#customer.email", "mart#mail") == {
        "crm#customer.email -> users#whole.email",
        "users#whole.email -> mart#mail",
    }
    assert paths("crm#customer", "trips#city") == {
        "crm#customer . crm#customer.city",
        "crm#customer.city -> places#home.city",
        "places#home.city -> trips#city",
    }
    assert paths("crm#customer", "users#whole.phone") == {"crm#customer -> users#whole"}
    assert paths("crm#customer.city", "mart#mail") == set()


def test_the_impact_of_a_field(graph: LineageGraph) -> None:
    found = impact(graph, resolve_dataset_or_column(graph, "crm#customer.email"))
    assert {column.title for column in found.columns} == {
        "mails#address",
        "users#whole.email",
        "dump#text",
        "mart#mail",
    }
    assert {dataset.name for dataset in found.datasets} == {"mails", "users", "dump", "mart"}
    whole = impact(graph, resolve_dataset_or_column(graph, "crm#customer"))
    assert {column.title for column in whole.columns} >= {"users#whole", "trips#city", "copies#home.city"}
    assert not {column.title for column in whole.columns if column.title.startswith("crm#")}


def test_the_impact_of_a_dataset_lists_columns_behind_fields(graph: LineageGraph) -> None:
    found = dependents(graph, resolve_dataset_or_column(graph, "crm"), change=Change.DROP)
    columns = {each.vertex.title: each for each in found.select_kind("column")}
    assert {"mart#mail", "trips#city", "dump#text"} <= columns.keys()
    assert columns["trips#city"].distance == 2
    assert columns["mart#mail"].effect is Effect.BREAKS


def test_a_dropped_field_breaks_its_readers_only(graph: LineageGraph) -> None:
    found = dependents(graph, resolve_dataset_or_column(graph, "users#whole.email"), change=Change.DROP)
    assert {(each.vertex.title, each.distance) for each in found.select_kind("column")} == {
        ("mart#mail", 1),
        ("dump#text", 1),
    }
    assert {each.vertex.name for each in found.select_kind("dataset")} == {"mart", "dump"}
    other = dependents(graph, resolve_dataset_or_column(graph, "users#whole.phone"), change=Change.DROP)
    assert {each.vertex.title for each in other.select_kind("column")} == {"dump#text"}


def test_upstream_datasets_of_a_field(graph: LineageGraph) -> None:
    found = upstream(graph, resolve_dataset_or_column(graph, "mart#mail"))
    assert set(found.datasets) == {at("mart"), at("users"), at("crm")}
    assert found.columns == {
        col("mart", "mail"),
        *(col(*each) + "|email" for each in (("users", "whole"), ("crm", "customer"))),
    }


def test_the_limit_of_a_comparison_has_fields(graph: LineageGraph) -> None:
    limit = neighbors_of(resolve_dataset_or_column(graph, "trips#city"), [graph], "up")
    assert limit.has_column(col("places", "home") + "|city")
    assert limit.has_column(col("crm", "customer") + "|city")
    assert not limit.has_column(col("crm", "customer") + "|email")


def test_columns_of_datasets_include_their_fields(graph: LineageGraph) -> None:
    found = lineage(graph, resolve_dataset_or_column(graph, "places"), "down", columns=True)
    assert "places#home . places#home.city" in flows(found)
    assert "places#home.city -> trips#city" in flows(found)
    lines = [line.plain.strip() for line in tree(found, [at("places")])]
    assert any("· city" in line and "← places#home.city" in line for line in lines)


def test_the_tree_leads_from_a_column_through_its_fields(graph: LineageGraph) -> None:
    found = lineage(graph, resolve_dataset_or_column(graph, "copies#home"), "up")
    assert [line.plain for line in tree(found, [col("copies", "home")], "up")] == [
        "copies#home  column",
        "└── places#home  column  → load  IDENTITY",
        "    └── places#home.city  column",
        "        └── crm#customer.city  column  → load  IDENTITY",
    ]


def test_the_tree_lists_the_fields_of_a_column_before_the_next_column() -> None:
    lineage = MadeLineage().flow("a > b").columns("a.home/city > b.x").columns("a.home1 > b.y")
    graph = lineage.graph()
    found = subgraph(graph.vertices(lineage.nodes), graph.edges_below([at("a")], ["has_column"]))
    lines = [line.plain.strip() for line in tree(found, [at("a")])]
    assert [line.split("· ")[1].split()[0] for line in lines if "·" in line] == ["home", "home.city", "home1"]


@pytest.fixture(params=BACKENDS)
def tagged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LineageGraph]:
    lineage = made()
    lineage.nodes[col("crm", "customer") + "|email"]["tags"] = ["pii"]
    lineage.nodes[col("crm", "customer")]["tags"] = ["vip"]
    lineage.nodes[at("places")]["tags"] = ["geo"]
    yield from lineage.opened(request, tmp_path)


def test_a_tag_reaches_what_reads_the_field_or_all_of_the_structure(tagged: LineageGraph) -> None:
    def carriers(tag: str) -> set[str]:
        found = propagate(tagged, [tag], {})
        assert {each.id for each in found.carriers} <= found.vertices.keys()
        return {found.vertices[each.id].title for each in found.carriers}

    assert carriers("pii") == {
        "crm#customer.email",
        "mails#address",
        "users#whole.email",
        "dump#text",
        "mart#mail",
        "mart",
    }
    assert carriers("vip") == {
        "crm#customer",
        "crm#customer.email",
        "crm#customer.city",
        "mails#address",
        "users#whole",
        "users#whole.email",
        "dump#text",
        "mart#mail",
        "mart",
        "places#home.city",
        "copies#home.city",
        "trips#city",
    }
    assert carriers("geo") >= {"places", "places#home", "places#home.city", "trips#city", "copies#home"}


def test_what_depends_on_a_dataset_by_a_field_of_it_only(graph: LineageGraph) -> None:
    found = dependents(graph, resolve_dataset_or_column(graph, "users"))
    hops = {dependent.vertex.id: dependent.distance for dependent in found.select_kind("column")}
    assert hops == {col("dump", "text"): 1, col("mart", "mail"): 1}
