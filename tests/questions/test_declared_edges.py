"""Declared edges beside those of tools: every answer says which edges no tool reports.

::

    sftp -> raw (declared) -> lake (spark) -> mart (declared)
"""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.query import Lineage
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.formats.change_tables import markdown
from lineage_merge.questions.formats.picture import picture
from lineage_merge.questions.traversal.lineage_changes import compare_pictures
from tests.command_line import in_process
from tests.lineage_made import MadeLineage, col
from tests.mcp.clients import answer, inside

WHY = "declared by ann until 2999-01-31: the partner copies it"


def made() -> MadeLineage:
    lineage = MadeLineage()
    lineage.flow("sftp > raw", "partners/raw", declared=WHY.removeprefix("declared "), job_type="declared")
    lineage.flow("raw > lake")
    lineage.flow("lake > mart", "partners/mart", declared="by bob: a macro", job_type="declared")
    lineage.columns("sftp.id > raw.id", "partners/raw", transformation="IDENTITY", job_type="declared")
    lineage.columns("raw.id > lake.id", transformation="IDENTITY")
    lineage.columns("lake.id > mart.id", "partners/mart", transformation="IDENTITY", job_type="declared")
    lineage.nodes[col("sftp", "id")]["tags"] = ["pii"]
    return lineage


def lineage(graph: InMemory | None = None, **settings: Any) -> Lineage:
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "declared": ["x.yml"], **settings})
    return Lineage.of_graph(graph or made().graph(), config=config)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return made().folder(tmp_path / "graph")


def shown(folder: str, *arguments: str) -> str:
    outcome = in_process(*arguments, "--folder", folder)
    assert outcome.code in (0, 14), outcome.err
    return outcome.out


@pytest.mark.parametrize("output_format", ["tree", "table", "csv", "mermaid", "dot", "svg"])
@pytest.mark.parametrize("question", ["upstream raw", "downstream sftp", "path sftp mart"])
def test_each_format_says_who_declares_an_edge(folder: str, question: str, output_format: str) -> None:
    said = shown(folder, *question.split(), "--format", output_format)
    words = " ".join(said.split()).replace("#58;", ":")
    assert WHY in words


def test_columns_in_a_tree_say_that_their_source_is_declared(folder: str) -> None:
    lines = shown(folder, "downstream", "sftp", "--columns").splitlines()
    from_source = {line.split("← ")[1].split()[0]: "declared" in line for line in lines if "· id  ← " in line}
    assert from_source == {"sftp#id": True, "raw#id": False, "lake#id": True}


def test_lineage_has_the_declaration_of_each_edge_as_a_value() -> None:
    frame = list(lineage().downstream("sftp", columns=True).records())
    said = {(row["from"], row["to"]): row["declared"] for row in frame if row["label"] != "has_column"}
    assert said == {
        ("sftp", "raw"): WHY,
        ("raw", "lake"): None,
        ("lake", "mart"): "declared by bob: a macro",
        ("sftp#id", "raw#id"): "declared",
        ("raw#id", "lake#id"): None,
        ("lake#id", "mart#id"): "declared",
    }


def test_a_picture_of_a_notebook_says_how_columns_are_known() -> None:
    answer = picture(lineage().downstream("sftp", columns=True).graph)
    assert f"<title>partners/raw {WHY}</title>" in answer
    assert answer.count(">IDENTITY declared</td>") == 2


def test_impact_says_which_uses_are_declared(folder: str) -> None:
    affected = json.loads(shown(folder, "impact", "sftp#id", "--json"))["affected"]
    uses = {row["title"]: [use["declared"] for use in row["uses"]] for row in affected if row["uses"]}
    assert uses == {"raw#id": ["declared"], "lake#id": [None], "mart#id": ["declared"]}
    columns = csv.DictReader(io.StringIO(shown(folder, "impact", "sftp#id", "--format", "csv")))
    assert {row["name"]: row["how"] for row in columns if row["table"] == "columns"} == {
        "raw#id": "IDENTITY declared",
        "lake#id": "IDENTITY",
        "mart#id": "IDENTITY declared",
    }


def test_impact_says_which_datasets_are_reached_by_a_declaration(folder: str) -> None:
    rows = csv.DictReader(io.StringIO(shown(folder, "impact", "sftp", "--format", "csv")))
    assert {row["name"]: row["declared"] for row in rows if row["table"] == "datasets"} == {
        "raw": WHY,
        "lake": "",
        "mart": "declared by bob: a macro",
    }
    # Of a column, the declaration is that of the columns.
    affected = lineage().impact("sftp#id", change="drop").records()
    said = {row["id"].rpartition("|")[2]: row["declared"] for row in affected if row["kind"] == "dataset"}
    assert said == {"raw": "declared", "lake": None, "mart": "declared"}


