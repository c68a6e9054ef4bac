"""Files that `init --mwaa` writes: a DAG that runs, requirements, and the policy of the role."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lineage_merge.model.errors import ConfigError
from lineage_merge.model.version import __version__
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.init import mwaa
from lineage_merge.orchestration.init.findings import Findings
from lineage_merge.orchestration.init.proposal import Proposal, propose
from lineage_merge.sources.discovery import ProjectFindings, SourceInput

REPOSITORY = Path(__file__).parents[2]
ARTIFACTS = "s3://shop-lineage/merge/artifacts"
WAREHOUSE = "redshift://shop.eu-west-1:5439"


def proposed() -> Proposal:
    inputs = {
        "spline": SourceInput("arango", settings={"hosts": "http://arangodb:8529", "database": "spline"}),
        "openlineage": SourceInput("events", ("s3://shop-lineage/events", "events")),
        "dbt": SourceInput("manifest", ("target/manifest.json",)),
    }
    beside = {"run_results": "target/run_results.json"}
    project = ProjectFindings("dbt", "target/manifest.json", "shop", "redshift", beside=beside)
    return propose(inputs, Findings(projects=(project,)), dag_name="shop daily", namespace=WAREHOUSE)


class Tasks:
    """Stands in for Airflow and the task group; records how they are called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.merges: list[dict[str, Any]] = []
        self.dbt: list[tuple[str, ...]] = []
        task = SimpleNamespace(override=lambda **_: self._build)
        of_modules: dict[str, dict[str, Any]] = {
            "airflow": {},
            "airflow.sdk": {"DAG": lambda *_, **__: nullcontext(), "task": lambda _function: task},
            "airflow.providers.amazon.aws.hooks.s3": {"S3Hook": None},
            "lineage_merge.airflow": {"lineage_merge_task_group": self._merge},
        }
        for name, members in of_modules.items():
            module = ModuleType(name)
            module.__dict__.update(members)
            monkeypatch.setitem(sys.modules, name, module)

    def _build(self, *arguments: str) -> Any:
        self.dbt.append(arguments)
        return Before()

    def _merge(self, _group: str, **arguments: Any) -> object:
        self.merges.append(arguments)
        return object()


class Before:
    def __rshift__(self, other: object) -> object:
        return other


def test_the_dag_runs_dbt_uploads_its_artefacts_and_merges_them(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = mwaa.files(proposed(), f"{ARTIFACTS}/")
    recorded = Tasks(monkeypatch)

    dag = texts["dags/shop_daily_lineage.py"]
    exec(compile(dag, "dag", "exec"), {})

    (merge,) = recorded.merges
    assert merge["dbt_manifests"] == [
        {
            "manifest": f"{ARTIFACTS}/dbt/shop/manifest.json",
            "namespace": WAREHOUSE,
            "run_results": f"{ARTIFACTS}/dbt/shop/run_results.json",
        }
    ]
    assert recorded.dbt == [("/usr/local/airflow/dags/dbt/shop", f"{ARTIFACTS}/dbt/shop")]
    # ArangoDB is a connection.
    assert merge["settings"] == {"openlineage.events": ["s3://shop-lineage/events", "events"]}
    assert {key.dotted for key in CONFIGURATION.settable} >= set(merge["settings"])
    assert "# CHECK: 'events' is local: upload it" in dag
    assert (merge["artifacts"], merge["engine"]) == (ARTIFACTS, "glue")


def test_requirements_name_the_wheel_and_the_adapter() -> None:
    lines = mwaa.files(proposed(), ARTIFACTS)["requirements.txt"].splitlines()
    assert lines[1:] == [
        f"/usr/local/airflow/plugins/lineage_merge-{__version__}-py3-none-any.whl",
        "dbt-redshift",
    ]


def test_the_policy_is_that_of_deploy_for_this_prefix() -> None:
    template = REPOSITORY / "deploy" / "iam" / "mwaa_execution.json"
    packaged = Path(mwaa.__file__).with_name("mwaa_execution.json")
    assert packaged.read_text() == template.read_text()

    text = mwaa.files(proposed(), ARTIFACTS)["mwaa_execution.json"]
    statements = {each["Sid"]: each for each in json.loads(text)["Statement"]}
    assert "${" not in text
    assert statements["UploadDbtArtefacts"]["Resource"] == "arn:aws:s3:::shop-lineage/merge/artifacts/dbt/*"
    assert statements["RecordRuns"]["Resource"][0] == "arn:aws:s3:::shop-lineage/merge/artifacts/runs/*"
    declared = {each["Sid"] for each in json.loads(template.read_text())["Statement"]}
    assert declared - statements.keys() == {"UseKmsKey"}


@pytest.mark.parametrize("artifacts", ["", "s3://bucket", "artifacts", "s3://bucket/"])
def test_artifacts_are_a_prefix_in_s3(artifacts: str) -> None:
    with pytest.raises(ConfigError, match="--artifacts: expected s3://bucket/prefix"):
        mwaa.files(proposed(), artifacts)
