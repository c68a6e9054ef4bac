"""The commands `freshness`, `tests`, `why` and `jobs` on a captured dbt project."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.cli import time_options
from tests.command_line import Outcome, in_process
from tests.dbt_shop import PROJECT, TABLES, TESTS, graph
from tests.runs_made import HOUR, MadeRuns

# An hour after dbt wrote the manifest.
NOW = 1795394954855 + HOUR
PAGE = Path(__file__).parents[2] / "docs" / "freshness.md"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder, found = tmp_path_factory.mktemp("shop"), graph()
    for kind, rows in (("nodes", found.nodes), ("edges", found.edges)):
        (folder / kind).mkdir()
        (folder / kind / "part-0.json").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(folder)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_options, "now_ms", lambda: NOW)


def ask(folder: str, *arguments: str) -> Outcome:
    return in_process(*arguments, "--folder", folder)


def as_json(folder: str, *arguments: str) -> Any:
    outcome = ask(folder, *arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def documented() -> list[tuple[str, str]]:
    """Return the commands of the page with their output."""
    return re.findall(r"^```console\n\$ lineage-merge (.+)\n((?:.*\n)*?)```$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), documented(), ids=[each for each, _ in documented()])
def test_the_page_shows_what_the_commands_print(command: str, output: str, shop: str) -> None:
    outcome = ask(shop, *shlex.split(command))
    assert (outcome.code, outcome.err) == (0, "")
    assert stripped(outcome.out) == stripped(output)


def test_the_page_shows_each_command() -> None:
    assert {command.split()[0] for command, _ in documented()} == {"why", "freshness", "tests", "jobs"}


def test_freshness_as_json(shop: str) -> None:
    output = as_json(shop, "freshness", "--stale", "--older-than", "36h", "--limit", "2")
    assert (output["question"], output["of"], output["now"]) == ("freshness", None, NOW)
    assert output["older_than_ms"] == 36 * HOUR
    assert output["counts"] == {"fresh": 3, "stale": 15, "unknown": 1}
    first, second = output["datasets"]
    assert first == {
        "dataset": f"{TABLES}main_raw.raw_customers",
        "status": "stale",
        "reasons": ["age", "freshness_check"],
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
    lines = stripped(ask(made.folder(tmp_path / "made"), "why", "b").out)
    assert "   lineage-merge jobs --failed --search 'x; rm -rf /\ufffd[31m [bold]'" in lines


def test_times_that_are_no_dates_are_shown_as_numbers(tmp_path: Path) -> None:
    # Nanoseconds, taken for milliseconds.
    made = MadeRuns().chain("raw > a", 1).ran("to_a", 10**12).loaded("raw", 10**12, "failed")
    folder = made.folder(tmp_path / "made")
    shown = f"{10**12 * HOUR} ms"
    assert shown in ask(folder, "freshness").out
    assert shown in ask(folder, "why", "a").out
    assert shown in ask(folder, "jobs").out
