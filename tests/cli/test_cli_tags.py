"""Command `tags`, on the pipeline of an e-mail address."""

import json
from pathlib import Path

import pytest
import yaml

from tests import email_pipeline
from tests.command_line import Outcome, in_process
from tests.graph_folder import write_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The merged pipeline as JSON lines."""
    place = tmp_path_factory.mktemp("tags")
    write_folder(place, *email_pipeline.rows(place / "sources"))
    return place


def ask(folder: Path, *arguments: str) -> Outcome:
    return in_process("tags", *arguments, "--folder", str(folder))


def test_tags_are_counted(folder: Path) -> None:
    outcome = ask(folder)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[1].split() == ["pii", "0", "1", "3", "6", "0"]
    (counted,) = json.loads(ask(folder, "--json").out)["tags"]
    assert counted == {
        "tag": "pii",
        "own_datasets": 0,
        "own_columns": 1,
        "inherited_datasets": 3,
        "inherited_columns": 6,
        "stops": 0,
    }


def test_the_tree_of_a_tag_has_each_path(folder: Path) -> None:
    outcome = ask(folder, "--tag", "pii")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "pii\n"
        "s3://crm-raw/customers#email\n"
        "└── s3://crm-lake/customers#email  ← crm_ingest  IDENTITY\n"
        "    └── crm.main.stg_customers#email  ← model.crm.stg_customers  IDENTITY\n"
        "        ├── crm.main_marts.classified#kind  ← model.crm.classified"
        "  CONDITIONAL CASE WHEN email LIKE '%@example.com…\n"
        "        ├── crm.main_marts.copied#contact  ← model.crm.copied  IDENTITY\n"
        "        │   └── mailing  ← exposure.crm.mailing  as a whole\n"
        "        ├── crm.main_marts.counted#addresses  ← model.crm.counted"
        "  AGGREGATION count(DISTINCT email)\n"
        "        │   └── retention  ← exposure.crm.retention  as a whole\n"
        "        ├── crm.main_marts.filtered  ← model.crm.filtered  rows:  FILTER\n"
        "        └── crm.main_marts.hashed#email_hash  ← model.crm.hashed  TRANSFORMATION md5(email)\n"
    )


def test_a_dataset_has_the_tags_of_its_columns(folder: Path) -> None:
    output = json.loads(ask(folder, "crm.main_marts.copied", "--json").out)
    (carrier,) = output["carriers"]
    edges = {each["id"]: each for each in output["edges"]}
    assert (output["of"], carrier["id"].rpartition("|")[2]) == (
        "dev|duckdb://crm|crm.main_marts.copied",
        "contact",
    )
    assert [edges[each]["properties"]["job_name"] for each in carrier["path"]] == [
        "crm_ingest",
        "model.crm.stg_customers",
        "model.crm.copied",
    ]
    assert {each["id"] for each in output["vertices"]} >= {carrier["id"], carrier["origin"]}


def test_stops_are_shown_with_their_reason(folder: Path, tmp_path: Path) -> None:
    propagation = {
        "stop_at": ["AGGREGATION"],
        "clear": [{"column": "*.copied#contact", "reason": "[red]consent[/red]"}],
    }
    file = tmp_path / "lineage_merge.yml"
    file.write_text(yaml.safe_dump({"propagation": {"pii": propagation}}), encoding="utf-8")
    tree = ask(folder, "--tag", "pii", "--config", str(file)).out
    staging = "← crm.main.stg_customers#email"
    assert f"stopped: crm.main_marts.copied#contact  cleared: [red]consent[/red]  {staging}\n" in tree
    assert f"stopped: crm.main_marts.counted#addresses  transformation: AGGREGATION  {staging}\n" in tree
    assert "mailing" not in tree
    table = ask(folder, "--tag", "pii", "--format", "table", "--config", str(file)).out
    assert "cleared: [red]consent[/red]" in table
    stops = json.loads(ask(folder, "--tag", "pii", "--json", "--config", str(file)).out)["stops"]
    assert [(each["kind"], each["reason"], len(each["path"])) for each in stops] == [
        ("cleared", "[red]consent[/red]", 3),
        ("transformation", "AGGREGATION", 3),
    ]


def test_only_own_tags(folder: Path) -> None:
    assert ask(folder, "--tag", "pii", "--own").out == "pii\ns3://crm-raw/customers#email\n"
    outcome = ask(folder, "crm.main_marts.copied", "--own")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "crm.main_marts.copied carries no tag\n"


def test_an_empty_answer_has_a_note(folder: Path) -> None:
    outcome = ask(folder, "--tag", "pi")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "no dataset or column has the tag pi; did you mean pii?\n"
    of_dag = ask(folder, "--tag", "pi", "--dag", "crm_daily")
    assert of_dag.err == "no dataset or column of DAG crm_daily has the tag pi; did you mean pii?\n"
    assert (
        ask(folder, "crm.main_marts.filtered#country").err
        == "crm.main_marts.filtered#country carries no tag\n"
    )
    unknown = ask(folder, "--environment", "prod")
    assert unknown.code != 0
    assert "unknown environment: prod" in unknown.err
