"""Commands with valid input: JSON output, --quiet, keys by flag, Ctrl-C."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from gremlin_python.process.graph_traversal import GraphTraversalSource

from tests import expected
from tests.command_line import Outcome, as_process, clean_environment, command, in_process
from tests.expected import WAREHOUSE
from tests.graph_folder import write_folder
from tests.graph_reading import edges_of, whole
from tests.made_merges import Made

DAG = "tickit_daily"


def settings(data: Path, **changes: Any) -> dict[str, Any]:
    """Return a configuration of one application and a dbt project."""
    return {
        "dag_name": DAG,
        "environment": "dev",
        "spline": {"export": str(data / "spline/tickit_sales_load")},
        "dbt": [{"manifest": str(data / "dbt/redshift_v12/manifest.json"), "namespace": WAREHOUSE}],
        "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
        **changes,
    }


TRUTH = expected.tickit_sales_load(DAG) | expected.dbt(DAG)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """Create a folder with `lineage_merge.yml`."""
    folder = tmp_path_factory.mktemp("workplace")
    (folder / "lineage_merge.yml").write_text(yaml.safe_dump(settings(data)))
    return folder


@pytest.fixture(scope="module")
def quiet_build(workplace: Path) -> Outcome:
    """Run a build as a process, to capture the output of Java and the workers, too."""
    arguments = ("--config", workplace / "lineage_merge.yml", "--out", workplace / "lineage")
    return as_process("build", *arguments, "--format", "jsonl", "--json", "--quiet")


@pytest.mark.jvm
def test_a_build_with_json_prints_only_json(workplace: Path, quiet_build: Outcome) -> None:
    assert quiet_build.code == 0
    printed = json.loads(quiet_build.out)
    assert printed["out"] == str(workplace / "lineage")
    assert printed["report"]["edges"]["writes"] == sum(label == "writes" for _, label, _ in TRUTH)
    assert printed["report"].items() <= json.loads((workplace / "lineage/report.json").read_text()).items()


@pytest.mark.jvm
def test_a_quiet_build_has_empty_standard_error(quiet_build: Outcome) -> None:
    # A warning of Java about Spark 4's start, which cannot be disabled.
    assert quiet_build.err.removeprefix("WARNING: Using incubator modules: jdk.incubator.vector\n") == ""


@pytest.mark.jvm
@pytest.mark.usefixtures("spark", "quiet_build")
def test_the_built_files_are_valid_and_complete(workplace: Path) -> None:
    files = (workplace / "lineage/edges").glob("*.json")
    edges = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    between_datasets = [edge for edge in edges if edge["label"] in ("feeds", "writes")]
    assert {(edge["from"], edge["label"], edge["to"]) for edge in between_datasets} == expected.ids(
        TRUTH, "dev"
    )

    validated = in_process("validate", workplace / "lineage")

    assert validated.code == 0
    assert validated.out.endswith("elements, no flaws\n")


@pytest.mark.jvm
@pytest.mark.usefixtures("spark", "quiet_build")
def test_a_run_equals_build_and_load_also_in_json(
    workplace: Path, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    config = ("--config", workplace / "lineage_merge.yml", "--gremlin-endpoint", gremlin_url)

    assert in_process("load", workplace / "lineage", *config).code == 0
    loaded = whole(gremlin)
    assert edges_of(gremlin) == expected.ids(TRUTH, "dev")
    gremlin.V().drop().to_list()
    outcome = in_process("run", *config, "--json")

    assert outcome.code == 0
    assert whole(gremlin) == loaded
    written = json.loads(outcome.out)["written"]
    assert [written["nodes"], written["edges"]] == [len(elements) for elements in loaded]
    for step in ("reading Spline, dbt", "joining", "writing nodes", "writing edges"):
        assert step in outcome.err


@pytest.mark.jvm
@pytest.mark.usefixtures("spark", "quiet_build")
def test_a_load_needs_no_source_and_takes_environment_and_dag_from_the_files(
    workplace: Path, tmp_path: Path, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    load = ("load", workplace / "lineage", "--gremlin-endpoint", gremlin_url, "--log-format", "json")
    file = tmp_path / "graph.yml"
    file.write_text(yaml.safe_dump({"metrics": {"format": "emf"}}))

    without_file = in_process(*load)
    loaded = edges_of(gremlin)
    without_source = in_process(*load, "--config", file, "--json", "--verify")

    assert (without_file.code, loaded) == (0, expected.ids(TRUTH, "dev"))
    last = json.loads(without_file.err.splitlines()[-1])
    assert (last["dag_name"], last["environment"]) == (DAG, "dev")
    assert without_source.code == 0
    written = json.loads(without_source.out)["written"]
    assert (written["nodes"], written["edges"]) == (0, 0)
    (metrics,) = [json.loads(line) for line in without_source.err.splitlines() if "_aws" in line]
    assert metrics["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["environment", "dag_name"]]
    assert (metrics["dag_name"], metrics["environment"]) == (DAG, "dev")


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_files_without_nodes_name_no_environment_and_dag(tmp_path: Path, gremlin_url: str) -> None:
    for name in ("nodes", "edges"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part.jsonl").write_text("")

    outcome = in_process("load", tmp_path, "--gremlin-endpoint", gremlin_url, "--quiet")

    problem = "the files have no nodes with an environment and a DAG name"
    fix = "set --environment and --dag-name to load them"
    assert (outcome.code, outcome.err) == (4, f"error: {problem}. Fix: {fix}\n")


@pytest.mark.parametrize(
    ("missing", "message"),
    [("id", "node without id: id is missing")]
    + [(key, f"node dev|wh|a: {key} is missing") for key in ("environment", "dag_name", "label")],
)
def test_a_node_without_a_key_is_named(tmp_path: Path, missing: str, message: str) -> None:
    made = Made("daily").node("a").node("b")
    nodes = [{**node, missing: None} if node["name"] == "a" else node for node in made.nodes.values()]
    folder = write_folder(tmp_path / "lineage", nodes, [])

    outcome = in_process("load", folder, "--graph-file", tmp_path / "graph", "--quiet")

    assert (outcome.code, outcome.err) == (4, f"error: {message}\n")


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_flags_take_precedence_over_variables_and_files(tmp_path: Path) -> None:
    file = tmp_path / "lineage_merge.yml"
    file.write_text("dag_name: t\nenvironment: dev\nspline: {export: of_file}\n")
    build = ("build", "--config", file, "--out", tmp_path / "lineage")
    variable = {"LINEAGE_MERGE_SPLINE_EXPORT": str(tmp_path / "of_variable")}

    by_file = in_process(*build)
    by_variable = in_process(*build, **variable)
    by_flag = in_process(*build, "--spline-export", tmp_path / "of_flag", **variable)

    for outcome, name in ((by_file, "of_file"), (by_variable, "of_variable"), (by_flag, "of_flag")):
        assert outcome.code == 3
        assert f"error: {tmp_path / name}: no such folder" in outcome.err


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_flags_and_variables_need_no_file(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    dbt = f"[{{manifest: {manifest}, namespace: {WAREHOUSE}}}]"

    outcome = in_process(
        "build",
        *("--dag-name", DAG, "--dbt", dbt, "--out", tmp_path / "lineage"),
        LINEAGE_MERGE_ENVIRONMENT="dev",
    )

    assert outcome.code == 3
    assert f"error: {manifest}: no such file" in outcome.err


def test_a_variable_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "by_variable.yml"

    outcome = in_process("build", "--out", tmp_path / "lineage", LINEAGE_MERGE_CONFIG=str(file))

    assert outcome.code == 2
    assert f"cannot read {file}" in outcome.err


def test_doctor_names_the_configuration_once(tmp_path: Path) -> None:
    outcome = in_process("doctor", "--config", tmp_path / "absent.yml", "--json")

    (finding,) = json.loads(outcome.out)["findings"]
    assert (outcome.code, finding["check"]) == (2, "configuration")
    assert finding["message"] == f"cannot read {tmp_path / 'absent.yml'}: No such file or directory"


Started = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def started() -> Iterator[Started]:
    """Start commands in their own process group, like a terminal."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*arguments),
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if group_lives(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("step", "distribute_above"),
    [("starting Spark", "32"), pytest.param("reading", "32", marks=pytest.mark.nightly), ("joining", "0")],
)
def test_ctrl_c_stops_a_build_without_leftovers(
    workplace: Path, tmp_path: Path, started: Started, step: str, distribute_above: str
) -> None:
    out = tmp_path / "lineage"
    (out / "nodes").mkdir(parents=True)
    (out / "nodes/part-0.json").write_text('{"id": "earlier"}\n')
    options = ("--spark-distribute-above-mb", distribute_above)
    process = started("build", "--config", workplace / "lineage_merge.yml", "--out", out, *options)
    assert process.stderr is not None
    said = ""
    while step not in said:
        line = process.stderr.readline()
        assert line, f"ended before {step}: {said}"
        said += line
    time.sleep(0.5)  # into the step

    os.killpg(process.pid, signal.SIGINT)
    stopping = time.monotonic()
    printed, rest = process.communicate(timeout=60)

    assert process.returncode == 130, said + rest
    assert printed == ""
    assert rest.splitlines()[-1] == "interrupted"
    assert "Traceback" not in rest
    assert "Exception" not in rest
    assert time.monotonic() - stopping < 50
    while group_lives(process.pid):  # Java ends by itself soon after
        assert time.monotonic() - stopping < 20, "a process was left behind"
        time.sleep(0.1)
    assert [path.name for path in out.rglob("*") if path.is_file()] == ["part-0.json"]