def test_impact_has_the_types_of_jobs(folder: str) -> None:
    rows = csv.DictReader(io.StringIO(shown(folder, "impact", "sftp", "--format", "csv")))
    assert {row["name"]: row["type"] for row in rows if row["table"] == "jobs"} == {
        "partners/raw": "declared",
        "load": "spark",
        "partners/mart": "declared",
    }


def test_tags_pass_declared_columns_which_say_so(folder: str) -> None:
    lines = shown(folder, "tags", "--tag", "pii").splitlines()
    arrivals = {line.split("  ← ")[0].strip("└─ "): line.split("  ← ")[1] for line in lines if "←" in line}
    assert arrivals == {
        "raw#id": "partners/raw  IDENTITY declared",
        "lake#id": "load  IDENTITY",
        "mart#id": "partners/mart  IDENTITY declared",
    }
    rows = csv.DictReader(io.StringIO(shown(folder, "tags", "--tag", "pii", "--format", "csv")))
    assert [row["last step"] for row in rows if row["name"] == "raw#id"] == ["IDENTITY declared"]


def test_a_violated_policy_says_which_part_of_its_path_is_declared() -> None:
    policy = {"name": "no-pii", "tag": "pii", "must_not_reach": "mart"}
    check = lineage(policies=[policy]).check()
    (row,) = csv.DictReader(io.StringIO(check.to_csv()))
    assert "→ raw#id (IDENTITY, job partners/raw, declared)" in row["path"]
    (violation,) = check.to_dict()["policies"][0]["violations"]
    assert [step["declared"] for step in violation["path"]] == ["declared", None, "declared"]


def test_cycles_and_layers_say_which_edge_is_declared() -> None:
    graph = made().flow("mart > sftp", "back", declared="by ann: x", job_type="declared").graph()
    table = lineage(graph).cycles().to_csv()
    assert {row["feeds"]: row["job"] for row in csv.DictReader(io.StringIO(table))} == {
        "raw": f"partners/raw {WHY}",
        "lake": "load",
        "mart": "partners/mart declared by bob: a macro",
        "sftp": "back declared by ann: x",
    }
    broken = lineage(graph).layers(["first=sftp", "last=mart"])
    assert [row["declared"] for row in broken.records()] == ["declared by ann: x"]
    assert "declared by ann: x" in "".join(map(str, broken.to_csv().splitlines()))


def test_a_changed_declaration_and_an_added_one_are_differences() -> None:
    before, after = MadeLineage(), MadeLineage()
    before.flow("sftp > raw", "p/raw", declared="by ann until 2026-01-31: a", job_type="declared")
    after.flow("sftp > raw", "p/raw", declared="by ann until 2999-01-31: a", job_type="declared")
    after.flow("raw > lake", "p/lake", declared="by bob: b", job_type="declared")
    changes = compare_pictures(before.graph(), after.graph())
    feeds = {(change.action, change.title): change.differences for change in changes if change.kind == "feed"}
    assert feeds == {
        ("added", "raw -> lake"): (("declared", "", "by bob: b"), ("job", "", "p/lake")),
        ("changed", "sftp -> raw"): (
            ("declared", "by ann until 2026-01-31: a", "by ann until 2999-01-31: a"),
        ),
    }
    assert "declared: `by bob: b`" in markdown(changes, "")


def test_a_column_that_a_tool_reports_instead_of_a_declaration_is_a_difference() -> None:
    before, after = MadeLineage().flow("raw > lake"), MadeLineage().flow("raw > lake")
    before.columns("raw.id > lake.id", "p/lake", transformation="IDENTITY", job_type="declared")
    after.columns("raw.id > lake.id", transformation="IDENTITY")
    (change,) = compare_pictures(before.graph(), after.graph())
    assert change.differences == (("declared", "true", ""), ("job", "p/lake", "load"))


def test_a_declared_job_never_runs_so_none_is_missing_or_failed() -> None:
    checked = lineage().why("mart").checked
    assert (checked["jobs"], checked["jobs_without_known_run"]) == (3, 1)
    assert not lineage().why("mart").causes


def test_declared_jobs_produce_and_their_edges_consume() -> None:
    assert [row["title"] for row in lineage().no_producer().records()] == ["sftp"]
    assert [row["title"] for row in lineage().no_consumer().records()] == ["mart"]


def test_an_owner_of_a_declaration_is_told_of_a_change() -> None:
    lineage_of_ann = made()
    for node in lineage_of_ann.nodes.values():
        if node["label"] == "job" and node["job_type"] == "declared":
            node["owners"] = ["ann"]
    owners = lineage(lineage_of_ann.graph()).owners("raw").records()
    assert {row["owner"]: row["jobs"] for row in owners} == {"ann": 1, None: 0}


def test_assistants_read_who_declares_an_edge(folder: str) -> None:
    server = inside(folder=folder)
    edges = answer(server, "downstream", name="sftp")["rows"]
    assert [row.get("declared", "") for row in edges] == [WHY, "", "declared by bob: a macro"]
    sources = answer(server, "describe", name="mart#id")["rows"]
    assert [row["declared"] for row in sources] == ["declared"]
