"""Questions to a graph with a dashboard: its visuals are columns, what filters one feeds it."""

from pathlib import Path

import pytest

from lineage_merge.config import Merge
from lineage_merge.config.propagation import Propagation
from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver, identity_rules
from lineage_merge.merge.join import merge
from lineage_merge.model.elements import Element, Feeds, FeedsColumn, JobKey, Reference
from lineage_merge.model.errors import NotFound
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.names import resolve_any
from lineage_merge.questions.traversal.column_walk import column_edges
from lineage_merge.questions.traversal.impact import impact
from lineage_merge.questions.traversal.tag_propagation import propagate
from tests.sources.quicksight.made_definitions import sales_board

BOARD = "dashboard/sales_board"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> InMemory:
    nodes, edges = sales_board(tmp_path_factory.mktemp("board"))
    return InMemory(map(vertex_of_row, nodes), map(edge_of_row, edges))


def short(identifier: str) -> str:
    return "#".join(identifier.split("|", 3)[2:])


def test_the_impact_of_a_column_lists_the_charts_that_show_it(graph: InMemory) -> None:
    found = impact(graph, resolve_any(graph, "dev.public.sales#tax"))

    assert {short(column.id) for column in found.columns} == {
        "dataset/sales#tax",
        f"{BOARD}#r1|m.net",
        f"{BOARD}#c1|m.net",
    }
    assert [short(board.id) for board in found.exposures] == [BOARD]
    assert [short(dataset.id) for dataset in found.datasets] == ["dataset/sales"]


def test_a_chart_that_is_only_filtered_by_a_column_depends_on_it(graph: InMemory) -> None:
    found = impact(graph, resolve_any(graph, "dev.public.sales#state"))
    assert {short(column.id) for column in found.columns} == {"dataset/sales#state", f"{BOARD}#r1"}
    assert [short(board.id) for board in found.exposures] == [BOARD]


def test_a_dashboard_that_shows_no_column_of_a_change_is_not_affected(graph: InMemory) -> None:
    found = impact(graph, resolve_any(graph, "dev.public.sales#note"))
    assert {short(column.id) for column in found.columns} == {"dataset/sales#note"}
    assert not found.exposures


def test_upstream_of_a_field_are_its_columns_and_the_filters_of_its_visual(graph: InMemory) -> None:
    field = resolve_any(graph, "Sales#Sales by region.net")
    edges = column_edges(graph, {field.id}, "up")
    assert {
        (short(edge.from_id), edge.properties["transformation"]) for edge in edges if BOARD in edge.to_id
    } == {
        ("dataset/sales#amount", "AGGREGATION"),
        ("dataset/sales#tax", "AGGREGATION"),
        ("dataset/sales#state", "FILTER"),
    }


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("Sales#r1", "r1"),
        ("Sales#Sales by region", "r1"),
        ("sales_board#sales by REGION.Region", "r1|f.region"),
        ("dashboard/sales_board#r1.m.net", "r1|m.net"),
        ("dashboard/Sales#Sales by region.net", "r1|m.net"),
    ],
)
def test_visuals_are_found_by_id_and_by_title(graph: InMemory, name: str, column: str) -> None:
    name = name.replace("sales_board#", "dashboard/sales_board#") if name.startswith("sales_board") else name
    assert short(resolve_any(graph, name).id) == f"{BOARD}#{column}"


def test_a_title_that_no_visual_has_is_not_found(graph: InMemory) -> None:
    with pytest.raises(NotFound):
        resolve_any(graph, "Sales#Costs by region")


@pytest.mark.parametrize("name", ["board", "Board", "dbt://shop|board"])
def test_a_dashboard_is_found_by_the_name_of_its_exposure(graph: InMemory, name: str) -> None:
    assert short(resolve_any(graph, name).id) == BOARD
    assert short(resolve_any(graph, f"{name}#Sales by region.net").id) == f"{BOARD}#r1|m.net"


def test_the_name_of_another_dataset_goes_before_that_of_an_exposure(tmp_path: Path) -> None:
    nodes, edges = sales_board(tmp_path)
    table = next(row for row in nodes if row["id"].endswith("|dev.public.sales"))
    nodes.append({**table, "id": f"{table['id']}2", "name": "board", "qualified_name": "dev.public.board"})
    graph = InMemory(map(vertex_of_row, nodes), map(edge_of_row, edges))
    assert resolve_any(graph, "board").id == f"{table['id']}2"


def test_tags_show_which_charts_show_personal_data(graph: InMemory) -> None:
    found = propagate(graph, ["pii"], {})
    assert {short(carrier.id) for carrier in found.carriers if not carrier.own} == {
        "dataset/sales#customer",
        f"{BOARD}#c1|f.customer",
    }


def test_a_chart_that_is_filtered_by_personal_data_carries_the_tag_by_its_rows(tmp_path: Path) -> None:
    nodes, edges = sales_board(tmp_path)
    for row in nodes:
        if row["id"].endswith("dev.public.sales|state"):
            row["tags"] = ["secret"]
    graph = InMemory(map(vertex_of_row, nodes), map(edge_of_row, edges))

    found = propagate(graph, ["secret"], {})
    assert {(short(carrier.id), carrier.carried) for carrier in found.carriers} == {
        ("dev.public.sales#state", "own"),
        ("dataset/sales#state", "inherited"),
        (f"{BOARD}#r1", "by rows"),
    }
    stopped = propagate(graph, ["secret"], {"secret": Propagation(stop_at=frozenset({"influences"}))})
    assert {short(stop.id) for stop in stopped.stops} == {f"{BOARD}#r1"}


def test_a_filter_stays_one_where_a_data_set_is_collapsed() -> None:
    job, table, data_set, board = (
        JobKey("quicksight", "x"),
        Reference("redshift://wh:5439", "dev.public.t"),
        Reference("arn:aws:quicksight:eu-west-1:1", "dataset/d"),
        Reference("arn:aws:quicksight:eu-west-1:1", "dashboard/b"),
    )
    elements: list[Element] = [
        Feeds(job, table, data_set),
        Feeds(job, data_set, board),
        FeedsColumn(job, table, "a", data_set, "a", ("TRANSFORMATION",), "trim(a)"),
        FeedsColumn(job, data_set, "a", board, "v", ("FILTER", "SORT")),
    ]
    resolver = dataset_resolver.DatasetResolver("dev", identity_rules.Rules())
    records = LocalEngine().rows(list(resolver.records(elements)))
    merged = merge(records, "dev", "d", Merge(collapse_datasets=("*dataset/d",)))

    (edge,) = [row for row in merged.edges.collect() if row["label"] == "feeds_column"]
    assert (short(edge["from"]), short(edge["to"])) == ("dev.public.t#a", "dashboard/b#v")
    assert edge["transformation"] == "FILTER,SORT"
