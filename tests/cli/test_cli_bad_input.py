"""Invalid input: exit code, one line with problem and location, no output."""

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.process.traversal import Cardinality, T

from tests import expected
from tests.arango_fixtures import ArangoServer
from tests.command_line import Outcome, as_process, in_process
from tests.expected import WAREHOUSE
from tests.graph_reading import whole
from tests.s3_fixtures import S3

pytestmark = pytest.mark.jvm

SECRET = "hunter2"
UNREACHABLE = "127.0.0.1:1"  # nothing listens on port 1

LOAD_PLAN = "645297e0-563c-5a3b-b8f9-ab6dccb17a1a"
LOAD_WRITE = f"{LOAD_PLAN}:op-0"

_PROGRESS = re.compile(r"^ *\d+\.\d s  ")


def error_lines(outcome: Outcome) -> list[str]:
    """Return standard error without progress."""
    return [line for line in outcome.err.splitlines() if not _PROGRESS.match(line)]


def assert_error_line(outcome: Outcome, code: int, *parts: str) -> None:
    """Assert the exit code and one line on standard error with all parts, without traceback and secrets."""
    assert outcome.code == code, outcome
    [line] = error_lines(outcome)
    for part in parts:
        assert part in line
    everything = outcome.out + outcome.err
    assert "Traceback" not in everything
    assert SECRET not in everything


def assert_failed(outcome: Outcome, code: int, *parts: str) -> None:
    assert_error_line(outcome, code, *parts)
    assert outcome.out == ""


def content(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def config_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a configuration, by default without sources."""

    def written(**settings: Any) -> Path:
        file = tmp_path / "lineage_merge.yml"
        file.write_text(yaml.safe_dump({"dag_name": "tickit_daily", "environment": "dev", **settings}))
        return file

    return written


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Create the output folder of an earlier build."""
    folder = tmp_path / "lineage"
    for kind in ("nodes", "edges"):
        (folder / kind).mkdir(parents=True)
        (folder / kind / "part-0.json").write_text('{"id": "earlier"}\n')
    (folder / "report.json").write_text("{}\n")
    return folder


@pytest.fixture
def earlier_graph(gremlin: GraphTraversalSource) -> Callable[[], bool]:
    """Create a graph with one vertex; return a function that checks that it is unchanged."""
    (
        gremlin.add_v("file")
        .property(T.id, "dev|s3://tickit-raw|sales")
        .property(Cardinality.single, "name", "sales")
        .property(Cardinality.set_, "dag_name", "tickit_daily")
        .to_list()
    )
    before = whole(gremlin)
    return lambda: whole(gremlin) == before


@pytest.fixture
def export(data: Path, tmp_path: Path) -> Path:
    """Create an exported database that tests may damage."""
    return Path(shutil.copytree(data / "spline/tickit_sales_load", tmp_path / "export" / "load"))


@pytest.fixture
def manifest(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data / "dbt/redshift_v12/manifest.json").read_text())
    return found


def dbt(location: str | Path) -> list[dict[str, str]]:
    return [{"manifest": str(location), "namespace": WAREHOUSE}]


# What is wrong before anything is read: known at once, without Spark.


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (None, ["cannot read", "lineage_merge.yml", "No such file"]),
        ("dag_name: [tickit\nenvironment: dev\n", ["lineage_merge.yml:2: "]),
        ("- dag_name\n", ["lineage_merge.yml", "must be a mapping with keys"]),
        (
            f"dag_name: t\nenvironment: dev\npasword: {SECRET}\n",
            ["lineage_merge.yml:3: pasword: "],
        ),
        (
            f"dag_name: t\nenvironment: dev\ngremlin: {{region: eu-west-1, password: {SECRET}}}\n",
            ["lineage_merge.yml:3: gremlin.password: is not a known key"],
        ),
        (
            "dag_name: t\nenvironment: dev\nspline: {export: e, lookback: often}\n",
            ["lineage_merge.yml:3: spline.lookback: ", "must be days or hours"],
        ),
        (
            f"dag_name: t\nenvironment: dev\ndbt: [{{manifest: m, namespace: 'jdbc:{WAREHOUSE}'}}]\n",
            ["lineage_merge.yml:3: dbt[0].namespace: "],
        ),
        ("dag_name: t\nenvironment: dev\n", ["lineage_merge.yml: no source"]),
        ("dag_name: t\nspline: {export: e}\n", ["lineage_merge.yml: environment: is missing"]),
    ],
    ids=[
        "no file",
        "not YAML",
        "no keys",
        "unknown key",
        "password in the file",
        "wrong type",
        "wrong namespace",
        "no source",
        "key missing",
    ],
)
def test_an_invalid_configuration_is_reported_before_spark_starts(
    tmp_path: Path, earlier: Path, text: str | None, messages: list[str]
) -> None:
    file = tmp_path / "lineage_merge.yml"
    if text is not None:
        file.write_text(text)
    before = content(earlier)

    outcome = as_process("build", "--config", file, "--out", earlier)

    assert_failed(outcome, 2, *messages)
    assert len(outcome.err.splitlines()) == 1
    assert content(earlier) == before


