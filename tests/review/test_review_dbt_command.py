"""``lineage-merge review``: sources of manifests, exit codes, formats, and SQL files."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import in_process
from tests.review.dbt_pull_requests.versions import NAMESPACE, document
from tests.runs_made import MadeRuns


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("base", "drop", "filter", "reformat", "pii_path"):
        (tmp_path / f"{name}.json").write_text(json.dumps(document(name)))
    return tmp_path


def review(*arguments: str) -> Any:
    return in_process("review", "--base", "base.json", "--namespace", NAMESPACE, *arguments)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("head", "fail_on", "code"),
    [
        ("drop", "policy", 12),
        ("drop", "breaking", 12),
        ("drop", "none", 0),
        ("filter", "policy", 0),
        ("reformat", "policy", 0),
    ],
)
def test_the_exit_code_follows_the_severity(folder: Path, head: str, fail_on: str, code: int) -> None:
    assert review("--head", f"{head}.json", "--fail-on", fail_on).code == code


def test_a_newly_violated_policy_fails_unless_only_breaks_do(folder: Path) -> None:
    settings = {
        "dag_name": "daily",
        "environment": "dev",
        "dbt": [{"manifest": "pii_path.json", "namespace": NAMESPACE}],
        "policies": [{"name": "no-pii", "tag": "pii", "must_not_reach": ["*.rpt_*"]}],
    }
    (folder / "lineage_merge.yml").write_text(json.dumps(settings))
    arguments = ("review", "--base", "base.json", "--config", "lineage_merge.yml")
    found = [in_process(*arguments, "--fail-on", each).code for each in ("policy", "breaking", "none")]
    assert found == [12, 0, 0]


TWO_PROJECTS = [
    ({}, {}, (), ""),
    ({}, {"namespace": "duckdb://other"}, ("--namespace", NAMESPACE), ""),
    (
        {},
        {"namespace": "duckdb://other"},
        (),
        "--namespace: is missing: the configuration's projects have several",
    ),
    (
        {"target": "dev"},
        {"target": "prod"},
        (),
        "--head: the configuration's projects have different targets",
    ),
]


@pytest.mark.parametrize(("one", "other", "more", "problem"), TWO_PROJECTS)
def test_a_head_that_is_not_configured_has_the_settings_that_all_projects_share(
    folder: Path, one: dict[str, str], other: dict[str, str], more: tuple[str, ...], problem: str
) -> None:
    """CI compares target/manifest.json, the configuration names the manifests of the merge."""
    own = {"namespace": NAMESPACE}
    projects = [
        {"manifest": "s3://ci/a/manifest.json", **own, **one},
        {"manifest": "s3://ci/b/manifest.json", **own, **other},
    ]
    settings = {"dag_name": "daily", "environment": "dev", "dbt": projects}
    (folder / "lineage_merge.yml").write_text(json.dumps(settings))
    places = ("--base", "base.json", "--head", "drop.json", "--config", "lineage_merge.yml")
    outcome = in_process("review", *places, *more)
    assert (outcome.code, problem in outcome.err) == (2 if problem else 12, True), outcome.err


def test_two_projects_without_a_head_are_ambiguous(folder: Path) -> None:
    projects = [{"manifest": each, "namespace": NAMESPACE} for each in ("base.json", "drop.json")]
    settings = {"dag_name": "daily", "environment": "dev", "dbt": projects}
    (folder / "lineage_merge.yml").write_text(json.dumps(settings))
    outcome = in_process("review", "--base", "base.json", "--config", "lineage_merge.yml")
    assert (outcome.code, "Fix: set --head" in outcome.err) == (2, True), outcome.err


def test_the_base_is_the_branch_point_of_a_revision(folder: Path) -> None:
    target = folder / "target"
    target.mkdir()
    (target / "manifest.json").write_text((folder / "base.json").read_text())
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "target")
    git(folder, "commit", "-qm", "base")
    (target / "manifest.json").write_text((folder / "drop.json").read_text())

    outcome = in_process("review", "--base", "main", "--namespace", NAMESPACE, "--json")

    shown = json.loads(outcome.out)
    assert outcome.code == 12
    assert {(each["kind"], each["title"]) for each in shown["findings"]} == {
        ("column dropped", "shop.main.int_shipments#carrier")
    }


def test_a_head_revision_is_read_itself_whatever_is_checked_out(folder: Path) -> None:
    target = folder / "target"
    target.mkdir()

    def commit(name: str) -> None:
        (target / "manifest.json").write_text((folder / f"{name}.json").read_text())
        git(folder, "add", "target")
        git(folder, "commit", "-qm", name)

    git(folder, "init", "-q", "-b", "main")
    commit("base")
    git(folder, "checkout", "-q", "-b", "feature")
    commit("drop")
    git(folder, "checkout", "-q", "main")
    commit("filter")  # later, on the other branch: not part of the change
    arguments = ("review", "--base", "main", "--head", "feature", "--namespace", NAMESPACE, "--json")
    expected = (12, {("column dropped", "shop.main.int_shipments#carrier")})
    for checked_out in ("main", "feature", "main~1"):
        git(folder, "checkout", "-q", checked_out)
        outcome = in_process(*arguments)
        found = {(each["kind"], each["title"]) for each in json.loads(outcome.out)["findings"]}
        assert (outcome.code, found) == expected, checked_out


@pytest.mark.parametrize(
    ("base", "head", "problem"),
    [
        ("main", "absent-branch", "git: "),
        ("base.json", "absent-branch", "git: absent-branch is not a commit"),
        ("main", "without", "git: without has no file target/manifest.json"),
        ("empty", "main", "git: the branch point of empty and main has no file target/manifest.json"),
    ],
)
def test_a_revision_without_a_manifest_is_reported(folder: Path, base: str, head: str, problem: str) -> None:
    target = folder / "target"
    target.mkdir()
    (folder / "a.txt").write_text("a")
    git(folder, "init", "-q", "-b", "empty")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-qm", "empty")
    git(folder, "checkout", "-q", "-b", "main")
    (target / "manifest.json").write_text((folder / "base.json").read_text())
    git(folder, "add", "target")
    git(folder, "commit", "-qm", "base")
    git(folder, "checkout", "-q", "-b", "without")
    git(folder, "rm", "-q", "target/manifest.json")
    git(folder, "commit", "-qm", "without")

    outcome = in_process("review", "--base", base, "--head", head, "--namespace", NAMESPACE)

    assert (outcome.code, problem in outcome.err) == (3, True), outcome.err


def test_out_gets_the_format_and_the_table_is_printed(folder: Path) -> None:
    outcome = review("--head", "drop.json", "--format", "markdown", "--out", "review.md")

    comment = (folder / "review.md").read_text()
    assert comment.startswith("<!-- lineage-merge review -->\n**Lineage review: 1 breaking**")
    assert "```mermaid" in comment
    assert "column dropped" in outcome.out
    assert "```mermaid" not in outcome.out


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("--base", "absent.json", "--namespace", NAMESPACE), 3, "absent.json"),
        (("--base", "HEAD~400", "--head", "base.json", "--namespace", NAMESPACE), 3, "git: "),
        (("etl", "--base", "main"), 2, "--dialect is missing"),
        (("etl", "--base", "main", "--dialect", "hive", "--head", "x.json"), 2, "PATHS are SQL files"),
        (("--base", "base.json", "--out", "x"), 2, "--out requires --format"),
    ],
)
def test_invalid_options_are_reported(
    folder: Path, arguments: tuple[str, ...], code: int, problem: str
) -> None:
    outcome = in_process("review", *arguments)

    assert (outcome.code, problem in outcome.err) == (code, True), outcome.err


def test_names_of_a_graph_need_its_namespace(folder: Path) -> None:
    graph = MadeRuns().chain("a > b", 1).folder(folder / "graph")

    outcome = in_process("review", "--base", "base.json", "--head", "drop.json", "--folder", graph)

    problem = "--namespace: is missing: that of the tables in the graph, such as duckdb://database"
    assert (outcome.code, outcome.err) == (2, f"error: {problem}\n")


def test_without_a_graph_a_placeholder_takes_the_place_of_the_namespace(folder: Path) -> None:
    arguments = ("review", "--base", "base.json", "--head", "drop.json", "--json")

    found, of_namespace = (in_process(*arguments, *more) for more in ((), ("--namespace", NAMESPACE)))

    placeholder, *notes = json.loads(found.out)["notes"]
    assert placeholder.startswith("namespace duckdb://database is a placeholder. ")
    expected = json.loads(of_namespace.out)
    assert notes == expected["notes"]
    assert json.loads(found.out)["counts"] == expected["counts"]


def test_sql_files_are_reviewed_in_the_same_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    etl = tmp_path / "etl"
    etl.mkdir()
    (etl / "a.sql").write_text("create table a as select id, name, upper(name) as code from s;\n")
    (etl / "b.sql").write_text("create table b as select id, code from a;\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base")
    (etl / "a.sql").write_text("create table a as select id, name from s;\n")

    outcome = in_process("review", "etl", "--dialect", "spark", "--base", "main", "--json")

    found = {(each["severity"], each["kind"]) for each in json.loads(outcome.out)["findings"]}
    assert outcome.code == 12
    assert {("breaking", "reader breaks"), ("changed", "column dropped")} <= found
