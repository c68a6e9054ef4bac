"""Resolution of user input to a vertex."""

import pytest

from lineage_merge.model.errors import Ambiguous, NotFound
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.names import resolve_any, resolve_dataset_or_column
from tests.lineage_made import at, col


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


def test_names_are_resolved_within_environment_and_dag(graph: LineageGraph) -> None:
    for typed in ("q", "prod|redshift://wh:5439|q"):
        with pytest.raises(NotFound):
            resolve_dataset_or_column(graph, typed, "dev")
    with pytest.raises(NotFound):
        resolve_dataset_or_column(graph, "z", dag="daily")


def test_similar_names_and_known_columns_are_suggested(graph: LineageGraph) -> None:
    with pytest.raises(NotFound) as raised:
        resolve_dataset_or_column(graph, "repor")
    assert raised.value.candidates == (at("report!"),)
    with pytest.raises(NotFound) as raised:
        resolve_dataset_or_column(graph, "a#nothing", "dev")
    assert raised.value.candidates == (col("a", "day"), col("a", "id"))


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