def test_invalid_flags_and_variables_are_reported_by_key(config_file: Callable[..., Path]) -> None:
    file = config_file(spline={"export": "export"})

    flag = as_process("run", "--config", file, "--spline-lookback", "often")
    variable = as_process("run", "--config", file, LINEAGE_MERGE_SPARK_PARTITIONS="many")

    assert_failed(flag, 2, "--spline-lookback: spline.lookback: ")
    assert_failed(variable, 2, "LINEAGE_MERGE_SPARK_PARTITIONS: spark.partitions: ")


# A source that cannot be read at all: nothing is written.


def test_a_missing_manifest_is_reported_without_spark_output(
    tmp_path: Path, config_file: Callable[..., Path], earlier: Path
) -> None:
    # As a process, because the error comes out of a worker of Spark, with all that it prints.
    before = content(earlier)

    outcome = as_process("build", "-c", config_file(dbt=dbt("target/manifest.json")), "--out", earlier)

    assert_failed(outcome, 3, f"{tmp_path}/target/manifest.json: no such file")
    assert content(earlier) == before


def _without_models(manifest: dict[str, Any]) -> str:
    return json.dumps({**manifest, "nodes": ["model.tickit.stg_sales"]})


def _of_version_99(manifest: dict[str, Any]) -> str:
    version = "https://schemas.getdbt.com/dbt/manifest/v99.json"
    return json.dumps({**manifest, "metadata": {**manifest["metadata"], "dbt_schema_version": version}})


