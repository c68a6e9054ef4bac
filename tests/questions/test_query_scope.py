"""Unknown environments and DAGs, asked on the graph in memory."""

import pytest

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.model.errors import NotFound
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.names import check_scope, resolve_any, resolve_dataset_or_column
from tests.lineage_made import pipeline


@pytest.fixture(scope="module")
def graph() -> InMemory:
    made = pipeline()
    vertices = [
        Vertex(key, row["label"], {**row, "dag_name": tuple(row["dag_name"])})
        for key, row in made.nodes.items()
    ]
    return InMemory(vertices, [])


@pytest.mark.parametrize(
    ("environment", "dag", "message", "candidates"),
    [
        ("prdo", None, "unknown environment: prdo; did you mean prod? the graph has:", {"dev", "prod"}),
        ("test", None, "unknown environment: test; the graph has:", {"dev", "prod"}),
        ("dev", "dialy", "unknown DAG: dialy; did you mean daily? dev has:", {"daily"}),
        (None, "xyz", "unknown DAG: xyz; the graph has:", {"daily", "nightly"}),
    ],
)
def test_an_unknown_scope_is_named_with_those_that_exist(
    graph: InMemory, environment: str | None, dag: str | None, message: str, candidates: set[str]
) -> None:
    for ask in (
        lambda: check_scope(graph, environment, dag),
        lambda: resolve_any(graph, "q", environment, dag),
        lambda: resolve_dataset_or_column(graph, "q", environment, dag),
    ):
        with pytest.raises(NotFound) as raised:
            ask()

        assert raised.value.message == message
        assert set(raised.value.candidates) >= candidates


def test_a_name_in_another_environment_is_not_found_in_a_known_one(graph: InMemory) -> None:
    with pytest.raises(NotFound, match=r"^not found in dev: q$"):
        resolve_any(graph, "q", "dev")


def test_a_misspelt_name_is_not_found_with_similar_names() -> None:
    ids = [f"dev|redshift://wh:5439|dev.marts.{name}" for name in ("top_events_by_sales", "sales")]
    graph = InMemory(
        [Vertex(each, "table", {"name": each.rpartition(".")[2], "environment": "dev"}) for each in ids], []
    )

    with pytest.raises(NotFound) as raised:
        resolve_any(graph, "top_event_by_sales", "dev")

    assert raised.value.message == "not found in dev: top_event_by_sales; similar names:"
    assert raised.value.candidates == (ids[0],)
