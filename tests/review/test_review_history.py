"""Reviews whose graph is the newest entry of a history, in a folder or in S3."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.history import merge_index
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.recording import write_entry
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.graph_state import Picture
from tests.command_line import Outcome, in_process
from tests.review.dbt_pull_requests.versions import NAMESPACE, document
from tests.review.test_review_dbt import merged
from tests.s3_fixtures import S3


def rows_of(element: Vertex | Edge, dag: str) -> dict[str, Any]:
    held = {key: list(each) if isinstance(each, tuple) else each for key, each in element.properties.items()}
    ends = {"from": element.from_id, "to": element.to_id} if isinstance(element, Edge) else {}
    return {**held, "id": element.id, "label": element.label, **ends, "dag_name": dag}


def record(location: str, day: int, dag: str) -> None:
    """Record a merge of a DAG of the graph with a Spark job of another DAG."""
    graph = merged()
    elements = [*graph.everything(), *graph.everything(labels=("assertion", "checks", "references"))]
    edges = [each for each in elements if isinstance(each, Edge) and each.properties.get("dag_name") == dag]
    ends = {end for each in edges for end in (each.from_id, each.to_id)}
    vertices = [
        each for each in elements if isinstance(each, Vertex) and (dag in each.dags or each.id in ends)
    ]
    name = MergeName(int(datetime(2026, 1, day, tzinfo=UTC).timestamp() * 1000), f"{day:012x}")
    engine = LocalEngine()
    picture = Picture(
        engine.rows([rows_of(each, dag) for each in vertices]),
        engine.rows([rows_of(each, dag) for each in edges]),
    )
    counts = write_entry(location, DagScope("dev", dag), name, picture)
    merge_index.write_record(
        location, DagScope("dev", dag), MergeRecord(name, "full", name, vertices=counts[0], edges=counts[1])
    )


@pytest.fixture(params=["folder", "s3"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "history")
    s3: S3 = request.getfixturevalue("s3")
    s3.put("lake", "other/file", "")
    return "s3://lake/lineage/history"


def review(tmp_path: Path, *more: str) -> Outcome:
    for name in ("base", "drop"):
        (tmp_path / f"{name}.json").write_text(json.dumps(document(name)))
    places = ("--base", str(tmp_path / "base.json"), "--head", str(tmp_path / "drop.json"))
    return in_process("review", *places, "--namespace", NAMESPACE, "--environment", "dev", "--json", *more)


def broken(outcome: Outcome) -> set[str]:
    assert outcome.code == 12, outcome.err
    [found] = json.loads(outcome.out)["findings"]
    return {each for each in found["impact"]["datasets"] if "partners" in each}


def test_the_newest_entry_is_the_graph(location: str, tmp_path: Path) -> None:
    record(location, 1, "daily")
    assert broken(review(tmp_path, "--history", location)) == set()
    record(location, 2, "exports")
    newest = review(tmp_path, "--history", location)
    assert broken(newest) == {"dev|s3://partners|orders"}
    assert "exports in dev: merge 000000000002" in newest.err
    assert json.loads(newest.out)["notes"] == []


def test_an_older_entry_is_the_graph_of_its_moment(location: str, tmp_path: Path) -> None:
    record(location, 1, "daily")
    record(location, 2, "exports")
    assert broken(review(tmp_path, "--history", location, "--as-of", "2026-01-01")) == set()


def test_a_folder_and_a_history_are_two_graphs(tmp_path: Path) -> None:
    outcome = review(tmp_path, "--history", str(tmp_path / "past"), "--folder", str(tmp_path / "build"))
    assert outcome.code == 2
    assert "--folder and --history select different graphs" in outcome.err


def test_an_empty_history_is_an_error(location: str, tmp_path: Path) -> None:
    outcome = review(tmp_path, "--history", location)
    assert outcome.code != 0
    assert "no history" in outcome.err
