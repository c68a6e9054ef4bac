"""The job of a cluster: its script as a process under spark-submit, with the arguments it is sent."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import boto3
import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.embedded.java import java_home
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration import cluster_entrypoint, publish
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests import expected
from tests.arango_fixtures import ArangoServer
from tests.command_line import clean_environment
from tests.expected import WAREHOUSE
from tests.graph_reading import edges_of
from tests.s3_fixtures import S3

REPOSITORY = Path(__file__).parents[1]
DAG = "tickit_daily"
PASSWORD_SECRET = "lineage/arango#password"
# What Glue hands over besides.
OF_GLUE = ("--JOB_NAME", "lineage", "--JOB_RUN_ID", "jr_0a", "--job-bookmark-option", "--TempDir", "s3://t/")


def ran(words: list[str]) -> subprocess.CompletedProcess[str]:
    """The published script under spark-submit, as a cluster runs it."""
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    submit = Path(pyspark.origin).parent / "bin" / "spark-submit"
    # What a cluster configures, made small: else Spark's defaults cost a minute.
    small = {
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    options = [word for name, value in small.items() for word in ("--conf", f"{name}={value}")]
    return subprocess.run(
        [str(submit), "--master", "local[2]", *options, str(publish.SCRIPT), *OF_GLUE, *words],
        env=clean_environment(
            JAVA_HOME=str(java_home()),
            PYSPARK_PYTHON=sys.executable,
            PYSPARK_DRIVER_PYTHON=sys.executable,
            PYTHONPATH=os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]),
        ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def words_of(arguments: dict[str, str]) -> list[str]:
    return [word for pair in arguments.items() for word in pair]


@pytest.fixture
def settings(data: Path, arango: ArangoServer, s3: S3, gremlin_url: str) -> dict[str, Any]:
    """Spline in ArangoDB, dbt's manifest in S3, a Gremlin Server, and the password in a secret."""
    client = boto3.client("secretsmanager")
    client.create_secret(Name="lineage/arango", SecretString=json.dumps({"password": arango.password}))
    client.close()
    return {
        "dag_name": DAG,
        "environment": "dev",
        "spline.arango.hosts": arango.url,
        "spline.arango.database": arango.database("spline", data / "spline/tickit_sales_load"),
        "spline.arango.username": arango.username,
        "spline.arango.password_secret": PASSWORD_SECRET,
        "spline.applications": ["tickit_sales_load"],
        "dbt": [
            {
                "manifest": s3.put("artifacts", "manifest.json", data / "dbt/redshift_v12/manifest.json"),
                "namespace": WAREHOUSE,
            }
        ],
        "merge.default_schemas": {WAREHOUSE: "dev.public"},
        "gremlin.endpoint": gremlin_url,
    }


@pytest.mark.jvm
def test_build_and_load_are_two_jobs_with_a_folder_in_s3_between(
    settings: dict[str, Any], s3: S3, gremlin: GraphTraversalSource, arango: ArangoServer
) -> None:
    s3.put("lineage", "runs/1/nodes/left-over.parquet", b"of an earlier build")
    folder = "s3://lineage/runs/1"

    built = ran(words_of(cluster_entrypoint.arguments("build", folder, settings)))
    assert built.returncode == 0, built.stdout[-3000:]
    # A load reads no source, and the files name environment and DAG.
    graph = {"gremlin.endpoint": settings["gremlin.endpoint"]}
    loaded = ran(words_of(cluster_entrypoint.arguments("load", folder, graph)))
    assert loaded.returncode == 0, loaded.stdout[-3000:]

    truth = expected.ids(expected.tickit_sales_load(DAG) | expected.dbt(DAG), "dev")
    assert edges_of(gremlin) == truth
    outcome = json.loads(built.stdout.splitlines()[-1])
    scope = {"dag_name": DAG, "environment": "dev", "folder": folder}
    assert outcome.items() >= {"step": "build", **scope}.items()
    assert outcome["edges"]["writes"] == sum(label == "writes" for _, label, _ in truth)
    of_load = json.loads(loaded.stdout.splitlines()[-1])
    assert of_load.items() >= {"step": "load", **scope}.items()
    assert of_load["written"]["edges"] == sum(outcome["edges"].values())
    everything = built.stdout + built.stderr + loaded.stdout + loaded.stderr
    assert arango.password not in everything


