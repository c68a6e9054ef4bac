"""The tools over both transports: their list, schemas, answers equal to those of `Lineage`, and errors."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp.types import ListToolsResult, Tool

from lineage_merge.config import Config, History
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.history.layout import MERGES, DagScope, json_file
from lineage_merge.load.merge_run import run_id
from lineage_merge.mcp import tools
from lineage_merge.mcp.paging import DEFAULT_SIZE, Found, page
from lineage_merge.merge.report import JoinedBy, NearMiss, Report
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import Ambiguous, NotFound
from lineage_merge.query import Lineage
from lineage_merge.query.session import Session
from lineage_merge.questions.backends.in_memory import InMemory
from tests.history.made_history import MadeHistory
from tests.lineage_made import MadeLineage, at, col
from tests.made_merges import Made
from tests.mcp.clients import (
    Connect,
    HttpServer,
    InProcess,
    answer,
    ask,
    failed,
    http,
    in_process,
    inside,
    stdio,
    structured,
)
from tests.questions.test_assertions import made as made_tests
from tests.questions.test_ownership import both, in_memory
from tests.snapshots import write_graph

TOOLS = {
    *("search", "describe", "upstream", "downstream", "path", "impact", "owners", "tags"),
    *("usage", "freshness", "tests", "why", "diff", "compare", "history", "report"),
}
# One question a tool.
QUESTIONS: dict[str, dict[str, Any]] = {
    "search": {"text": "o"},
    "describe": {"name": "mart"},
    "upstream": {"name": "mart#customers", "influences": True},
    "downstream": {"name": "raw", "depth": 2},
    "path": {"start": "raw", "end": "report!"},
    "impact": {"name": "raw#email", "change": "drop"},
    "owners": {"name": "copy"},
    "tags": {},
    "usage": {"name": "mart"},
    "freshness": {"older_than": "1d"},
    "tests": {"name": "shop.main.orders"},
    "why": {"name": "mart"},
    "compare": {"first": "dev", "second": "prod"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return both().folder(tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def server(folder: str) -> Iterator[InProcess]:
    with in_process(folder=folder) as running:
        yield running


@pytest.fixture(scope="module")
def http_server(folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http(tmp_path_factory.mktemp("http"), "--folder", folder) as running:
        yield running


@pytest.fixture(scope="module")
def lineage(folder: str) -> Iterator[Lineage]:
    with Lineage.open(folder) as opened:
        yield opened


def listed(connect: Connect) -> ListToolsResult:
    async def run() -> ListToolsResult:
        async with connect() as client:
            return await client.list_tools()

    return anyio.run(run)


def edges(rows: list[dict[str, Any]]) -> set[tuple[str, str, str, str]]:
    return {(each["source"], each["target"], each["kind"], each.get("job", "")) for each in rows}


@pytest.mark.parametrize(
    ("transport", "mode"),
    [
        ("stdio", "legacy"),
        ("http", "auto"),
        pytest.param("stdio", "auto", marks=pytest.mark.nightly),
        pytest.param("http", "legacy", marks=pytest.mark.nightly),
    ],
)
def test_transports_give_the_tools_and_answers_of_the_server(
    folder: str, server: InProcess, http_server: HttpServer, transport: str, mode: str
) -> None:
    tools, answers = tools_and_answers(server.client())
    assert {each.name for each in tools} == TOOLS

    client = stdio("--folder", folder, mode=mode) if transport == "stdio" else http_server.client(mode)
    assert tools_and_answers(client) == (tools, answers)


def tools_and_answers(connect: Connect) -> tuple[list[Tool], list[dict[str, Any]]]:
    """The tools, and an answer of each that has a question."""

    async def run() -> tuple[list[Tool], list[dict[str, Any]]]:
        async with connect() as client:
            answers = [await client.call_tool(name, given) for name, given in QUESTIONS.items()]
            return (await client.list_tools()).tools, [_without_age(structured(each)) for each in answers]

    return anyio.run(run)


def _without_age(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what depends on the time of the call."""
    return answer | {"rows": [{key: row[key] for key in row if key != "age"} for row in answer["rows"]]}


def test_all_tools_are_declared_as_read_only(server: InProcess) -> None:
    for tool in listed(server.client()).tools:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False
        assert tool.output_schema is not None
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)


def test_a_list_of_tools_is_short(server: InProcess) -> None:
    tools = listed(server.client()).tools
    read = sum(len(each.description or "") + len(str(each.input_schema)) for each in tools)
    # What each session of an assistant reads first: about 3,200 tokens.
    assert read < 14_000