def _cut_short(manifest: dict[str, Any]) -> str:
    text = json.dumps(manifest, indent=1)
    return text[: len(text) // 2]


@pytest.mark.parametrize(
    ("broken", "messages"),
    [
        (_cut_short, ["is not valid JSON", "line "]),
        (_of_version_99, ["metadata.dbt_schema_version", "v99", "v1 to v12"]),
        (_without_models, ["nodes: must be an object"]),
        (lambda _: "[]", ["not a JSON object"]),
        (lambda _: "{}", ["metadata: is missing"]),
        (lambda _: "", ["is not a dbt manifest, but an empty file"]),
    ],
    ids=[
        "cut short",
        "of an unknown version",
        "with a field of the wrong type",
        "an array",
        "empty",
        "no text",
    ],
)
@pytest.mark.usefixtures("spark")
def test_an_invalid_manifest_is_reported_with_the_field(
    tmp_path: Path,
    config_file: Callable[..., Path],
    earlier: Path,
    manifest: dict[str, Any],
    broken: Callable[[dict[str, Any]], str],
    messages: list[str],
) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(broken(manifest))
    before = content(earlier)

    outcome = in_process("build", "-c", config_file(dbt=dbt(file)), "--out", earlier)

    assert_failed(outcome, 3, f"error: {file}: ", *messages)
    assert content(earlier) == before


@pytest.mark.parametrize("collection", ["executionPlan", "operation"])
@pytest.mark.usefixtures("spark")
def test_a_missing_collection_is_reported(
    config_file: Callable[..., Path], export: Path, earlier: Path, collection: str
) -> None:
    (export / f"{collection}.jsonl").unlink()
    before = content(earlier)

    settings = config_file(spline={"export": str(export.parent)})
    outcome = in_process("build", "-c", settings, "--out", earlier)

    assert_failed(outcome, 3, str(export), f"collection {collection} is missing")
    assert content(earlier) == before


@pytest.mark.usefixtures("spark")
def test_a_collection_missing_in_arangodb_is_reported(
    config_file: Callable[..., Path],
    arango: ArangoServer,
    data: Path,
    earlier: Path,
) -> None:
    plans = (data / "spline/tickit_sales_load/executionPlan.jsonl").read_text().splitlines()
    database = arango.database("spline", {"executionPlan": [json.loads(plan) for plan in plans]})
    settings = {"hosts": arango.url, "database": database, "username": arango.username}

    outcome = in_process(
        "build",
        *("-c", config_file(spline={"arango": {**settings, "password_env": "PASSWORD_FOR_TEST"}})),
        *("--out", earlier),
        PASSWORD_FOR_TEST=arango.password,
    )

    assert_failed(outcome, 3, database, "operation")


@pytest.mark.usefixtures("spark")
def test_missing_and_unrelated_exports_are_reported(
    tmp_path: Path, config_file: Callable[..., Path], earlier: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "readme.txt").write_text("nothing of Spline")

    missing = in_process("build", "-c", config_file(spline={"export": "nowhere"}), "--out", earlier)
    foreign = in_process("build", "-c", config_file(spline={"export": str(other)}), "--out", earlier)

    assert_failed(missing, 3, f"{tmp_path}/nowhere", "no such folder")
    assert_failed(foreign, 3, f"{other}: no collections of Spline found")


@pytest.mark.usefixtures("spark")
def test_missing_s3_objects_are_reported(config_file: Callable[..., Path], s3: S3, earlier: Path) -> None:
    s3.put("artifacts", "tickit/run_results.json", "{}")
    before = content(earlier)

    manifest = config_file(dbt=dbt("s3://artifacts/tickit/manifest.json"))
    no_object = in_process("build", "-c", manifest, "--out", earlier)
    no_bucket = in_process(
        "build", "-c", config_file(dbt=dbt("s3://nobodys/manifest.json")), "--out", earlier
    )
    no_folder = in_process(
        "build", "-c", config_file(spline={"export": "s3://artifacts/spline"}), "--out", earlier
    )

    assert_failed(no_object, 3, "s3://artifacts/tickit/manifest.json: no such object")
    assert_failed(no_bucket, 3, "s3://nobodys/manifest.json: no such bucket")
    assert_failed(no_folder, 3, "s3://artifacts/spline: no files found")
    assert content(earlier) == before


@pytest.mark.usefixtures("spark")
def test_a_failed_source_leaves_the_graph_unchanged(
    config_file: Callable[..., Path], gremlin_url: str, export: Path, earlier_graph: Callable[[], bool]
) -> None:
    # Spline could be read; the manifest cannot.
    settings = {"spline": {"export": str(export.parent)}, "dbt": dbt("manifest.json")}

    outcome = in_process("run", "-c", config_file(**settings, gremlin={"endpoint": gremlin_url}))

    assert_failed(outcome, 3, "manifest.json: no such file")
    assert earlier_graph()


# Servers that are unreachable or reject requests.


@pytest.mark.usefixtures("spark")
def test_an_unreachable_arangodb_is_reported_soon(config_file: Callable[..., Path], earlier: Path) -> None:
    arango = {"hosts": f"http://{UNREACHABLE}", "database": "spline", "password_env": "PASSWORD_FOR_TEST"}
    before = content(earlier)
    started = time.monotonic()

    outcome = in_process(
        "build",
        *("-c", config_file(spline={"arango": arango}), "--out", earlier),
        PASSWORD_FOR_TEST=SECRET,
    )

    assert_failed(outcome, 3, f"no connection to ArangoDB at http://{UNREACHABLE}")
    assert time.monotonic() - started < 30  # retries of a load end after minutes
    assert content(earlier) == before


@pytest.mark.parametrize("auth_method", ["basic", "jwt"])
@pytest.mark.usefixtures("spark")
def test_a_rejected_password_is_not_shown(
    config_file: Callable[..., Path], arango: ArangoServer, data: Path, earlier: Path, auth_method: str
) -> None:
    settings = {
        "hosts": arango.url,
        "database": arango.database("spline", data / "spline/tickit_sales_load"),
        "username": arango.username,
        "password_env": "PASSWORD_FOR_TEST",
        "auth_method": auth_method,
    }
    before = content(earlier)

    outcome = in_process(
        "build",
        *("-c", config_file(spline={"arango": settings}), "--out", earlier),
        PASSWORD_FOR_TEST=SECRET,
    )

    assert_failed(outcome, 3, arango.url, "password")
    assert content(earlier) == before


@pytest.mark.usefixtures("spark")
def test_an_unset_password_variable_is_reported_by_its_key(
    config_file: Callable[..., Path], earlier: Path
) -> None:
    arango = {"hosts": f"http://{UNREACHABLE}", "database": "spline", "password_env": f"{SECRET}_VARIABLE"}

    outcome = in_process("build", "-c", config_file(spline={"arango": arango}), "--out", earlier)

    assert_failed(outcome, 2, "configuration: spline.arango.password_env: ", "not set")


@pytest.mark.parametrize(
    ("endpoint", "messages"),
    [
        (f"ws://{UNREACHABLE}/gremlin", f"ws://{UNREACHABLE}/gremlin: no connection"),
        (
            f"wss://reader:{SECRET}@{UNREACHABLE}/gremlin?token={SECRET}",
            f"wss://{UNREACHABLE}/gremlin: no connection",
        ),
    ],
    ids=["plain", "with a password"],
)
@pytest.mark.parametrize("command", ["run", "load"])
@pytest.mark.usefixtures("spark")
def test_an_unreachable_graph_is_reported_soon(
    config_file: Callable[..., Path], export: Path, earlier: Path, command: str, endpoint: str, messages: str
) -> None:
    settings = config_file(spline={"export": str(export.parent)}, gremlin={"endpoint": endpoint})
    folder = [earlier] if command == "load" else []
    before = content(earlier)
    started = time.monotonic()

    outcome = in_process(command, *folder, "-c", settings)

    assert_failed(outcome, 5, messages)
    assert time.monotonic() - started < 30  # retries of a load end after minutes
    assert content(earlier) == before


# Invalid documents are skipped, and the exit code is 7.


def _break_the_field(lines: list[str]) -> str:
    documents = [json.loads(line) for line in lines]
    for document in documents:
        if document["_key"] == LOAD_WRITE:
            document["outputSource"] = [document["outputSource"]]
    return "\n".join(json.dumps(document) for document in documents)


def _break_the_line(lines: list[str]) -> str:
    return "\n".join(line.replace('"append":', '"append"') if LOAD_WRITE in line else line for line in lines)


@pytest.mark.parametrize(
    ("broken", "document", "field", "problem"),
    [
        (_break_the_field, f"operation/{LOAD_WRITE}", "outputSource", "must be a string"),
        (_break_the_line, f"operation/{LOAD_WRITE}", "", "not JSON"),
    ],
    ids=["wrong type", "not JSON"],
)
@pytest.mark.usefixtures("spark")
def test_an_invalid_document_is_skipped(
    tmp_path: Path,
    data: Path,
    config_file: Callable[..., Path],
    export: Path,
    broken: Callable[[list[str]], str],
    document: str,
    field: str,
    problem: str,
) -> None:
    shutil.copytree(data / "spline/tickit_sales_ingest", export.parent / "ingest")
    file = export / "operation.jsonl"
    file.write_text(broken(file.read_text().splitlines()))
    out = tmp_path / "lineage"

    settings = config_file(spline={"export": str(export.parent)})
    outcome = in_process("build", "-c", settings, "--out", out, "--format", "jsonl", "--json")

    assert_error_line(outcome, 7, "skipped 1 invalid document", document, field, problem)
    report = json.loads(outcome.out)["report"]
    assert report.items() <= json.loads((out / "report.json").read_text()).items()
    assert report["totals"]["rejected"] == 1
    [rejected] = [found for found in report["problems"] if found["kind"] == "rejected"]
    assert rejected["document"].startswith(f"load: {document}")
    assert rejected["field"] == field
    assert problem in rejected["message"]
    edges = [json.loads(line) for part in out.glob("edges/*.json") for line in part.read_text().splitlines()]
    edges = [edge for edge in edges if edge["label"] in ("feeds", "writes")]
    ingested = {(edge["from"], edge["label"], edge["to"]) for edge in edges if "ingest" in edge["job_name"]}
    assert ingested == expected.ids(expected.tickit_sales_ingest("tickit_daily"), "dev")
    written_by_load = {edge["to"].rpartition("|")[2] for edge in edges if "load" in edge["job_name"]}
    assert written_by_load == {"dev.public.event"}, "the broken write is all that is missing"


@pytest.mark.usefixtures("spark")
def test_strict_stops_at_an_invalid_document_without_output(
    config_file: Callable[..., Path], export: Path, earlier: Path
) -> None:
    file = export / "operation.jsonl"
    file.write_text(_break_the_field(file.read_text().splitlines()))
    before = content(earlier)

    settings = config_file(spline={"export": str(export.parent)})
    outcome = in_process("build", "-c", settings, "--out", earlier, "--strict")

    assert_failed(outcome, 3, f"operation/{LOAD_WRITE}: outputSource: must be a string")
    assert content(earlier) == before


@pytest.mark.usefixtures("spark")
def test_an_invalid_manifest_entry_is_skipped_and_reported(
    tmp_path: Path, config_file: Callable[..., Path], manifest: dict[str, Any]
) -> None:
    broken = "model.tickit.people"
    manifest["nodes"][broken]["depends_on"] = {"nodes": "model.tickit.stg_users"}
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(manifest))
    out = tmp_path / "lineage"

    outcome = in_process("build", "-c", config_file(dbt=dbt(file)), "--out", out, "--format", "jsonl")

    assert_error_line(outcome, 7, "skipped 1 invalid document", broken, "depends_on.nodes", "must be a list")
    nodes = "".join(part.read_text() for part in out.glob("nodes/*.json"))
    assert "tickit_marts.fct_sales" in nodes
    assert "tickit_marts.dim_people" not in nodes


