"""Resolution of user input to a vertex."""

import pytest

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.model.errors import Ambiguous, NotFound
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.names import check_scope, resolve_any, resolve_dataset_or_column
from tests.lineage_made import at, col, pipeline


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("z", at("z")),
        ("dev|redshift://wh:5439|b", at("b")),
        ("q", at("q", "prod")),
        ("e#TOTAL", col("e", "total")),
        ("dev|redshift://wh:5439|e|total", col("e", "total")),
        ("report!", at("report!")),
    ],
)
def test_unique_names_are_resolved(graph: LineageGraph, typed: str, means: str) -> None:
    assert resolve_dataset_or_column(graph, typed).id == means


def test_a_unique_name_is_found_in_any_case() -> None:
    def table(name: str) -> Vertex:
        held = {"environment": "dev", "name": name.rpartition(".")[2], "qualified_name": name}
        return Vertex(at(name), "table", held)

    graph = InMemory(
        [table("dw.mart.Daily_Sales"), table("dw.raw.DAYS"), table("dw.lab.days"), table("dw.raw.d")], []
    )

    def resolved(typed: str) -> str:
        return resolve_dataset_or_column(graph, typed).id

    assert resolved("DAILY_SALES") == resolved("mart.daily_sales") == at("dw.mart.Daily_Sales")
    # As it is spelt, else all that differ in case only.
    assert resolved("days") == at("dw.lab.days")
    assert resolved("RAW.days") == at("dw.raw.DAYS")
    with pytest.raises(Ambiguous) as raised:
        resolved("Days")
    assert raised.value.candidates == (at("dw.lab.days"), at("dw.raw.DAYS"))


@pytest.mark.jvm
@pytest.mark.parametrize(
    "typed", ["a", "redshift://wh:5439|a", "redshift://wh:5439|a#id", "s3://raw/in", "s3a://raw/in/"]
)
def test_a_name_in_two_environments_is_ambiguous(graph: LineageGraph, typed: str) -> None:
    with pytest.raises(Ambiguous) as raised:
        resolve_dataset_or_column(graph, typed)
    assert [each.partition("|")[0] for each in raised.value.candidates] == ["dev", "prod"]
    found = resolve_dataset_or_column(graph, typed, "prod")
    assert found.id.startswith("prod|")
    assert found.label == ("column" if "#" in typed else "file" if "raw" in typed else "table")


@pytest.mark.jvm
def test_names_are_resolved_within_environment_and_dag(graph: LineageGraph) -> None:
    for typed in ("q", "prod|redshift://wh:5439|q"):
        with pytest.raises(NotFound):
            resolve_dataset_or_column(graph, typed, "dev")
    with pytest.raises(NotFound):
        resolve_dataset_or_column(graph, "z", dag="daily")


@pytest.mark.jvm
def test_similar_names_and_known_columns_are_suggested(graph: LineageGraph) -> None:
    with pytest.raises(NotFound) as raised:
        resolve_dataset_or_column(graph, "repor")
    assert raised.value.candidates == (at("report!"),)
    with pytest.raises(NotFound) as raised:
        resolve_dataset_or_column(graph, "a#nothing", "dev")
    assert raised.value.candidates == (col("a", "day"), col("a", "id"))


def test_a_table_is_found_by_schema_and_name_in_any_database() -> None:
    databases = ("dw.mart.daily", "dw.raw.daily", "lab.raw.daily")
    tables = [
        Vertex(at(name), "table", {"environment": "dev", "name": "daily", "qualified_name": name})
        for name in databases
    ]
    graph = InMemory(tables, [])
    assert resolve_dataset_or_column(graph, "Mart.daily").id == at("dw.mart.daily")
    assert resolve_dataset_or_column(graph, "lab.raw.daily").id == at("lab.raw.daily")
    with pytest.raises(Ambiguous):
        resolve_dataset_or_column(graph, "raw.daily")
    with pytest.raises(NotFound):
        resolve_dataset_or_column(graph, "art.daily")


@pytest.mark.jvm
def test_jobs_are_resolved_by_name_or_id(graph: LineageGraph) -> None:
    assert resolve_any(graph, "side").id == "dev|daily|spark|side"
    assert resolve_any(graph, "dev|daily|spark|side").label == "job"
    assert resolve_any(graph, "load", "prod").id == "prod|daily|spark|load"
    # A job feeds nothing by itself.
    with pytest.raises(NotFound):
        resolve_dataset_or_column(graph, "side")
    # A dataset and a job of one name: neither is guessed.
    with pytest.raises(Ambiguous) as raised:
        resolve_any(graph, "log")
    assert raised.value.candidates == ("dev|daily|spark|log", at("log"))


@pytest.fixture(scope="module")
def in_memory() -> InMemory:
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
    in_memory: InMemory, environment: str | None, dag: str | None, message: str, candidates: set[str]
) -> None:
    for ask in (
        lambda: check_scope(in_memory, environment, dag),
        lambda: resolve_any(in_memory, "q", environment, dag),
        lambda: resolve_dataset_or_column(in_memory, "q", environment, dag),
    ):
        with pytest.raises(NotFound) as raised:
            ask()

        assert raised.value.message == message
        assert set(raised.value.candidates) >= candidates


def test_a_name_in_another_environment_is_not_found_in_a_known_one(in_memory: InMemory) -> None:
    with pytest.raises(NotFound, match=r"^not found in dev: q$"):
        resolve_any(in_memory, "q", "dev")


def test_a_misspelt_name_is_not_found_with_similar_names() -> None:
    ids = [f"dev|redshift://wh:5439|dev.marts.{name}" for name in ("top_events_by_sales", "sales")]
    graph = InMemory(
        [Vertex(each, "table", {"name": each.rpartition(".")[2], "environment": "dev"}) for each in ids], []
    )

    with pytest.raises(NotFound) as raised:
        resolve_any(graph, "top_event_by_sales", "dev")

    assert raised.value.message == "not found in dev: top_event_by_sales; similar names:"
    assert raised.value.candidates == (ids[0],)
