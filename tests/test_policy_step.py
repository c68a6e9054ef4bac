"""The step `check` of a task group: on the worker and as a job of a cluster, without Spark."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.config import Config
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.model.errors import ConfigError, PolicyViolated
from lineage_merge.orchestration import cluster_entrypoint, policy_check
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.command_line import python_imports
from tests.policy_pipeline import corrected, settings, violating


@pytest.fixture(scope="module")
def violating_url() -> Iterator[str]:
    with EmbeddedServer(None) as server:
        violating().load(server.url)
        yield server.url


def configured(url: str, **others: Any) -> dict[str, Any]:
    return settings() | {"gremlin": {"endpoint": url}, "openlineage": {"events": "/nowhere"}} | others


def parsed(url: str, **others: Any) -> Config:
    return CONFIGURATION.parse(configured(url, **others))


@pytest.mark.jvm
def test_violations_are_logged_stored_and_raised(violating_url: str, tmp_path: Path) -> None:
    lines: list[str] = []
    with pytest.raises(PolicyViolated) as raised:
        policy_check.check(parsed(violating_url), str(tmp_path), lines.append)
    # A missing dataset may belong to another DAG.
    assert raised.value.message.startswith("policies are violated: 10 errors and 1 warning of 12 policies: ")
    assert raised.value.message.endswith("; and 5 more")
    assert "no-pii-in-marts: error: wh.marts.customers#mail carries pii of s3://lake/customers#email" in lines
    assert "→ wh.marts.customers#mail (TRANSFORMATION: lower(email), job load)" in lines
    assert "staging-is-tested: warning: wh.staging.customers has no test" in lines
    stored = json.loads((tmp_path / "policies.json").read_text())
    assert policy_check.counts(str(tmp_path)) == {
        "policies": 12,
        "errors": 10,
        "warnings": 1,
        "passed": False,
    }
    assert [each["name"] for each in stored["results"] if not each["violations"]] == [
        "forecast-has-a-contract"
    ]


@pytest.mark.jvm
def test_only_datasets_of_the_dag_are_checked(violating_url: str, tmp_path: Path) -> None:
    counts = policy_check.check(parsed(violating_url, dag_name="another"), str(tmp_path), lambda _: None)
    assert counts == {"policies": 12, "errors": 0, "warnings": 0, "passed": True}


def test_a_configuration_without_policies_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="policies: is missing"):
        policy_check.check(parsed("ws://localhost:1/gremlin", policies=[]), str(tmp_path), lambda _: None)


@pytest.mark.jvm
def test_a_job_of_a_cluster_stores_why_it_failed(violating_url: str, tmp_path: Path) -> None:
    given = CONFIGURATION.list_by_key(configured(violating_url))
    words = cluster_entrypoint.arguments("check", str(tmp_path), given, attempt="1")
    with pytest.raises(PolicyViolated):
        cluster_entrypoint.main([word for pair in words.items() for word in pair])
    found = cluster_entrypoint.failure(str(tmp_path), "1")
    assert found is not None
    assert (found.permanent, found.exit_code) == (True, 14)
    assert found.message.startswith("policies are violated: 10 errors")


@pytest.mark.jvm
def test_a_job_of_a_cluster_starts_no_spark(tmp_path: Path) -> None:
    with EmbeddedServer(None) as server:
        corrected().load(server.url)
        given = CONFIGURATION.list_by_key(configured(server.url))
        words = cluster_entrypoint.arguments("check", str(tmp_path), given)
        code = (
            "import sys; from lineage_merge.orchestration.cluster_entrypoint import main; main(sys.argv[1:])"
        )
        imported = python_imports("-c", code, *(word for pair in words.items() for word in pair))
    assert json.loads((tmp_path / "policies.json").read_text())["passed"] is True
    assert "gremlin_python" in imported
    assert not {"pyspark", "py4j"} & imported
