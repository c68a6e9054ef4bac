"""Exporters as the last step of a load."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.exporters.registry import EXPORTERS
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.command_line import Outcome, in_process, python_imports
from tests.http_server import Answer, Request, receiving
from tests.lineage_made import MadeLineage, at

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("spark")]


def gms(request: Request) -> Answer:
    return (200, {"noCode": "true"}) if request.path == "/config" else (200, {"value": "ok"})


def load(folder: Path, gremlin_url: str, exporters: dict[str, Any], *words: str) -> Outcome:
    """Load a small graph of one DAG with these exporters; they write next to the configuration."""
    made = MadeLineage().flow("a > b > c")
    for row in made.nodes.values():
        row["dag_name"] = "daily"
    if not (folder / "made").exists():
        made.folder(folder / "made")
    file = folder / "lineage_merge.yml"
    settings = {
        "dag_name": "daily",
        "environment": "dev",
        "gremlin": {"endpoint": gremlin_url},
        "exporters": exporters,
    }
    settings["spline"] = {"export": "unused"}
    file.write_text(yaml.safe_dump(settings))
    return in_process("load", folder / "made", "--config", file, "--quiet", *words)


def test_a_load_runs_the_exporters(gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path) -> None:
    with receiving(gms) as server:
        exporters = {
            "datahub": {"url": server.url},
            "graphml": {"out": "lineage.graphml"},
            "mermaid": {"jobs": True},
        }
        done = load(tmp_path, gremlin_url, exporters, "--json")
    exported = json.loads(done.out)["written"]["exported"]
    assert exported == [
        f"datahub: {server.url}: 3 datasets, 1 DAGs, 1 jobs, 16 aspects",
        f"graphml: {tmp_path}/lineage.graphml: 4 vertices, 4 edges",
    ]
    sent = {each["entityUrn"] for call in server.requests[2:] for each in call.body["proposals"]}
    assert len(sent) == 5
    assert gremlin.V().has_id(at("c")).count().next() == 1


def test_a_failed_exporter_affects_neither_graph_nor_other_exporters(
    gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path
) -> None:
    with receiving(lambda _: (403, {})) as server:
        exporters = {"datahub": {"url": server.url}, "mermaid": {"out": "lineage.mmd"}}
        failed = load(tmp_path, gremlin_url, exporters)
    assert failed.code == 11
    assert failed.err == (
        "error: the graph is loaded, but not exported: "
        f"DataHub at {server.url} rejects the token (status 403)\n"
    )
    assert (tmp_path / "lineage.mmd").read_text().startswith("flowchart LR")
    assert gremlin.V().has_id(at("c")).count().next() == 1


def test_a_dry_run_exports_nothing(gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path) -> None:
    done = load(tmp_path, gremlin_url, {"mermaid": {"out": "lineage.mmd"}}, "--dry-run")
    assert done.code == 0
    assert not (tmp_path / "lineage.mmd").exists()
    assert gremlin.V().count().next() == 0


def test_missing_tokens_and_packages_are_reported_before_the_load(
    gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://127.0.0.1:1"
    no_token = load(tmp_path, gremlin_url, {"datahub": {"url": url, "token_env": "NO_SUCH_TOKEN"}})
    assert no_token.code == 2
    assert "exporters.datahub.token_env: the environment variable of this name is not set" in no_token.err
    for name, module in (("datahub", "datahub"), ("openlineage", "openlineage.client")):
        monkeypatch.setitem(sys.modules, module, None)
        no_package = load(tmp_path, gremlin_url, {name: {"url": url}})
        assert no_package.code == 2
        assert f"a package is missing: install lineage-merge[{name}]" in no_package.err
    assert gremlin.V().count().next() == 0


@pytest.mark.parametrize(
    ("exporters", "key"),
    [
        ({"tableau": {}}, "exporters.tableau"),
        ({"datahub": {"server": "x"}}, "exporters.datahub.server"),
        ({"datahub": {"url": "gms"}}, "exporters.datahub.url"),
        ({"datahub": {"fabrics": {"dev": "dev"}}}, "exporters.datahub.fabrics.dev"),
        ({"openlineage": {"token_env": "no name"}}, "exporters.openlineage.token_env"),
    ],
)
def test_invalid_exporter_settings_are_configuration_errors(exporters: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.parse(
            {"dag_name": "d", "environment": "dev", "exporters": exporters}, needs_source=False
        )
    assert raised.value.key == key


def test_exporters_can_be_set_by_variable_as_yaml() -> None:
    variables = {"LINEAGE_MERGE_EXPORTERS": "{openlineage: {url: 'http://marquez:5000'}}"}
    settings = CONFIGURATION.collect(None, variables, {"dag_name": "d", "environment": "dev"}).settings
    assert CONFIGURATION.parse(settings, needs_source=False).exporters == {
        "openlineage": {"url": "http://marquez:5000"}
    }


def test_a_configuration_with_exporters_imports_no_client_library() -> None:
    settings = {"dag_name": "d", "environment": "dev", "exporters": {name: {} for name in EXPORTERS}}
    imported = python_imports(
        "-c",
        "from lineage_merge.orchestration.configuration import CONFIGURATION;"
        f"CONFIGURATION.parse({settings!r}, needs_source=False)",
    )
    assert imported & {"datahub", "openlineage", "requests", "pyspark", "gremlin_python", "boto3"} == set()
