"""The commands `freshness`, `tests`, `why` and `jobs` on a captured dbt project."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.cli import question_commands
from tests.command_line import Outcome, in_process
from tests.dbt_shop import NOW, PROJECT, TABLES, TESTS, graph
from tests.graph_folder import write_folder
from tests.runs_made import HOUR, MadeRuns


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = graph()
    return write_folder(tmp_path_factory.mktemp("shop"), found.nodes, found.edges)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_commands, "now_ms", lambda: NOW)


def ask(folder: str, *arguments: str) -> Outcome:
    return in_process(*arguments, "--folder", folder)


def as_json(folder: str, *arguments: str) -> Any:
    outcome = ask(folder, *arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def test_freshness_as_json(shop: str) -> None:
    output = as_json(shop, "freshness", "--stale", "--older-than", "36h", "--limit", "2")
    assert (output["question"], output["of"], output["now"]) == ("freshness", None, NOW)
    assert output["older_than_ms"] == 36 * HOUR
    assert output["counts"] == {"fresh": 3, "current": 0, "stale": 15, "unknown": 1}
    first, second = output["datasets"]
    assert first == {
        "dataset": f"{TABLES}main_raw.raw_customers",
        "status": "stale",
        "reasons": ["age", "freshness_check"],
        "expectations": [
            {"source": "older_than", "policy": None, "limit_ms": 36 * HOUR, "holds": False},
            {"source": "freshness_check", "policy": None, "limit_ms": 12 * HOUR, "holds": False},
        ],
        "age_ms": NOW - 1795154400000,
        "updated_at": 1795154400000,
        "written_at": None,
        "failed_at": None,
        "max_loaded_at": 1795154400000,
        "freshness_check": {
            "assertion": f"{TESTS}source.shop.crm.customers|freshness",
            "status": "failed",
            "checked_at": 1795394947408,
        },
        "jobs": ["dev|daily|dbt|seed.shop.raw_customers"],
        "because_of": None,
    }
    assert second["because_of"] == {"dataset": f"{TABLES}main_raw.raw_customers", "distance": 2}
    assert {each["id"] for each in output["vertices"]} == {first["dataset"], second["dataset"]}


def test_the_html_page_has_the_statuses_of_the_command(shop: str, tmp_path: Path) -> None:
    limit = ("--older-than", "2h")
    expected = {each["dataset"]: each["status"] for each in as_json(shop, "freshness", *limit)["datasets"]}
    assert len(set(expected.values())) == 3
    file = tmp_path / "lineage.html"
    # What is upstream counts, also if the page does not show it.
    for number, options in ((len(expected), ()), (4, ("--focus", "shop.main.customers_v2", "--depth", "1"))):
        assert ask(shop, "html", "--out", str(file), *limit, *options).code == 0
        _, _, rest = file.read_text("utf-8").partition('<script type="application/json" id="data">')
        data = json.loads(rest.partition("</script>")[0])
        assert data["made_at"] == "2026-11-23 01:49 UTC"
        statuses = {each["id"]: each["freshness"][0] for each in data["datasets"]}
        assert len(statuses) == number
        assert statuses.items() <= expected.items()


def test_policies_are_expectations_of_the_commands(shop: str, tmp_path: Path) -> None:
    file = tmp_path / "policies.yml"
    policy = "{name: days-are-new, datasets: shop.main.days, must_be_updated_within: 90m}"
    file.write_text(f"environment: dev\npolicies: [{policy}]\n", encoding="utf-8")
    options = ("shop.main.days", "--config", str(file))
    assert ask(shop, "freshness", "shop.main.days").out.splitlines()[-2:] == [
        "1 dataset: 1 current",
        "current: as new as its inputs, without an expectation (freshness check, --older-than, policy)",
    ]
    assert ask(shop, "freshness", *options).out.splitlines()[-1] == "1 dataset: 1 fresh"
    (row,) = as_json(shop, "freshness", *options)["datasets"]
    assert row["expectations"] == [
        {"source": "policy", "policy": "days-are-new", "limit_ms": 90 * 60_000, "holds": True}
    ]
    file.write_text(file.read_text().replace("90m", "30m"), encoding="utf-8")
    assert "stale   older than 30 min (policy days-are-new)" in ask(shop, "freshness", *options).out
    assert "1. missing run: shop.main.days" in ask(shop, "why", *options).out
    outcome = ask(shop, "check", "--config", str(file))
    assert (outcome.code, "was last updated 1 h ago; the maximum is 30 min" in outcome.out) == (14, True)


def test_tests_as_json(shop: str) -> None:
    output = as_json(shop, "tests", "shop.main.stg_orders#amount", "--failed")
    assert output["of"] == f"{TABLES}main.stg_orders|amount"
    assert output["datasets_without_tests"] == []
    assert {each["name"] for each in output["tests"]} == {
        "positive_stg_orders_amount",
        "no_orders_of_unknown_customers",
    }
    assert output["tests"][1] == {
        "assertion": f"{TESTS}test.shop.positive_stg_orders_amount.009e0f2d06",
        "name": "positive_stg_orders_amount",
        "type": "positive",
        "dataset": f"{TABLES}main.stg_orders",
        "checked": f"{TABLES}main.stg_orders|amount",
        "column": "amount",
        "distance": 0,
        "severity": "error",
        "status": "failed",
        "failures": 1,
        "last_run_at": 1795394932524,
    }
    assert as_json(shop, "tests")["datasets_without_tests"] is None


def test_causes_as_json(shop: str) -> None:
    output = as_json(shop, "why", "revenue_dashboard", "--environment", "dev")
    (stale,) = [each for each in output["causes"] if each["kind"] == "stale_source"]
    assert stale == {
        "kind": "stale_source",
        "distance": 3,
        "dataset": f"{TABLES}main_raw.raw_customers",
        "element": f"{TESTS}source.shop.crm.customers|freshness",
        "evidence": "freshness.crm.customers failed at 2026-11-23 00:49:07 UTC,"
        " newest row at 2026-11-20 06:00:00 UTC",
        "at": 1795154400000,
        "status": "failed",
        "failures": None,
        "other": None,
        "other_at": None,
        "path": [
            f"{TABLES}main_raw.raw_customers",
            f"{TABLES}main.stg_customers",
            f"{TABLES}main.customers_v2",
            f"{PROJECT}revenue_dashboard",
        ],
        "next": "lineage-merge freshness shop.main_raw.raw_customers --environment dev",
    }
    assert output["checked"]["datasets"] == 11


def test_commands_of_causes_are_valid(shop: str) -> None:
    for cause in as_json(shop, "why", "revenue_dashboard")["causes"]:
        program, *words = shlex.split(cause["next"])
        assert program == "lineage-merge"
        assert ask(shop, *words).code == 0, cause["next"]


def test_without_a_cause_it_is_printed_what_was_checked(shop: str) -> None:
    outcome = ask(shop, "why", "shop.main.days")
    assert outcome == (
        0,
        "checked: 1 dataset up to distance 0, 1 job, 0 tests, 0 freshness checks\n",
        "shop.main.days: no cause found\n",
    )


def test_jobs_are_filtered_and_sorted(shop: str) -> None:
    slowest = as_json(shop, "jobs", "--slowest", "2")
    assert [each["properties"]["duration_ms"] for each in slowest["vertices"]] == [446, 427]
    assert len(as_json(shop, "jobs", "--slowest")["vertices"]) == 9
    since = as_json(shop, "jobs", "--since", "2026-11-23T00:48:40+00:00", "--sort", "last-run")
    assert [each["name"].rpartition("shop.")[2] for each in since["vertices"]] == [
        "orders",
        "customers.v2",
        "customers.v1",
    ]
    assert len(as_json(shop, "jobs", "--since", "2h")["vertices"]) == 7
    assert ask(shop, "jobs", "--since", "now") == (0, "", "no matching job\n")
    assert ask(shop, "jobs", "--failed") == (0, "", "no matching job\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("freshness", "--older-than", "tomorrow"),
            "expected minutes, hours, days, weeks or years, such as 90m, 36h, 1d or 2w",
        ),
        (("freshness", "--older-than", "0d"), "expected more than 0, found 0d"),
        (("jobs", "--since", "yesterday"), "expected now, a time such as 2026-11-01"),
        (("jobs", "--slowest", "3", "--limit", "2"), "set only one of them"),
        (("tests", "--depth", "3"), "--depth requires a dataset or column"),
    ],
)
def test_invalid_options_are_errors(shop: str, arguments: tuple[str, ...], problem: str) -> None:
    outcome = ask(shop, *arguments)
    assert outcome.code == 2
    assert problem in outcome.err


def test_unknown_names_and_environments_are_errors(shop: str) -> None:
    assert "not found: nothing" in ask(shop, "why", "nothing").err
    assert "unknown environment: prod" in ask(shop, "freshness", "--environment", "prod").err
    assert "unknown environment: prod" in ask(shop, "tests", "--environment", "prod").err


def test_owners_of_jobs_are_a_column_if_any_has_one(shop: str, tmp_path: Path) -> None:
    assert "owners" not in ask(shop, "jobs").out
    made = MadeRuns().chain("a > b", 1).ran("to_b", 1, owners=["data@example.com"])
    assert "data@example.com" in ask(made.folder(tmp_path / "made"), "jobs").out


def test_hostile_names_are_quoted_and_on_one_line(tmp_path: Path) -> None:
    made = MadeRuns().chain("a > b", 1)
    job = made.nodes["dev|daily|spark|to_b"]
    job |= {"status": "failed", "last_run_at": HOUR, "name": "x; rm -rf /\x1b[31m\n[bold]"}
    lines = ask(made.folder(tmp_path / "made"), "why", "b").out.splitlines()
    assert "   lineage-merge jobs --failed --search 'x; rm -rf /\ufffd[31m [bold]'" in lines


def test_times_that_are_no_dates_are_shown_as_numbers(tmp_path: Path) -> None:
    # Nanoseconds, taken for milliseconds.
    made = MadeRuns().chain("raw > a", 1).ran("to_a", 10**12).loaded("raw", 10**12, "failed")
    folder = made.folder(tmp_path / "made")
    shown = f"{10**12 * HOUR} ms"
    assert shown in ask(folder, "freshness").out
    assert shown in ask(folder, "why", "a").out
    assert shown in ask(folder, "jobs").out