@pytest.mark.jvm
def test_a_job_that_fails_says_why_in_a_line_and_in_the_folder(settings: dict[str, Any], s3: S3) -> None:
    folder = s3.put("lineage", "runs/2/x", b"").rpartition("/")[0]
    wrong = settings | {"spline.arango.password_secret": "lineage/arango#wrong"}

    failed = ran(words_of(cluster_entrypoint.arguments("build", folder, wrong, attempt="1")))

    assert failed.returncode != 0
    reason = "configuration: spline.arango.password_secret: the secret has no text under 'wrong'"
    assert reason in failed.stdout  # where spark-submit passes on what Python says
    assert cluster_entrypoint.failure(folder, "1") == cluster_entrypoint.Failure(
        reason, permanent=True, exit_code=2
    )
    assert cluster_entrypoint.failure(folder, "2") is None, "that is another attempt's"


def test_what_is_sent_is_what_the_job_reads() -> None:
    settings = {
        "dag_name": DAG,
        "environment": "dev",
        "spline": {
            "arango": {"hosts": "http://a:8529,http://b:8529", "database": "spline", "timeout_seconds": 1.5},
            "applications": ["a,b", "c*"],
            "labels": {"airflow.dag_id": ["x", "y"], "tier": 1},
            "runs": {"since": "2026-11-01"},
            "lookback": 12,
            "operations": True,
        },
        "dbt": [{"manifest": "s3://b/m.json", "namespace": WAREHOUSE}],
        "merge": {
            "rules": [{"name": "r", "match": "{{(?P<t>a{2}}b)", "dataset": f"{WAREHOUSE}|dev.public.{{t}}"}]
        },
        "strict": True,
    }

    sent = cluster_entrypoint.arguments(
        "load", "s3://b/folder", CONFIGURATION.list_by_key(settings), attempt="7"
    )
    arguments = cluster_entrypoint.parse_arguments([*OF_GLUE, *words_of(sent)])

    assert CONFIGURATION.load(None, environ={}, flags=arguments.flags) == CONFIGURATION.parse(settings)
    assert (arguments.step, arguments.folder, arguments.attempt) == ("load", "s3://b/folder", "7")
    assert arguments.others == ("--JOB_NAME", "--JOB_RUN_ID", "--TempDir", "--job-bookmark-option")
    assert not any("{{" in text or "}}" in text for text in sent.values()), "YARN replaces those"


def test_an_argument_may_be_one_word() -> None:
    arguments = cluster_entrypoint.parse_arguments(
        ["--step=build", "--folder=s3://b/f=1", "--config=s3://b/lineage.yml"]
    )

    assert (arguments.step, arguments.folder, arguments.config, arguments.flags) == (
        "build",
        "s3://b/f=1",
        "s3://b/lineage.yml",
        {},
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "--step: must be build or load or check, not empty"),
        (["--step", "merge", "--folder", "f"], "--step: must be build or load or check, not merge"),
        (["--step", "build"], "--folder: is missing"),
    ],
)
def test_arguments_that_are_missing_are_named(words: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        cluster_entrypoint.parse_arguments(words)


def test_a_key_that_there_is_not_is_no_argument() -> None:
    with pytest.raises(ConfigError, match=r"spline\.arango\.password: is not a known key"):
        cluster_entrypoint.arguments("build", "s3://b/f", {"spline.arango.password": "hunter2"})


def test_a_configuration_may_lie_in_s3_and_name_what_lies_beside_it(s3: S3) -> None:
    text = f"dag_name: d\nenvironment: dev\ndbt: [{{manifest: target/m.json, namespace: '{WAREHOUSE}'}}]\n"

    found = CONFIGURATION.load(s3.put("conf", "lineage/merge.yml", text), environ={})

    assert found.sources["dbt"][0].manifest == "s3://conf/lineage/target/m.json"


def test_a_configuration_missing_in_s3_is_reported(s3: S3) -> None:
    s3.put("conf", "other.yml", "")

    with pytest.raises(ConfigError, match=r"cannot read s3://conf/merge\.yml: no such object"):
        CONFIGURATION.load("s3://conf/merge.yml", environ={})
