"""The data of a review's page: of dbt, SQL files and Spark jobs, with what a change adds and removes."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.exporters.page import Options, render_review, selection
from lineage_merge.exporters.page.review import review_data
from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.traversal.staleness import Expectations
from lineage_merge.review.consequences import everything
from lineage_merge.review.findings import Assessed, Finding, ReviewResult
from tests.command_line import in_process
from tests.page import review_page
from tests.review.test_review_capture import CAPTURES

MAX_BYTES = 278_000


def embedded(page: str) -> dict[str, Any]:
    """Return the data of a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def edges(data: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Return added and removed feeds of columns and datasets by short names."""

    def title(element: list[str]) -> str:
        return "#".join(filter(None, (re.split(r"[./|]", element[0])[-1], element[1])))

    return {(action, title(source), title(target)) for action, source, target in data["review"]["edges"]}


def test_the_graph_has_what_the_change_adds_and_what_depends_on_it() -> None:
    data = review_data(review_page.result(), "main")
    names = {each["name"]: each for each in data["datasets"]}
    assert {"rpt_shipments", "carriers", "stg_shipments"} <= names.keys()
    assert "net_revenue" in [column[0] for column in names["int_order_items"]["columns"]]
    assert {
        ("added", "mart_carriers", "rpt_shipments"),
        ("added", "stg_order_items#price", "int_order_items#net_revenue"),
        ("removed", "stg_shipments#carrier", "int_shipments#carrier"),
    } <= edges(data)
    # The Spark job still reads what is dropped.
    assert ("removed", "int_shipments#carrier", "carriers#carrier") not in edges(data)


def test_the_last_runs_and_tests_of_inputs_are_shown_too() -> None:
    """`dim_products` is read by what changes, and is not downstream of it."""
    found, graph = review_page.result(), review_page.merged()
    source = "dev|duckdb://shop|shop.main.dim_products"
    edge = {"environment": "dev", "dag_name": "daily", "job_name": "load", "job_type": "spark"}
    job = {"environment": "dev", "dag_name": ("daily",), "name": "load", "job_type": "spark"}
    run = Vertex(
        "dev|daily|spark|load", "job", {**job, "status": "succeeded", "last_run_at": review_page.NOW}
    )
    vertices, edges = everything(graph, None)
    known = InMemory([*vertices, run], [*edges, Edge("w", "writes", run.id, source, edge)])
    assert found.change
    data = review_data(
        replace(found, change=replace(found.change, graph=known)), "main", Expectations(review_page.NOW)
    )
    assert ["last run at", "2026-01-03 08:00:00 UTC"] in next(
        each["facts"] for each in data["jobs"] if each["name"] == "load"
    )
    freshness = {each["id"]: each["freshness"][:2] for each in data["datasets"] if each["freshness"]}
    assert freshness[source] == ["current", review_page.NOW]


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_a_change_of_sql_files_is_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etl").mkdir()
    load = tmp_path / "etl" / "load.sql"
    load.write_text("create table x as select id, upper(n) as m from s")
    for command in (("init",), ("add", "."), ("commit", "-m", "base")):
        git(tmp_path, *command)
    load.write_text("create table x as select s.id, t.n as k from s join t on t.id = s.id")

    arguments = ("--dialect", "spark", "--base", "main", "--format", "html", "--out", "review.html")
    outcome = in_process("review", "etl", *arguments, "--fail-on", "none")

    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "3 changed, 4 info")
    data = embedded((tmp_path / "review.html").read_text(encoding="utf-8"))
    assert {("added", "t", "x"), ("added", "t#n", "x#k"), ("removed", "s#n", "x#m")} <= edges(data)
    assert {(each["action"], each["at"][1]) for each in data["review"]["findings"]} >= {("removed", "m")}
    assert data["review"]["base"] == "main"


def test_a_change_of_a_job_is_a_page() -> None:
    places = ("--capture", str(CAPTURES / "renamed.json"), "--base", str(CAPTURES / "base.json"))
    data = embedded(in_process("review", *places, "--format", "html").out)
    assert edges(data) == {
        ("removed", "orders#amount", "sales#revenue"),
        ("added", "orders#amount", "sales#net_revenue"),
    }
    assert {tuple(each["at"]) for each in data["review"]["findings"]} == {
        ("prod|s3://lake|sales", ""),
        ("prod|s3://lake|sales", "revenue"),
    }


def test_no_password_of_a_finding_reaches_the_page() -> None:
    finding = Finding("expression changed", "x", "x", "was connect('https://u:hunter2@h/t')")
    result = ReviewResult((Assessed(finding),), ("see https://u:hunter2@wiki",))
    assert "hunter2" not in render_review(result, Options(), "https://u:hunter2@git/x")


def test_the_page_of_a_review_without_data_is_small() -> None:
    page = render_review(ReviewResult(), Options())
    assert len(page.encode()) < MAX_BYTES
    assert "--moment" not in page


def test_a_review_of_too_many_datasets_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_DATASETS", 5)
    with pytest.raises(ConfigError, match="more than 5 datasets for one page: use another format"):
        review_data(review_page.result())
