"""`Lineage`: the questions of the command line as Python objects, in memory, in a folder and on a server."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.cli import question_commands
from lineage_merge.config import Config, Gremlin, History
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.load.merge_run import run_id
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import Ambiguous, ConfigError, NotFound, QueryError
from lineage_merge.query import Lineage, Result, Vertex
from lineage_merge.questions.backends.in_memory import InMemory
from tests.command_line import in_process
from tests.history.made_history import MadeHistory
from tests.lineage_made import MadeLineage, at, col
from tests.made_merges import Made
from tests.questions.test_ownership import both, in_memory
from tests.snapshots import write_graph

# Each question as a method and as a command.
QUESTIONS: dict[str, tuple[Callable[[Lineage], Result], tuple[str, ...]]] = {
    "upstream": (lambda it: it.upstream("mart"), ("upstream", "mart")),
    "upstream of a column": (
        lambda it: it.upstream("mart#customers", influences=True),
        ("upstream", "mart#customers", "--influences"),
    ),
    "upstream of nothing": (lambda it: it.upstream("raw"), ("upstream", "raw")),
    "downstream": (
        lambda it: it.downstream("raw", depth=2, columns=True),
        ("downstream", "raw", "--depth", "2", "--columns"),
    ),
    "path": (lambda it: it.path("raw", "report!"), ("path", "raw", "report!")),
    "no path": (lambda it: it.path("mart", "raw"), ("path", "mart", "raw")),
    "impact": (
        lambda it: it.impact("raw#email", change="drop"),
        ("impact", "raw#email", "--change", "drop"),
    ),
    "owners": (lambda it: it.owners("copy"), ("owners", "copy")),
    "owners of nothing": (lambda it: it.owners("report!"), ("owners", "report!")),
    "datasets": (
        lambda it: it.datasets("o", owners=["ada@example.com"]),
        ("datasets", "--search", "o", "--owner", "ada@example.com"),
    ),
    "datasets and columns": (lambda it: it.datasets(columns=True), ("datasets", "--columns")),
    "jobs": (lambda it: it.jobs(order="name"), ("jobs", "--sort", "name")),
    "no consumer": (lambda it: it.no_consumer(), ("no-consumer",)),
    "no producer": (lambda it: it.no_producer(), ("no-producer",)),
    "cycles": (lambda it: it.cycles(), ("cycles",)),
    "tests": (lambda it: it.tests(), ("tests",)),
    "tests of a dataset": (
        lambda it: it.tests("shop.main.orders", failed=True),
        ("tests", "shop.main.orders", "--failed"),
    ),
    "numbers of tags": (lambda it: it.tags(), ("tags",)),
    "tags": (lambda it: it.tags("shop.main.orders"), ("tags", "shop.main.orders")),
    "unknown tag": (lambda it: it.tags(tag="pi"), ("tags", "--tag", "pi")),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return both().folder(tmp_path_factory.mktemp("interface"))


@pytest.fixture(scope="module")
def lineage(folder: str) -> Iterator[Lineage]:
    with Lineage.open(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    with EmbeddedServer(None) as server:
        both().load(server.url)
        yield server.url


def test_a_folder_has_no_history_of_another_graph(
    lineage: Lineage, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_HOME", str(tmp_path))
    history = MadeHistory(str(tmp_path / "graph.history"))  # of the user's embedded graph
    history.full("2026-01-01", Made().node("orders"))
    for question in (lambda: lineage.merges(), lambda: lineage.diff("2026-01-01", "2026-01-02")):
        with pytest.raises(ConfigError, match=f"--folder: {folder} has no history"):
            question()
    asked = in_process("history", "--folder", folder)
    assert (asked.code, "has no history" in asked.err) == (2, True)
    with Lineage.open(folder, history=history.location) as given:
        assert [each.record for each in given.merges().merges] == [record for _, record in history.records]


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_that_of_the_command_line(lineage: Lineage, folder: str, question: str) -> None:
    ask, words = QUESTIONS[question]
    found = ask(lineage)
    as_json = in_process(*words, "--folder", folder, "--json")
    as_csv = in_process(*words, "--folder", folder, "--format", "csv")
    assert (as_json.code, as_csv.code) == (0, 0), as_json.err
    assert list(found.to_dict().items()) == list(json.loads(as_json.out).items())
    assert found.to_csv() == as_csv.out
    assert found.note == as_json.err.removesuffix("\n")


@pytest.mark.parametrize("question", QUESTIONS)
def test_records_have_the_declared_columns(lineage: Lineage, question: str) -> None:
    found = QUESTIONS[question][0](lineage)
    for record in found.records():
        assert list(record) == list(found.columns)


@pytest.mark.jvm
def test_memory_folder_and_server_give_the_same_answers(lineage: Lineage, server_url: str) -> None:
    memory = Lineage.of_graph(in_memory(both()))
    with Lineage.open(server_url) as of_server:
        for ask, _ in QUESTIONS.values():
            expected = ask(lineage)
            assert ask(memory).to_dict() == expected.to_dict()
            assert ask(of_server).to_dict() == expected.to_dict()
            assert list(ask(of_server).records()) == list(expected.records())


def test_answers_about_late_data_are_those_of_the_command_line(
    lineage: Lineage, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_790_000_000_000
    monkeypatch.setattr(question_commands, "now_ms", lambda: now)
    asked: dict[tuple[str, ...], Result] = {
        ("freshness", "--older-than", "1d"): lineage.freshness(older_than="1d", now=now),
        ("why", "shop.main.orders"): lineage.why("shop.main.orders", now=now),
    }
    for words, found in asked.items():
        assert found.to_dict() == json.loads(in_process(*words, "--folder", folder, "--json").out)
        assert found.to_csv() == in_process(*words, "--folder", folder, "--format", "csv").out
        assert all(list(each) == list(found.columns) for each in found.records())
    stale = lineage.freshness(older_than=timedelta(days=1), stale=True, now=now)
    assert {each["status"] for each in stale.records()} == {"stale"}
    with pytest.raises(QueryError, match="depth requires a dataset"):
        lineage.tests(depth=1)


def test_violations_of_policies_are_an_answer(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "merge.yml"
    file.write_text("policies: [{name: owned, datasets: '*', must_have: [owner]}]\n")
    outcome = in_process("check", "--config", file, "--folder", folder, "--json")
    assert outcome.code == 14, outcome.err
    with Lineage.open(folder, config=file) as lineage:
        found = lineage.check()
        assert found.failed
        assert found.to_dict() == json.loads(outcome.out)
        assert {each["policy"] for each in found.records()} == {"owned"}
        with pytest.raises(ConfigError, match="unknown policy: onwed"):
            lineage.check(["onwed"])


def test_differences_of_environments_are_those_of_the_command_line(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b").flow("a > c", environment="prod")
    folder = made.folder(tmp_path)
    with Lineage.open(folder) as lineage:
        found = lineage.compare("dev", "prod")
    assert found.to_dict() == json.loads(in_process("diff", "dev", "prod", "--folder", folder, "--json").out)
    assert {
        (each["environment"], each["kind"], each["what"].rpartition("|")[2]) for each in found.records()
    } == {
        ("dev", "dataset", "b"),
        ("dev", "feed", "a"),
        ("prod", "dataset", "c"),
        ("prod", "feed", "a"),
    }


def test_the_history_is_that_of_the_command_line(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    history.full("2026-01-03T04:00", Made().job("spark", "load", {"b": ["x"]}))
    at_history = ("--history", history.location, "--json")
    empty = write_graph(tmp_path / "graph")
    with Lineage.open(empty, history=history.location, environment="dev") as lineage:
        scope = ("--environment", "dev", *at_history)
        asked: dict[tuple[str, ...], Result] = {
            ("history",): lineage.merges(),
            ("history", "b", "--limit", "3"): lineage.history("b", limit=3),
            ("diff", "--from", "2026-01-02", "--to", "2026-01-04"): lineage.diff("2026-01-02", "2026-01-04"),
        }
    for words, found in asked.items():
        outcome = in_process(*words, *scope)
        assert found.to_dict() == json.loads(outcome.out), outcome.err
        assert found.to_csv() == in_process(*words, *scope[:-1], "--format", "csv").out
        assert all(list(each) == list(found.columns) for each in found.records())
    changes = {(each["kind"], each["action"]) for each in asked[next(reversed(asked))].records()}
    assert {("dataset", "added"), ("dataset", "removed"), ("feed", "added"), ("feed", "removed")} <= changes


def test_recent_changes_of_the_history_are_causes(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    history.full("2026-01-03T04:00", Made().job("spark", "load", {"b": ["x"]}))
    with Lineage.open(as_of="2026-01-03T12:00", history=history.location, environment="dev") as lineage:
        found = lineage.why("b", changes_since=timedelta(days=3))
        assert {(each["kind"], each["distance"], each["dataset"]) for each in found.records()} == {
            ("recent_change", 0, "dev|wh|b"),
            ("recent_change", 1, "dev|wh|x"),
        }
        assert list(lineage.why("b", changes_since=None).records()) == []
        with pytest.raises(QueryError, match="changes_since: expected"):
            lineage.why("b", changes_since="soon")


def test_a_graph_that_is_already_open_has_no_history_but_that_of_its_configuration(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    graph = in_memory(both())
    with pytest.raises(ConfigError, match="no history is configured"):
        Lineage.of_graph(graph).merges()
    configured = Config("daily", "dev", history=History(location=history.location))
    assert len(Lineage.of_graph(graph, configured, environment="dev").merges().merges) == 1


def test_an_open_graph_has_the_environment_of_its_configuration() -> None:
    graph = in_memory(MadeLineage().flow("a > b").flow("a > c", environment="prod"))
    configured = Lineage.of_graph(graph, Config("daily", "prod"))
    assert {each.id for each in configured.datasets().datasets} == {at("a", "prod"), at("c", "prod")}
    assert configured.near_misses().scope.environment == "prod"
    other = Lineage.of_graph(graph, Config("daily", "prod"), environment="dev")
    assert other.near_misses().note == "no near misses in dev"


def test_an_open_graph_without_configuration_does_not_read_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_ENVIRONMENT", "prod")
    monkeypatch.setenv("LINEAGE_MERGE_HISTORY_LOCATION", str(tmp_path))
    lineage = Lineage.of_graph(in_memory(MadeLineage().flow("a > b").flow("a > c", environment="prod")))
    assert {each.environment for each in lineage.datasets().datasets} == {"dev", "prod"}
    with pytest.raises(ConfigError, match="no history is configured"):
        lineage.merges()
    with pytest.raises(QueryError, match="need an environment"):
        lineage.near_misses()


def test_an_environment_is_no_path(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    config = Config("daily", "dev", history=History(location=history.location))
    graph = in_memory(MadeLineage().flow("a > b"))
    for environment in ("../dev", "x/../environment=dev", "*", "a b"):
        with pytest.raises(QueryError, match="invalid environment: "):
            Lineage.of_graph(graph, config, environment=environment).merges()
        with pytest.raises(QueryError, match="invalid environment: "):
            Lineage.of_graph(graph, config, environment=environment).diff("2026-01-01", "2026-01-02")


def test_the_report_is_that_of_the_vertex_of_the_merge() -> None:
    report = Report({"plans": 3}, {}, {}, (), (Problem("skipped", "plan 7", "", "no write"),))
    values = {
        "last_merged_at": 1_790_000_000_000,
        "elements_written": 12,
        "report": json.dumps(report.as_json()),
    }
    run = Vertex(run_id("dev", "daily"), "merge_run", values)
    graph = in_memory(MadeLineage().flow("a > b"))
    graph = InMemory([run, *graph.vertices([at("a"), at("b")])], [])
    found = Lineage.of_graph(graph, environment="dev", dag="daily").report()
    assert (found.to_dict()["elements_written"], found.to_dict()["report"]) == (12, report.as_json())
    assert [tuple(each.values()) for each in found.records()] == [("skipped", "plan 7", None, "no write")]
    assert "plan 7" in found._repr_html_()
    with pytest.raises(QueryError, match="needs environment and dag"):
        Lineage.of_graph(graph).report()
    with pytest.raises(NotFound, match="unknown DAG: weekly"):
        Lineage.of_graph(graph, environment="dev", dag="weekly").report()


def test_near_misses_are_those_of_the_command_line(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    written, read = (f"redshift://wh.{each}:5439|dev.public.event" for each in ("us-east-1", "us-west-2"))
    history.full("2026-01-01T04:00", Made("ingest").job("spark", "load", {written: ["raw"]}))
    history.full("2026-01-01T05:00", Made("marts").job("dbt", "mart", {"mart": [read]}))
    words = ("report", "--near-misses", "--environment", "dev", "--as-of", "2026-01-02")
    outcome = in_process(*words, "--history", history.location, "--json")
    assert outcome.code == 0, outcome.err
    with Lineage.open(as_of="2026-01-02", history=history.location, environment="dev") as lineage:
        found = lineage.near_misses()
    assert found.to_dict() == json.loads(outcome.out)
    assert [(each["written"], each["read"]) for each in found.records()] == [
        (f"dev|{written}", f"dev|{read}")
    ]
    assert all(list(each) == list(found.columns) for each in found.records())
    assert f"dev|{written}" in found._repr_html_()
    nothing = Lineage.of_graph(in_memory(MadeLineage().flow("a > b")), environment="dev").near_misses()
    assert (nothing.note, nothing.to_dict()) == (
        "no near misses in dev",
        {"near_misses": [], "notes": [], "dismissed_near_misses": []},
    )
    with pytest.raises(QueryError, match="need an environment"):
        Lineage.of_graph(in_memory(MadeLineage().flow("a > b"))).near_misses()


def test_the_report_as_of_a_moment_is_that_of_the_command_line(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    scope = ("--environment", "dev", "--dag", "daily", "--as-of", "2026-01-02", "--history", history.location)
    printed = json.loads(in_process("report", *scope, "--json").out)
    selected: dict[str, Any] = {"as_of": "2026-01-02", "history": history.location, "environment": "dev"}
    with Lineage.open(dag="daily", **selected) as lineage:
        assert lineage.report().to_dict() == printed
    with (
        Lineage.open(dag="weekly", **selected) as lineage,
        pytest.raises(NotFound, match="no merge of weekly in dev until 2026-01-02"),
    ):
        lineage.report()


def test_edges_as_records(lineage: Lineage) -> None:
    found = lineage.upstream("mart#customers")
    rows = {(each["from"], each["to"], each["job"], each["expression"]) for each in found.records()}
    assert rows == {
        ("raw#id", "copy#id", "ingest", None),
        ("copy#id", "mart#customers", "build", "count(id)"),
    }


def test_affected_elements_as_records(lineage: Lineage) -> None:
    found = lineage.impact("copy#age", change="drop")
    rows = {(each["title"], each["kind"], each["distance"], each["effect"]) for each in found.records()}
    assert {
        ("mart#is_adult", "column", 1, "breaks"),
        ("report!", "exposure", 2, "depends"),
    } <= rows
    assert {each["owners"] for each in found.records() if each["title"] == "report!"} == {
        ("ceo@example.com",)
    }


def test_what_has_no_owner_is_a_record_without_owner(lineage: Lineage) -> None:
    rows = [(each["owner"], each["nearest"]) for each in lineage.owners("copy").records()]
    assert rows[-1] == (None, ("other!",))


def test_networkx_has_the_ids_and_edges_of_the_answer(lineage: Lineage) -> None:
    networkx = pytest.importorskip("networkx")
    found = lineage.upstream("mart").to_networkx()
    assert set(found.nodes) == {at("raw"), at("copy"), at("mart")}
    assert networkx.has_path(found, at("raw"), at("mart"))
    assert found.nodes[at("copy")]["owners"] == ("lake@example.com",)
    assert [each["job_name"] for _, _, each in found.out_edges(at("raw"), data=True)] == ["ingest"]


def test_pandas_has_typed_columns_and_missing_values(lineage: Lineage) -> None:
    pandas = pytest.importorskip("pandas")
    jobs = lineage.jobs().to_pandas()
    assert set(jobs["name"]) >= {"ingest", "build", "hash"}
    assert str(jobs["last_run_at"].dt.tz) == "UTC"
    assert str(jobs["duration_ms"].dtype) == "Int64"
    owners = lineage.owners("copy").to_pandas()
    assert list(owners["distance"]) == [1, 1, 1, 2, 2]
    assert pandas.isna(owners["owner"].iloc[-1])
    empty = lineage.upstream("raw").to_pandas()
    assert (len(empty), list(empty.columns)) == (0, list(lineage.upstream("raw").columns))


@pytest.mark.parametrize("package", ["pandas", "networkx"])
def test_a_missing_package_is_named_with_its_fix(
    lineage: Lineage, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = lineage.upstream("mart")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"to_{package} needs {package}. Fix: install .*\[notebook\]"):
        getattr(found, f"to_{package}")()


def test_html_escapes_names_and_has_no_scripts() -> None:
    hostile = '<img src=x onerror="alert(1)" &'
    made = MadeLineage().flow(f"raw_x > {hostile}", job="<script>alert(2)</script>")
    found = Lineage.of_graph(in_memory(made)).upstream(at(hostile))
    html = found._repr_html_()
    assert "&lt;img src=x onerror=&quot;alert(1)&quot; &amp;" in html
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in html
    assert "<img" not in html
    assert "<script" not in html


def test_html_of_an_empty_answer_is_its_note(lineage: Lineage) -> None:
    assert lineage.datasets("nothing")._repr_html_() == "<div><p>no matching dataset</p></div>"


def test_a_result_is_frozen_and_short_when_printed(lineage: Lineage) -> None:
    found = lineage.upstream("mart")
    assert repr(found) == "<LineageResult upstream: 3 vertices, 2 edges>"
    with pytest.raises(AttributeError):
        found.depth = 3  # type: ignore[misc]


def test_the_scope_limits_answers(folder: str) -> None:
    with Lineage.open(folder, environment="dev", dag="marts") as lineage:
        assert set(lineage.jobs().graph.vertices) == {"dev|marts|spark|build"}
        assert (lineage.jobs().to_dict()["environment"], lineage.jobs().to_dict()["dag"]) == ("dev", "marts")
    with Lineage.open(folder, environment="prod") as lineage, pytest.raises(NotFound, match="environment"):
        lineage.jobs()


def test_unknown_and_ambiguous_names_are_errors(lineage: Lineage) -> None:
    with pytest.raises(NotFound) as missing:
        lineage.upstream("mrat_customers")
    assert "not found: mrat_customers" in missing.value.message
    two = MadeLineage().flow("one.sales > two.sales")
    with pytest.raises(Ambiguous) as several:
        Lineage.of_graph(in_memory(two)).downstream("sales")
    assert set(several.value.candidates) == {at("one.sales"), at("two.sales")}
    with pytest.raises(QueryError, match="unknown change: burn"):
        lineage.impact("mart", change="burn")  # type: ignore[arg-type]


def test_jobs_since_a_time_an_age_or_a_duration() -> None:
    made = MadeLineage().flow("a > b", job="late").flow("b > c", job="early")
    made.nodes["dev|daily|spark|late"]["last_run_at"] = 1_790_000_000_000
    made.nodes["dev|daily|spark|early"]["last_run_at"] = 1_600_000_000_000
    lineage = Lineage.of_graph(in_memory(made))
    for since in ("2022-01-01", date.fromisoformat("2022-01-01"), 1_700_000_000_000):
        assert [each.name for each in lineage.jobs(since=since).jobs] == ["late"]
    assert {each.name for each in lineage.jobs(since=timedelta(days=36500)).jobs} == {"late", "early"}
    with pytest.raises(QueryError, match="since: expected now, a time"):
        lineage.jobs(since="yesterday")


def test_a_configuration_opens_its_graph_with_its_environment(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "merge.yml"
    file.write_text("environment: dev\nquery: {layers: {a: [mart], b: [copy]}}\n")
    with Lineage.open(folder, config=file) as lineage:
        assert lineage.upstream("mart").scope.environment == "dev"
        assert {each["from"] for each in lineage.layers().records()} == {"copy"}
    settings = Config("daily", "dev", gremlin=Gremlin("ws://127.0.0.1:1/gremlin"))
    with Lineage.open(folder, config=settings) as lineage:
        assert lineage.upstream("mart").scope.environment == "dev"


def test_a_graph_file_is_opened_by_its_path(tmp_path: Path) -> None:
    file = write_graph(tmp_path / "graph", [{"id": at("a"), "label": "table", "name": "a"}])
    with Lineage.open(file) as lineage:
        assert [each.name for each in lineage.datasets().datasets] == ["a"]


def test_the_lineage_as_of_a_date_names_its_merges(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    history.full("2026-01-03T04:00", Made().job("spark", "load", {"b": ["x"]}))
    for moment in ("2026-01-02", date(2026, 1, 2)):
        with Lineage.open(as_of=moment, history=history.location) as lineage:
            found = lineage.upstream("b")
            assert {each.name for each in found.graph.vertices.values()} == {"a", "b"}
            assert found.to_dict()["as_of"]["merges"][0]["time"] == "2026-01-01 04:00:00 UTC"
    with pytest.raises(NotFound, match="no merge until"):
        Lineage.open(as_of="2025-01-01", history=history.location)


@pytest.mark.parametrize(
    ("location", "options", "message"),
    [
        ("missing", {}, "no such file or folder: missing"),
        ("folder", {"as_of": "3d"}, "has no history"),
        ("folder", {"demo": True}, "selects another graph"),
        ("merge.yml", {"config": "other.yml"}, "two configurations"),
    ],
)
def test_contradictory_locations_are_errors(
    location: str, options: dict[str, object], message: str, folder: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Lineage.open(folder if location == "folder" else location, **options)  # type: ignore[arg-type]


def test_the_import_needs_neither_spark_nor_clients() -> None:
    code = (
        "import sys; from lineage_merge.query import Lineage, Vertex;"
        "heavy = {'pyspark', 'gremlin_python', 'boto3', 'click', 'pandas', 'networkx', 'rich', 'yaml'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


def test_a_column_is_resolved_in_any_case(lineage: Lineage) -> None:
    assert lineage.resolve("copy#EMAIL").id == col("copy", "email")


def test_the_documentation_has_every_public_method() -> None:
    text = Path(__file__).parents[2].joinpath("docs", "python.md").read_text(encoding="utf-8")
    public = {
        name
        for owner in (Lineage, Result)
        for name in dir(owner)
        if not name.startswith("_")
        and name not in ("parameters", "fields", "header", "lines", "csv_tables", "note_with")
    }
    internal = {"roots", "direction", "tables"}
    assert {name for name in public - internal if f"`{name}" not in text and f".{name}(" not in text} == set()
