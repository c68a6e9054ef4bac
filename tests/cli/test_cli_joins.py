"""Commands on a merge that does not join: what they print, their exit code, and the graph afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.cli.sample import config_file
from lineage_merge.model.errors import TooFewJoined
from lineage_merge.orchestration.cluster_entrypoint import is_permanent
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.traversal.near_misses import read_near_misses
from tests.command_line import in_process
from tests.graph_reading import whole

SAMPLE = config_file().parent
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
WRONG = "redshift://tickit-wh.eu-west-1:5439"


def written(folder: Path, name: str, namespace: str = WRONG, **changes: Any) -> Path:
    """Write a configuration of the sample."""
    settings: dict[str, Any] = {
        "dag_name": "tickit_daily",
        "environment": "dev",
        "spline": {"export": str(SAMPLE / "spline")},
        "dbt": [{"manifest": str(SAMPLE / "dbt" / "manifest.json"), "namespace": namespace}],
        "merge": {"default_schemas": {WAREHOUSE: "dev.public"}, "expect": {"joined_at_least": 2}},
        **changes,
    }
    file = folder / name
    file.write_text(yaml.safe_dump({key: value for key, value in settings.items() if value}))
    return file


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_a_run_that_joins_too_little_leaves_a_good_graph(
    tmp_path: Path, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    endpoint = ("--gremlin-endpoint", gremlin_url)
    assert in_process("run", "-c", written(tmp_path, "good.yml", WAREHOUSE), *endpoint).code == 0
    loaded = whole(gremlin)
    wrong = written(tmp_path, "wrong.yml")

    outcome = in_process("run", "-c", wrong, *endpoint)

    assert outcome.code == 13
    problem = "error: merge.expect: 0 of at least 2 expected datasets are joined"
    assert problem in outcome.err
    assert "near misses: written and read under different names, not joined:" in outcome.out
    assert f"      namespace: {WAREHOUSE}" in outcome.out.splitlines()
    assert whole(gremlin) == loaded

    as_json = in_process("run", "-c", wrong, *endpoint, "--json", "--quiet")
    assert as_json.code == 13
    printed = json.loads(as_json.out)
    assert printed["written"] is None
    assert [each["fix_key"] for each in printed["report"]["near_misses"]] == ["dbt[0].namespace"] * 2
    dry_run = in_process("run", "-c", wrong, *endpoint, "--dry-run")
    assert dry_run.code == 13
    assert "dry run; would write" in dry_run.out
    assert whole(gremlin) == loaded


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_a_build_that_joins_too_little_writes_files_that_are_not_loaded(
    tmp_path: Path, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    wrong, folder = written(tmp_path, "wrong.yml"), tmp_path / "lineage"

    built = in_process("build", "-c", wrong, "--out", folder)
    loaded = in_process("load", folder, "-c", wrong, "--gremlin-endpoint", gremlin_url)

    assert (built.code, loaded.code) == (13, 13)
    assert "error: merge.expect: 0 of at least 2 expected datasets are joined" in built.err
    assert "error: merge.expect: 0 of at least 2 expected datasets are joined" in loaded.err
    assert json.loads((folder / "report.json").read_text())["unmet"] == [
        "0 of at least 2 expected datasets are joined"
    ]
    assert not gremlin.V().has_next()


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_near_misses_of_two_dags_are_found_in_the_graph(
    tmp_path: Path, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    endpoint = ("--gremlin-endpoint", gremlin_url)
    spark = written(tmp_path, "spark.yml", dag_name="ingest", dbt=None, merge=None)
    dbt = written(tmp_path, "dbt.yml", dag_name="models", spline=None, merge=None)
    for file in (spark, dbt):
        outcome = in_process("run", "-c", file, *endpoint, "--json", "--quiet")
        assert outcome.code == 0
        assert json.loads(outcome.out)["report"]["near_misses"] == []

    outcome = in_process("report", "-c", dbt, "--near-misses", *endpoint)

    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert f"  written  {WAREHOUSE}|dev.public.event" in lines
    assert f"  read     {WRONG}|dev.public.event" in lines
    assert f"      namespace: {WAREHOUSE}" in lines
    printed = json.loads(in_process("report", "-c", dbt, "--near-misses", *endpoint, "--json").out)
    found = {(each["written"], each["read"]) for each in printed["near_misses"]}
    assert (f"dev|{WAREHOUSE}|dev.public.event", f"dev|{WRONG}|dev.public.event") in found
    assert printed["notes"] == []
    other = in_process("report", "--environment", "prod", "--near-misses", *endpoint)
    assert "unknown environment: prod" in other.err
    stored = in_process("report", "-c", dbt, *endpoint)
    assert stored.code == 0
    assert "dev.public.* (4): dbt reads it, nothing writes it" in stored.out
    everything = in_process("report", "-c", dbt, *endpoint, "--all")
    listed = [
        line for line in everything.out.splitlines() if line.endswith("dbt reads it, nothing writes it")
    ]
    assert len(listed) == 4


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_a_folder_has_the_near_misses_of_its_report(tmp_path: Path) -> None:
    wrong, folder = written(tmp_path, "wrong.yml"), tmp_path / "lineage"
    in_process("build", "-c", wrong, "--out", folder)

    with open_graph(folder) as graph:
        found = read_near_misses(graph, CONFIGURATION.load(wrong, environ={})).found

    stored = json.loads((folder / "report.json").read_text())["near_misses"]
    assert [{**each._asdict(), "evidence": list(each.evidence)} for each in found] == stored
    assert len(stored) == 2


def test_a_merge_that_joins_too_little_is_not_retried() -> None:
    assert is_permanent(TooFewJoined("merge.expect: 0 of at least 2 expected datasets are joined"))
