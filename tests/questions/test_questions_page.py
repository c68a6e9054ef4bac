"""Queries and commands of docs/queries.md return the results on the page for the sample graph."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.driver.client import Client

from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from tests.command_line import in_process
from tests.gremlin_text import answers_in_the_grammar
from tests.questions_page import EVERYTHING, FOUND, NUMBERED, PAGE, Answer, as_written
from tests.sample_graph import plain


@pytest.fixture(scope="module")
def tickit(tickit_url: str) -> Iterator[Client]:
    with open_client(Endpoint(tickit_url), 1) as client:
        yield client


def test_the_queries_of_the_page_are_numbered() -> None:
    assert [str(number) for number in range(1, 26)] == NUMBERED


@pytest.mark.jvm
@pytest.mark.parametrize("number", NUMBERED)
def test_queries_return_the_results_of_the_page(number: str, tickit: Client) -> None:
    question = FOUND[number]

    found = plain(answers_in_the_grammar(tickit, question.gremlin))

    assert isinstance(found, list)
    assert [as_written(row) for row in found] == question.answer


@pytest.mark.jvm
def test_the_query_of_everything_returns_edges_with_their_ends(tickit: Client) -> None:
    question = FOUND[EVERYTHING]

    found = plain(answers_in_the_grammar(tickit, question.gremlin))

    assert isinstance(found, list)
    assert f"{len(found)} paths" in PAGE.read_text()
    counts = Counter(edge["T.label"] for _, edge, _ in found)
    assert counts == {row["edge"]: int(row["paths"]) for row in question.answer}
    assert all(
        (source["T.id"], target["T.id"]) == (edge["Direction.OUT"]["T.id"], edge["Direction.IN"]["T.id"])
        for source, edge, target in found
    )


# Conversion of a command's JSON to rows of the page's table, with some of its columns.


def _dataset(vertex: dict[str, Any]) -> dict[str, str]:
    has = vertex["properties"]
    return {"name": has["qualified_name"], "where": has["namespace"], "what": vertex["label"]}


def _vertices(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in result["vertices"]}


def _all_datasets(result: dict[str, Any]) -> Answer:
    return [_dataset(each) for each in result["vertices"] if each["label"] in DATASET_LABELS]


def _other_datasets(result: dict[str, Any]) -> Answer:
    others = [each for each in result["vertices"] if each["id"] != result["of"]]
    return [_dataset(each) for each in others if each["label"] in DATASET_LABELS]


def _impact(result: dict[str, Any]) -> Answer:
    vertices = _vertices(result)
    return [_dataset(vertices[each]) for each in (*result["datasets"], *result["exposures"])]


def _hops(result: dict[str, Any]) -> Answer:
    vertices = _vertices(result)
    hops = []
    for edge in result["edges"]:
        if edge["label"] == "feeds":
            source, target = (_dataset(vertices[edge[end]]) for end in ("from", "to"))
            more = {key: edge["properties"].get(key, "") for key in ("job_name", "via")}
            hops.append(
                {
                    "from": source["name"],
                    "where": source["where"],
                    "to": target["name"],
                    "job": more["job_name"],
                    "via": more["via"],
                }
            )
    return hops


def _collapsed(result: dict[str, Any]) -> Answer:
    return [hop for hop in _hops(result) if hop["via"]]


def _jobs_of_edges(result: dict[str, Any]) -> Answer:
    names = {
        (has["job_name"], has["job_type"], has["dag_name"])
        for has in (edge["properties"] for edge in result["edges"])
    }
    return [dict(zip(("job", "type", "dag"), each, strict=True)) for each in names]


def _runs(result: dict[str, Any]) -> Answer:
    keys = {"run": "last_run_id", "rows": "rows_written", "ms": "duration_ms", "status": "status"}
    return [
        {"job": each["name"]} | {key: str(each["properties"][value]) for key, value in keys.items()}
        for each in result["vertices"]
    ]


def _column(result: dict[str, Any], identifier: str) -> dict[str, str]:
    _, namespace, dataset, _ = identifier.split("|")
    return {"column": _vertices(result)[identifier]["name"], "of": dataset, "where": namespace}


def _column_edges(result: dict[str, Any]) -> Answer:
    return [
        _column(result, edge["from"])
        | {
            "how": edge["properties"]["transformation"],
            "expression": edge["properties"].get("expression", ""),
            "into": _vertices(result)[edge["to"]]["name"],
        }
        for edge in result["edges"]
        if edge["label"] in ("feeds_column", "influences")
    ]


def _influences(result: dict[str, Any]) -> Answer:
    result = result | {"edges": [edge for edge in result["edges"] if edge["label"] == "influences"]}
    return _column_edges(result)


def _columns(result: dict[str, Any]) -> Answer:
    columns = [each["id"] for each in result["vertices"] if each["label"] == "column"]
    return [_column(result, each) for each in columns if each != result["of"]]


def _unused_columns(result: dict[str, Any]) -> Answer:
    own = {edge["to"] for edge in result["edges"] if edge["from"] == result["of"]}
    used = {edge["from"] for edge in result["edges"]}
    columns = [each for each in own - used if _vertices(result)[each]["label"] == "column"]
    return [_column(result, each) for each in columns]


def _undescribed(result: dict[str, Any]) -> Answer:
    return [_dataset(each) for each in result["vertices"] if "description" not in each["properties"]]


def _aliases(result: dict[str, Any]) -> Answer:
    return [
        {"name": _dataset(each)["name"], "aliases": ", ".join(each["properties"]["aliases"])}
        for each in result["vertices"]
    ]


def _freshness(result: dict[str, Any]) -> Answer:
    report = result["report"]
    return [
        {
            "dag": result["dag_name"],
            "documents": str(sum(report["read"].values())),
            "retired": str(result["elements_retired"]),
            "not joined": str(report["totals"].get("not-joined", 0)),
        }
    ]


def _shared(result: dict[str, Any]) -> Answer:
    shared = [each for each in result["vertices"] if len(each["properties"]["dag_name"]) > 1]
    return [_dataset(each) for each in shared]


def _only_in_dev(result: dict[str, Any]) -> Answer:
    return [{"datasets": str(len(result["only"]["dev"]["datasets"]))}]


def _cycles(result: dict[str, Any]) -> Answer:
    return [{"group": each} for each in result["groups"]]


READ: dict[str, Callable[[dict[str, Any]], Answer]] = {
    "1": _other_datasets,
    "2": _impact,
    "3": _hops,
    "4": _jobs_of_edges,
    "5": _runs,
    "6": _impact,
    "7": _column_edges,
    "8": _columns,
    "9": _influences,
    "10": _all_datasets,
    "11": _all_datasets,
    "12": _unused_columns,
    "13": _undescribed,
    "14": _collapsed,
    "15": _aliases,
    "16": _freshness,
    "17": _shared,
    "18": _only_in_dev,
    "19": _cycles,
    "20": _hops,
    "25": lambda result: [{"column": each["title"]} for each in result["usages"]],
    **dict.fromkeys(("21", "22", "23", "24"), _all_datasets),
}


@pytest.mark.jvm
@pytest.mark.parametrize("number", NUMBERED)
def test_a_command_says_the_same(number: str, tickit_url: str) -> None:
    question = FOUND[number]
    variables = {"LINEAGE_MERGE_ENVIRONMENT": "dev", "LINEAGE_MERGE_GREMLIN_ENDPOINT": tickit_url}
    words = [*question.command, *([] if "--json" in question.command else ["--json"])]

    outcome = in_process(*words, **variables)

    assert outcome.code == 0, outcome
    answer = question.answer
    if number == "18":  # the page counts by kind, the command names them
        answer = [{"datasets": str(sum(int(row["datasets"]) for row in answer))}]
    result = READ[number](json.loads(outcome.out))
    columns = set(result[0]) & set(answer[0]) if result and answer else set()
    assert bool(result) == bool(columns)
    assert Counter(_project(row, columns) for row in result) == Counter(
        _project(row, columns) for row in answer
    )


def _project(row: dict[str, str], columns: set[str]) -> tuple[str, ...]:
    return tuple(row[column] for column in sorted(columns))


@pytest.mark.jvm
def test_the_command_of_everything_writes_a_page(
    tickit_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = in_process(*FOUND[EVERYTHING].command, LINEAGE_MERGE_GREMLIN_ENDPOINT=tickit_url)

    assert outcome.code == 0, outcome
    assert "top_events_by_sales" in (tmp_path / "lineage.html").read_text()
