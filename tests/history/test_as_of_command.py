"""Questions with `--as-of`."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage_merge.config import Config
from lineage_merge.history import layout
from lineage_merge.history.layout import DagScope
from lineage_merge.history.merge_index import write_details
from lineage_merge.merge.report import Report
from tests.command_line import Outcome, in_process
from tests.history.made_history import MadeHistory
from tests.made_merges import Made

Ask = Callable[..., Outcome]


@pytest.fixture
def history(tmp_path: Path) -> MadeHistory:
    history = MadeHistory(str(tmp_path / "home/graph.history"))
    first = history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    report = Report({"plans": 3}, {}, {}, (), ())
    file = layout.json_file(history.location, layout.DETAILS, DagScope("dev", "daily"), first.name)
    write_details(file, report, Config("daily", "dev"))
    history.full("2026-01-02T04:00", Made("weekly").job("dbt", "m", {"mart": ["b"]}))
    history.full("2026-01-03T04:00", Made().job("spark", "load", {"b": ["x"]}))
    return history


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def asked(*arguments: str | Path, **variables: str) -> Outcome:
        return in_process(*arguments, LINEAGE_MERGE_HOME=str(home), **variables)

    return asked


def test_a_question_is_answered_from_the_history_of_the_embedded_graph(
    ask: Ask, history: MadeHistory
) -> None:
    outcome = ask("upstream", "mart", "--as-of", "2026-01-02")
    assert outcome.code == 0, outcome
    names = {line.strip(" └├─│").split()[0] for line in outcome.out.splitlines()}
    assert names == {"mart", "b", "a"}
    assert outcome.err == (
        "as of 2026-01-02 23:59:59 UTC:\n"
        "  daily in dev: merge 000000000001 of 2026-01-01 04:00:00 UTC\n"
        "  weekly in dev: merge 000000000002 of 2026-01-02 04:00:00 UTC\n"
    )
    today = ask("upstream", "mart", "--as-of", "0d", "--json")
    found = json.loads(today.out)
    assert {each["name"] for each in (v["properties"] for v in found["vertices"])} == {"mart", "b", "x"}
    second, third = "2026-01-02 04:00:00 UTC", "2026-01-03 04:00:00 UTC"
    assert found["as_of"] == {
        "moment": "0d",
        "merges": [
            {"environment": "dev", "dag": "weekly", "merge": "000000000002", "time": second},
            {"environment": "dev", "dag": "daily", "merge": "000000000003", "time": third},
        ],
    }


@pytest.mark.parametrize(
    "question",
    ["datasets", "jobs", "no-consumer", "no-producer", "cycles", "impact a", "downstream a", "path a b"],
)
def test_every_question_has_a_moment(ask: Ask, history: MadeHistory, question: str) -> None:
    outcome = ask(*question.split(), "--as-of", "000000000001", "--json")
    assert outcome.code == 0, outcome
    merges = json.loads(outcome.out)["as_of"]["merges"]
    assert [each["merge"] for each in merges] == ["000000000001"]


def test_page_and_export_show_the_moment(ask: Ask, history: MadeHistory, tmp_path: Path) -> None:
    page = ask("html", "--out", "then.html", "--as-of", "2026-01-01")
    assert page.code == 0, page
    assert "history as of 2026-01-01" in (tmp_path / "then.html").read_text()
    exported = ask("export", "--to", "mermaid", "--as-of", "2026-01-01")
    assert exported.code == 0, exported
    assert "mart" not in exported.out
    assert "a" in exported.out


def test_the_report_of_then(ask: Ask, history: MadeHistory) -> None:
    outcome = ask("report", "--dag", "daily", "--environment", "dev", "--as-of", "2026-01-02", "--json")
    assert outcome.code == 0, outcome
    assert json.loads(outcome.out)["report"]["read"] == {"plans": 3}
    none = ask("report", "--dag", "weekly", "--environment", "dev", "--as-of", "2026-01-01")
    assert (none.code, none.err) == (9, "error: no merge of weekly in dev until 2026-01-01 23:59:59 UTC\n")


def test_the_location_is_that_of_the_flag_the_variable_or_the_configuration(
    ask: Ask, history: MadeHistory, tmp_path: Path
) -> None:
    moved = Path(history.location).rename(tmp_path / "elsewhere")
    (tmp_path / "c.yml").write_text("history: elsewhere\ngremlin: {endpoint: 'ws://127.0.0.1:1/gremlin'}\n")
    for arguments, variables in (
        (("--history", str(moved)), {}),
        (("--gremlin-endpoint", "ws://127.0.0.1:1/gremlin"), {"LINEAGE_MERGE_HISTORY_LOCATION": str(moved)}),
        (("--config", "c.yml"), {}),
    ):
        outcome = ask("datasets", "--as-of", "0d", "--json", *arguments, **variables)
        assert outcome.code == 0, outcome
        assert len(json.loads(outcome.out)["vertices"]) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--as-of soon", 2, "--as-of: not a time: soon"),
        ("--as-of 2025-12-31", 9, "no merge until 2025-12-31 23:59:59 UTC; the history begins at 2026-01-01"),
        ("--as-of 1d --folder x", 2, "--folder has no history"),
        ("--as-of 1d --gremlin-endpoint ws://localhost:1/gremlin", 2, "no history is configured. Fix: "),
        ("--as-of 1d --environment prod", 9, "no history of prod; it has:\n  dev"),
        ("--as-of 1d --history missing", 9, "missing: no history"),
    ],
)
def test_mistakes(ask: Ask, history: MadeHistory, arguments: str, code: int, message: str) -> None:
    outcome = ask("datasets", *arguments.split())
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_a_page_embeds_earlier_moments(ask: Ask, history: MadeHistory, tmp_path: Path) -> None:
    made = ask("html", "--out", "m.html", "--moment", "2026-01-01", "--moment", "2026-01-02", "--json")
    assert made.code == 0, made
    assert json.loads(made.out)["datasets"] == 3
    found = re.search(r'id="data">(.*?)</script>', (tmp_path / "m.html").read_text())
    assert found
    data = json.loads(found[1])
    assert [each["key"] for each in data["moments"]["list"]][:2] == [
        "2026-01-01T23:59:59Z",
        "2026-01-02T23:59:59Z",
    ]
    assert {each["name"] for each in data["datasets"]} == {"a", "b", "mart", "x"}
    one = ask("html", "--out", "one.html", "--as-of", "2026-01-02", "--moment", "000000000001", "--json")
    assert json.loads(one.out)["datasets"] == 3
    assert ask("html", "--out", "now.html", "--moment", "now").code == 0
    weekly = ask("html", "--out", "w.html", "--moment", "2026-01-01", "--dag", "weekly")
    assert weekly.code == 0, weekly


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--moment soon", 2, "--moment: not a time: soon"),
        ("--moment 1d --as-of 2026-01-02", 2, "--moment: 1d is later than 2026-01-02 23:59:59 UTC"),
        ("--moment 2025-12-31", 9, "no merge until 2025-12-31 23:59:59 UTC"),
        ("--moment 1d --folder x", 2, "--folder has no history"),
        ("--moment 1d --dag nothing", 9, "unknown DAG: nothing"),
        ("--moment 1d --environment nothing", 9, "no history of nothing; it has:"),
    ],
)
def test_wrong_moments_of_a_page(
    ask: Ask, history: MadeHistory, arguments: str, code: int, message: str, tmp_path: Path
) -> None:
    outcome = ask("html", "--out", "m.html", *arguments.split())
    assert outcome.code == code, outcome
    assert message in outcome.err
    assert not (tmp_path / "m.html").exists()