# Node and edge files.


def node(name: str, /, **changes: Any) -> str:
    plain = {
        "id": f"dev|s3://lake|{name}",
        "label": "file",
        "environment": "dev",
        "dag_name": "tickit_daily",
        "name": name,
        "namespace": "s3://lake",
        "qualified_name": name,
    }
    return json.dumps({**plain, **changes}) + "\n"


def write_files(folder: Path, nodes: str, edges: str = "") -> Path:
    for kind, text in (("nodes", nodes), ("edges", edges)):
        (folder / kind).mkdir(parents=True)
        (folder / kind / "part-0.json").write_text(text)
    return folder


@pytest.mark.parametrize("present", [[], ["edges"], ["nodes"]], ids=["nothing", "no nodes", "no edges"])
@pytest.mark.usefixtures("spark")
def test_loading_a_folder_without_nodes_or_edges_is_an_error(
    tmp_path: Path,
    config_file: Callable[..., Path],
    gremlin_url: str,
    earlier_graph: Callable[[], bool],
    present: list[str],
) -> None:
    folder = write_files(tmp_path / "lineage", node("sales"))
    for kind in {"nodes", "edges"}.difference(present):
        shutil.rmtree(folder / kind)

    settings = config_file(spline={"export": "export"}, gremlin={"endpoint": gremlin_url})
    outcome = in_process("load", folder, "-c", settings)

    missing = "edges" if present == ["nodes"] else "nodes"
    assert_failed(outcome, 4, f"{folder}/{missing}: no node or edge files")
    assert earlier_graph()


