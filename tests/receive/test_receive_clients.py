"""OpenLineage's own clients send to the receiver, and its files are read."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpCompression, HttpConfig, HttpTransport

from lineage_merge.infra.embedded.jars import Bundle, bundle_jars
from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.reader import read_openlineage
from tests.receiver import Receiver, receiver
from tests.record_reading import flows_of, problems_of, rows_of

pytestmark = pytest.mark.jvm

TOKEN = "a-key-for-tests"
LISTENER = "1.53.0"
_JAR = Bundle(
    f"openlineage-spark {LISTENER} for Scala 2.12",
    Path(__file__).parents[1] / "locks" / f"openlineage-spark_2.12-{LISTENER}.lock",
)
_JOB = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(3).write.parquet(sys.argv[1] + "/raw")
spark.read.parquet(sys.argv[1] + "/raw").selectExpr("id + 1 as next").write.parquet(sys.argv[1] + "/next")
spark.stop()
"""


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "false")
    with receiver(tmp_path / "received", "--token-env", "KEY", KEY=TOKEN) as found:
        yield found


def read(running: Receiver) -> tuple[set[tuple[str, str, str]], set[tuple[str, ...]]]:
    """Return the flows and the problems in the stored files."""
    running.stop()
    events = str(running.out / "openlineage")
    settings = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "openlineage": {"events": events}}
    )
    rows = rows_of(read_openlineage(LocalEngine(), settings, dataset_resolver.from_config(settings)))
    return flows_of(rows), set(problems_of(rows))


def spark_job(folder: Path, url: str) -> None:
    """A job of two writes in a Spark of its own, with openlineage-spark, to `url`."""
    jars = bundle_jars(_JAR, lambda _: None)
    options = {
        "spark.master": "local[1]",
        "spark.app.name": "copy ids",
        "spark.jars": ",".join(str(jar) for jar in jars.glob("*.jar")),
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": url,
        "spark.openlineage.transport.compression": "gzip",
        "spark.openlineage.transport.auth.type": "api_key",
        "spark.openlineage.transport.auth.apiKey": TOKEN,
        "spark.openlineage.namespace": "tests",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    arguments = " ".join(f"--conf '{name}={value}'" for name, value in options.items())
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{arguments} pyspark-shell",
    }
    command = [sys.executable, "-c", _JOB, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_openlineage_spark_sends_what_a_job_did(tmp_path: Path, running: Receiver) -> None:
    spark_job(tmp_path / "data", running.url)

    flows, problems = read(running)

    assert flows == {("copy ids", f"file|{tmp_path}/data/raw", f"file|{tmp_path}/data/next")}
    assert problems == set()


@pytest.mark.parametrize("compression", [None, HttpCompression.GZIP])
def test_the_python_client_sends_what_a_task_did(
    running: Receiver, compression: HttpCompression | None
) -> None:
    key = ApiKeyTokenProvider({"api_key": TOKEN})
    transport = HttpTransport(HttpConfig(url=running.url, auth=key, compression=compression))
    client = OpenLineageClient(transport=transport)
    for state, minute in ((RunState.START, 0), (RunState.COMPLETE, 2)):
        client.emit(
            RunEvent(
                eventTime=f"2026-11-01T06:0{minute}:00+00:00",
                producer="https://example.com/test",
                run=Run("01a1fd70-0000-7000-8000-00000000000a"),
                job=Job("airflow", "tickit_daily.copy_sales"),
                eventType=state,
                inputs=[InputDataset("s3://tickit-lake", "sales_dl")],
                outputs=[OutputDataset("s3://tickit-lake", "sales_copy")],
            )
        )
    client.close()

    flows, problems = read(running)

    source, target = "s3://tickit-lake|sales_dl", "s3://tickit-lake|sales_copy"
    assert flows == {("tickit_daily.copy_sales", source, target)}
    assert problems == set()


def test_the_python_transport_sends_what_airflow_reported(running: Receiver, data: Path) -> None:
    """The events of Airflow 2.11 and 3.0, posted, are merged like the files in which they were recorded."""
    files = sorted((data / "openlineage/airflow").iterdir())
    lines = [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    key = ApiKeyTokenProvider({"api_key": TOKEN})
    # Not through a client: these events have its tags already.
    transport = HttpTransport(HttpConfig(url=running.url, auth=key))
    for line in lines:
        transport.emit(run_event(line))
    transport.close()
    running.stop()

    received, recorded = merged([running.out / "openlineage"]), merged(files)

    assert received == recorded
    assert {row["job_type"] for row in received[0] if row["label"] == "job"} == {"airflow"}


def run_event(document: dict[str, Any]) -> RunEvent:
    run, job = document["run"], document["job"]
    return RunEvent(
        eventTime=document["eventTime"],
        producer=document["producer"],
        run=Run(run["runId"], run["facets"]),
        job=Job(job["namespace"], job["name"], job["facets"]),
        eventType=RunState(document["eventType"]),
        inputs=[InputDataset(**each) for each in document["inputs"]],
        outputs=[OutputDataset(**each) for each in document["outputs"]],
    )


def merged(events: list[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the graph of events, and the problems."""
    settings = {
        "dag_name": "daily",
        "environment": "dev",
        "openlineage": {"events": [str(path) for path in events]},
        "merge": {"default_schemas": {"redshift://tickit-wh.us-east-1:5439": "dev.public"}},
    }
    report, elements = read_sources.merge(CONFIGURATION.parse(settings))
    problems = [f"{each.kind} {each.document} {each.message}" for each in report.problems]
    return sorted(elements.collect(), key=lambda row: row["id"]), sorted(problems)