def test_answers_have_only_declared_fields(server: InProcess) -> None:
    schemas = {each.name: each.output_schema for each in listed(server.client()).tools}
    names = sorted(QUESTIONS)
    for name, result in zip(
        names, ask(server.client(), *((each, QUESTIONS[each]) for each in names)), strict=True
    ):
        jsonschema.validate(result.structured_content, _closed(schemas[name]))


def _closed(schema: Any) -> Any:
    """A schema that accepts no other fields."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(each) for key, each in schema.items()}
    return closed | ({"additionalProperties": False} if "properties" in schema else {})


@pytest.mark.parametrize(
    ("name", "given", "asked"),
    [
        ("upstream", {"name": "mart"}, lambda it: it.upstream("mart")),
        ("upstream", {"name": "mart#customers"}, lambda it: it.upstream("mart#customers")),
        (
            "upstream",
            {"name": "mart#customers", "influences": True},
            lambda it: it.upstream("mart#customers", influences=True),
        ),
        ("downstream", {"name": "raw"}, lambda it: it.downstream("raw")),
        ("downstream", {"name": "raw", "depth": 1}, lambda it: it.downstream("raw", depth=1)),
        ("path", {"start": "raw", "end": "report!"}, lambda it: it.path("raw", "report!")),
        ("path", {"start": "mart", "end": "raw"}, lambda it: it.path("mart", "raw")),
    ],
)
def test_edges_are_those_of_the_interface(
    server: InProcess, lineage: Lineage, name: str, given: dict[str, Any], asked: Callable[[Lineage], Any]
) -> None:
    expected = {
        (each.from_id, each.to_id, each.label, each.job)
        for each in asked(lineage).graph.edges
        if each.label != "has_column"
    }
    found = answer(server.client(), name, **given)
    assert edges(found["rows"]) == expected
    assert found["total"] == len(expected)


def test_edges_have_their_distance_nearest_first(server: InProcess) -> None:
    rows = answer(server.client(), "upstream", name="mart#customers", influences=True)["rows"]
    assert [(each["distance"], each["source"], each["kind"]) for each in rows] == [
        (1, col("copy", "country"), "influences"),
        (1, col("copy", "id"), "feeds_column"),
        (2, col("raw", "id"), "feeds_column"),
    ]
    assert {each.get("expression") for each in rows} == {None, "count(id)"}


def test_impact_owners_and_tags_are_those_of_the_interface(server: InProcess, lineage: Lineage) -> None:
    impact = answer(server.client(), "impact", name="raw#email", change="drop")
    found = lineage.impact("raw#email", change="drop")
    assert {(each["id"], each["distance"], each.get("effect")) for each in impact["rows"]} == {
        (each["id"], each["distance"], each["effect"]) for each in found.records()
    }
    assert impact["effects"] == {
        key.value: number for key, number in found.dependents.effects.items() if number
    }
    distances = [each["distance"] for each in impact["rows"] if each["kind"] != "test"]
    assert distances == sorted(distances)

    owners = answer(server.client(), "owners", name="copy")["rows"]
    assert [(each.get("owner"), each["distance"]) for each in owners] == [
        (each["owner"], each["distance"]) for each in lineage.owners("copy").records()
    ]

    tags = answer(server.client(), "tags", name="shop.main.orders")["rows"]
    assert {(each["id"], each["tag"], each["how"]) for each in tags} == {
        (each["id"], each["tag"], each["kind"]) for each in lineage.tags("shop.main.orders").records()
    }


def test_tests_are_those_of_the_interface(tmp_path: Path) -> None:
    folder = made_tests().folder(tmp_path)
    one, failing, near, all_tests = map(
        structured,
        ask(
            inside(folder=folder),
            ("tests", {"name": "b"}),
            ("tests", {"name": "b#x", "failed": True}),
            ("tests", {"name": "b", "depth": 1}),
            ("tests", {}),
        ),
    )
    keys = ("id", "name", "type", "dataset", "column", "distance", "severity", "status", "failures")
    with Lineage.open(folder) as lineage:
        expected = [{**each, "id": each["assertion"]} for each in lineage.tests("b").records()]
        everything = {each["assertion"] for each in lineage.tests().records()}
    assert [tuple(each.get(key) for key in keys) for each in one["rows"]] == [
        tuple(each[key] for key in keys) for each in expected
    ]
    assert one["counts"] == {"passed": 1, "failed": 1, "warned": 1, "error": 1, "no result": 1}
    assert (one["of"], one["untested"], one["untested_total"]) == (at("b"), [at("a")], 1)
    assert {each["last_run_at"] for each in one["rows"] if "last_run_at" in each} == {"1970-01-03T02:00:00Z"}
    assert {each["name"] for each in failing["rows"]} == {"unique_b_x", "rows_of_b"}
    assert {each["distance"] for each in near["rows"]} == {0}
    assert {each["id"] for each in all_tests["rows"]} == everything
    assert "of" not in all_tests
    assert failed(inside(folder=folder), "tests", depth=2)["error"] == "question"


def test_search_finds_datasets_columns_and_jobs(server: InProcess) -> None:
    found = ask(
        server.client(),
        ("search", {"text": "mart", "owners": '["@data"]'}),
        ("search", {"text": "email", "kind": "column"}),
        ("search", {"text": "ingest", "kind": "job"}),
        ("search", {"text": "no such name"}),
    )
    datasets, columns, jobs, nothing = map(structured, found)
    assert [each["id"] for each in datasets["rows"]] == [at("mart")]
    assert datasets["rows"][0]["owners"] == ["@data", "marts@example.com"]
    ids = [each["id"] for each in columns["rows"]]
    assert {col("copy", "email"), col("raw", "email"), col("hashed", "email_hash")} <= set(ids)
    is_exact = [each.endswith("|email") for each in ids]
    assert is_exact == sorted(is_exact, reverse=True)
    assert [each["id"] for each in jobs["rows"]] == ["dev|daily|spark|ingest"]
    assert nothing == {"total": 0, "note": "no matching dataset", "rows": []}


def test_columns_are_found_by_tag(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b").columns("a.mail > b.mail").columns("a.id > b.id")
    made.nodes[col("a", "mail")]["tags"] = ["PII", "contact"]
    made.nodes[col("b", "id")]["tags"] = ["pii"]
    server = inside(folder=made.folder(tmp_path))
    pii, both_tags, named = (
        {each["id"] for each in structured(result)["rows"]}
        for result in ask(
            server,
            ("search", {"kind": "column", "tags": ["pii"]}),
            ("search", {"kind": "column", "tags": ["pii", "contact"]}),
            ("search", {"kind": "column", "tags": ["pii"], "text": "ID"}),
        )
    )
    assert pii == {col("a", "mail"), col("b", "id")}
    assert both_tags == {col("a", "mail")}
    assert named == {col("b", "id")}
    assert failed(server, "search", kind="column")["error"] == "question"


def test_filters_that_do_not_apply_are_errors(server: InProcess) -> None:
    found = failed(server.client(), "search", kind="column", owners=["ada"])
    assert found == {"error": "question", "message": "owners does not apply to columns. Fix: omit it"}


def test_describe_has_neighbours_writers_and_parts(server: InProcess) -> None:
    found = ask(
        server.client(),
        ("describe", {"name": "mart"}),
        ("describe", {"name": "mart#customers"}),
        ("describe", {"name": "build"}),
    )
    dataset, column, job = map(structured, found)
    assert (dataset["of"], dataset["kind"], dataset["environment"]) == (at("mart"), "table", "dev")
    assert dataset["written_by"] == [{"id": "dev|marts|spark|build"}]
    assert (dataset["fed_by"], dataset["feeds"]) == ([at("copy")], [at("report!")])
    assert {each["id"] for each in dataset["rows"]} == {col("mart", "customers"), col("mart", "is_adult")}
    assert column["dataset"] == at("mart")
    assert [(each["id"], each["expression"]) for each in column["rows"]] == [(col("copy", "id"), "count(id)")]
    assert {(each["role"], each["id"]) for each in job["rows"]} == {
        ("reads", at("copy")),
        ("writes", at("mart")),
    }


def test_the_scope_of_a_call_replaces_that_of_the_server(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b").flow("a > c", environment="prod")
    server = inside(folder=made.folder(tmp_path), environment="dev")
    found = ask(
        server,
        ("downstream", {"name": "a"}),
        ("downstream", {"name": "a", "environment": "prod"}),
        ("compare", {"first": "dev", "second": "prod"}),
    )
    dev, prod, compared = map(structured, found)
    assert [each["target"] for each in dev["rows"]] == [at("b")]
    assert [each["target"] for each in prod["rows"]] == [at("c", "prod")]
    assert {
        (each["environment"], each["kind"], each["id"].rpartition("|")[2]) for each in compared["rows"]
    } == {
        ("dev", "dataset", "b"),
        ("dev", "feed", "a"),
        ("prod", "dataset", "c"),
        ("prod", "feed", "a"),
    }


def test_errors_are_short_and_have_candidates(server: InProcess) -> None:
    found = ask(
        server.client(),
        ("upstream", {"name": "mart_customer"}),
        ("describe", {"name": "mart#custmers"}),
        ("upstream", {"name": "mart", "depth": 0}),
        ("upstream", {"nam": "mart"}),
        ("impact", {"name": "mart", "change": "retype"}),
        ("upstream", {"name": "mart", "environment": "prod"}),
    )
    assert all(each.is_error and each.structured_content is None for each in found)
    errors = [dict(json.loads(each.content[0].text)) for each in found]  # type: ignore[union-attr]
    assert [each["error"] for each in errors] == [
        "not_found",
        "not_found",
        "arguments",
        "arguments",
        "question",
        "not_found",
    ]
    assert set(errors[1]["candidates"]) == {col("mart", "customers"), col("mart", "is_adult")}
    assert errors[2]["message"] == "depth: Input should be greater than or equal to 1"
    assert errors[5]["candidates"] == ["dev"]
    assert all(len(each["message"]) < 400 for each in errors)


def test_empty_arguments_count_as_omitted(server: InProcess) -> None:
    empty = {"depth": None, "environment": "", "as_of": "", "cursor": ""}
    given, plain, missing = ask(
        server.client(),
        ("upstream", {"name": "mart", **empty}),
        ("upstream", {"name": "mart"}),
        ("upstream", {"name": ""}),
    )
    assert structured(given) == structured(plain)
    assert missing.is_error


def test_a_scope_is_no_path(server: InProcess) -> None:
    for environment in ("dev/../..", "..\\dev", "a b", "*"):
        found = failed(server.client(), "upstream", name="mart", environment=environment)
        assert found["error"] == "arguments"
    assert failed(server.client(), "compare", first="../x", second="dev")["error"] == "arguments"


def test_an_ambiguous_name_has_the_ids_to_choose_from(tmp_path: Path) -> None:
    made = MadeLineage().flow("one.sales > two.sales")
    found = failed(inside(folder=made.folder(tmp_path)), "downstream", name="sales")
    assert found["error"] == "ambiguous"
    assert set(found["candidates"]) == {at("one.sales"), at("two.sales")}
    assert "--" not in found["message"]


def test_a_folder_has_no_past(server: InProcess) -> None:
    for name, given in (
        ("upstream", {"name": "mart", "as_of": "3d"}),
        ("diff", {"start": "3d"}),
        ("history", {}),
    ):
        found = failed(server.client(), name, **given)
        assert (
            found["message"] == "this graph is a folder without history. Fix: start the server with --history"
        )
    found = failed(server.client(), "report")
    assert (found["error"], found["message"]) == (
        "not_found",
        "the graph has no merge: folders of build have none",
    )


def test_questions_on_the_past(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    history.full("2026-01-03T04:00", Made().job("spark", "load", {"b": ["x"]}))
    empty = write_graph(tmp_path / "graph")
    results = ask(
        inside(graph_file=empty, history=history.location, environment="dev"),
        ("upstream", {"name": "b", "as_of": "2026-01-02"}),
        ("upstream", {"name": "b", "as_of": "2026-01-04"}),
        ("diff", {"start": "2026-01-02", "end": "2026-01-04"}),
        ("history", {}),
        ("history", {"name": "b"}),
        ("report", {"as_of": "2026-01-02"}),
        ("report", {"as_of": "2026-01-02", "dag": "weekly"}),
        ("upstream", {"name": "b", "as_of": "2025-01-01"}),
        ("upstream", {"name": "b", "as_of": "yesterday"}),
    )
    before, after, changed, merges, events = map(structured, results[:5])
    assert [each["source"] for each in before["rows"]] == ["dev|wh|a"]
    assert [each["source"] for each in after["rows"]] == ["dev|wh|x"]
    feeds = {(each["action"], each["source"]) for each in changed["rows"] if each["kind"] == "feed"}
    assert feeds == {("added", "dev|wh|x"), ("removed", "dev|wh|a")}
    assert [each["at"] for each in merges["rows"]] == ["2026-01-03T04:00:00Z", "2026-01-01T04:00:00Z"]
    assert events["of"] == "dev|wh|b"
    assert {each["merge"] for each in events["rows"]} == {each["merge"] for each in merges["rows"]}
    report = structured(results[5])
    assert (report["environment"], report["dag"], report["merged_at"]) == (
        "dev",
        "daily",
        "2026-01-01T04:00:00Z",
    )
    assert all(each.is_error for each in results[6:])
    assert "folder" not in str(results[6].content)
    assert '"error":"not_found"' in str(results[7].content)
    assert "as_of: not a time: yesterday" in str(results[8].content)


def test_reports_of_several_dags_as_of_a_moment_have_candidates(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path))
    for dag, hour in (("daily", 4), ("weekly", 5)):
        history.full(f"2026-01-01T0{hour}:00", Made(dag).job("spark", "load", {"b": ["a"]}))
    past: dict[str, Any] = {"as_of": "2026-01-02", "history": history.location}
    with Lineage.open(environment="dev", **past) as lineage:
        asked = lineage._session
        with pytest.raises(Ambiguous) as several:
            _report(asked)
        assert several.value.candidates == ("dev daily", "dev weekly")
        assert _report(asked, dag="weekly").header["dag"] == "weekly"


def test_a_graph_without_a_merge_is_no_folder() -> None:
    with pytest.raises(NotFound) as missing:
        _report(merged(Report({}, {}, {}, (), ())))
    assert missing.value.message == "the graph has no merge"


@pytest.mark.parametrize("content", ['{"format": 99}', "{"])
def test_the_note_on_a_history_that_cannot_be_read_has_no_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    history = MadeHistory(str(tmp_path / "home of ada"))
    record = history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    file = json_file(history.location, MERGES, DagScope("dev", "daily"), record.name)
    Path(file).write_text(content)
    graph = MadeLineage().flow("a > b")
    config = Config("daily", "dev", history=History(location=history.location))
    lineage = Lineage.of_graph(in_memory(graph), config)
    assert "home of ada" in lineage.why("b").note
    why = tools.TOOLS["why"]
    found = page(why.ask(lineage._session, why.arguments(name="b")), "0" * 12, DEFAULT_SIZE, None)
    assert "ada" not in json.dumps(found)
    assert found["note"].startswith(
        "note: recent changes are unknown: the files of the graph or its history "
    )
    assert found["note"].endswith("; b: no cause found")
    assert "home of ada" in caplog.text


def _report(graph: Session, **arguments: str) -> Found:
    report = tools.TOOLS["report"]
    return report.ask(graph, report.arguments(**arguments))


def merged(report: Report, *dags: str) -> Session:
    vertices = []
    for dag in dags:
        held = {
            "environment": "dev",
            "dag_name": (dag,),
            "last_merged_at": 1_790_000_000_000,
            "elements_written": 7,
            "elements_retired": 1,
            "report": json.dumps(report.as_json()),
        }
        vertices.append(Vertex(run_id("dev", dag), "merge_run", held))
    return Lineage.of_graph(InMemory(vertices, ()))._session


def test_the_report_has_near_misses_first_and_no_folder_of_the_machine() -> None:
    miss = NearMiss(at("a"), at("A"), 90, ("same columns",), "merge.aliases", "merge:\n  aliases: {a: A}\n")
    problem = Problem("rejected", "/home/ada/exports/manifest.json", "nodes", "not an object")
    joined = (JoinedBy(("same-name",), 4),)
    report = Report({}, {}, {}, joined, (problem,), {"rejected": 3}, near_misses=(miss,))
    found = page(_report(merged(report, "daily")), "0" * 12, 8_000, None)
    assert (found["environment"], found["dag"], found["written"]) == ("dev", "daily", 7)
    assert found["totals"] == {"rejected": 3}
    assert found["rows"] == [
        {
            "kind": "near-miss",
            "written": at("a"),
            "read": at("A"),
            "score": 90,
            "evidence": ["same columns"],
            "fix_key": "merge.aliases",
            "fix": ["merge:", "  aliases: {a: A}"],
        },
        {"kind": "rejected", "document": "manifest.json", "field": "nodes", "message": "not an object"},
    ]
    with pytest.raises(Ambiguous) as several:
        _report(merged(report, "daily", "nightly"))
    assert several.value.candidates == ("dev daily", "dev nightly")
    chosen = _report(merged(report, "daily", "nightly"), dag="nightly")
    assert chosen.header["dag"] == "nightly"