@pytest.mark.parametrize(
    "broken",
    [
        '{"id": "dev|s3://lake|event", "label"\n',
        node("event", tags="raw"),
        '"dev|s3://lake|event"\n',
        node("event", description=["a", "b"]),
    ],
    ids=["not JSON", "wrong type", "no object", "array for a text"],
)
@pytest.mark.usefixtures("spark")
def test_loading_invalid_nodes_writes_nothing(
    tmp_path: Path,
    config_file: Callable[..., Path],
    gremlin_url: str,
    earlier_graph: Callable[[], bool],
    broken: str,
) -> None:
    folder = write_files(tmp_path / "lineage", node("sales") + broken)

    settings = config_file(spline={"export": "export"}, gremlin={"endpoint": gremlin_url})
    outcome = in_process("load", folder, "-c", settings)

    assert_failed(outcome, 4, f"{folder}/nodes: ", "validate")
    assert earlier_graph()


@pytest.mark.usefixtures("spark")
def test_validate_reports_flaws_by_element_and_field(tmp_path: Path) -> None:
    folder = write_files(
        tmp_path / "lineage",
        node("sales") + node("event", label="folder") + node("users", environment=None) + '{"id": "cut\n',
    )

    for_people = in_process("validate", folder, "--quiet")
    for_scripts = in_process("validate", folder, "--json", "--quiet")

    assert (for_people.code, for_people.err) == (4, "")
    *flaws, total = for_people.out.splitlines()
    assert total == "4 elements, 3 flaws"
    assert [flaw.partition(": must be")[0] for flaw in flaws] == [
        "nodes: dev|s3://lake|event: label",
        "nodes: dev|s3://lake|users: environment",
        'nodes: {"id": "cut: not JSON',
    ]
    assert for_scripts.code == 4
    found = json.loads(for_scripts.out)
    assert found["elements"] == 4
    assert [(flaw["element"], flaw["field"]) for flaw in found["flaws"]] == [
        ("dev|s3://lake|event", "label"),
        ("dev|s3://lake|users", "environment"),
        ('{"id": "cut', ""),
    ]


@pytest.mark.usefixtures("spark")
def test_validate_reports_a_missing_folder(tmp_path: Path) -> None:
    assert_failed(in_process("validate", tmp_path / "nowhere"), 4, f"{tmp_path}/nowhere/nodes: ")
