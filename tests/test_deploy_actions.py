"""The policies of deploy/iam allow what the code calls; of Airflow, what `aws_calls.json` has.

The record is what botocore was asked to send, by our tasks and by Amazon's own operator; the calls of the
job, the loader and `publish` are recorded here, against a stand-in for S3.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient

from lineage_merge.config import Config, History
from lineage_merge.history.compaction import Retention, compact, plan_compaction
from lineage_merge.history.moments import parse_moment
from lineage_merge.infra import storage
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.orchestration import preflight, publish
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.past import as_of
from lineage_merge.receiver import aws_lambda
from lineage_merge.sources.query_log.logs import archive, data_api, redshift
from lineage_merge.sources.query_log.logs.table_files import rows_of
from lineage_merge.sources.registry import QUERY_LOG
from lineage_merge.sources.spline.event_log.source import EVENT_LOG
from tests import event_log_recipe
from tests.history.made_history import MadeHistory
from tests.iam_policy import Need, allows, needs
from tests.made_merges import Made
from tests.receiver import plan
from tests.s3_fixtures import S3
from tests.sources.query_log.redshift_standin import Clusters
from tests.sources.query_log.redshift_standin import clusters as clusters
from tests.test_deploy import FILLED, POLICIES

DEPLOY = Path(__file__).parents[1] / "deploy" / "iam"
RECORD = Path(__file__).parent / "airflow" / "aws_calls.json"
# Names as the record has them.
NAMES = FILLED | {"FolderPrefix": "artifacts/runs", "JobRole": "lineage-merge-glue"}


def statements(policy: str) -> list[Mapping[str, Any]]:
    text = DEPLOY.joinpath(f"{policy}.json").read_text()
    found: list[Mapping[str, Any]] = json.loads(
        re.sub(r"\$\{([A-Za-z:]+)\}", lambda match: NAMES[match[1]], text)
    )["Statement"]
    return found


def refused(policy: str, wanted: list[Need]) -> list[tuple[str, str]]:
    allowed = statements(policy)
    return sorted({(need.action, need.resource) for need in wanted if not allows(allowed, need)})


def recorded_needs() -> list[Need]:
    calls = json.loads(RECORD.read_text())
    return [
        need
        for service, operation, parameters in calls
        for need in needs(service, operation, json.loads(parameters))
    ]


def test_mwaas_role_may_do_all_that_the_task_group_calls() -> None:
    wanted = recorded_needs()

    assert {need.action for need in wanted} >= {
        "glue:CreateJob",
        "glue:StartJobRun",
        "iam:GetRole",
        "iam:PassRole",
        "s3:GetObject",
        "s3:PutObject",
    }
    assert refused("mwaa_execution", wanted) == []


def test_mwaas_role_writes_no_script_and_passes_no_other_role() -> None:
    job = "arn:aws:s3:::lineage/artifacts/lineage_merge_job.py"
    other = "arn:aws:iam::111122223333:role/admin"
    wanted = [
        Need("s3:PutObject", job, {}),
        Need("iam:PassRole", other, {"iam:PassedToService": "glue.amazonaws.com"}),
        Need(
            "iam:PassRole",
            "arn:aws:iam::111122223333:role/lineage-merge-glue",
            {"iam:PassedToService": "ec2.amazonaws.com"},
        ),
    ]

    assert len(refused("mwaa_execution", wanted)) == 3


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, s3: S3) -> list[Need]:
    """What botocore is asked for in a test."""
    s3.client.create_bucket(Bucket="lineage")
    found: list[Need] = []
    original: Callable[..., Any] = BaseClient._make_api_call  # type: ignore[attr-defined]

    def make(client: Any, operation: str, parameters: Mapping[str, Any]) -> Any:
        found.extend(needs(client.meta.service_model.service_name, operation, parameters))
        return original(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", make)
    return found


@pytest.mark.parametrize(
    ("policy", "folder"),
    [("glue_job", "artifacts/runs/1"), ("glue_job", "bulk/1"), ("publisher", "artifacts")],
)
def test_who_writes_a_folder_may_write_list_read_and_delete_it(
    tmp_path: Path, calls: list[Need], policy: str, folder: str
) -> None:
    location = f"s3://lineage/{folder}"
    file = tmp_path / "vertices.csv"
    file.write_text("~id")
    storage.write_text(f"{location}/one.json", "{}")
    storage.write_file(f"{location}/two.csv", file)
    storage.replace_folder(location, tmp_path)
    storage.fetch_folder(location, tmp_path)
    storage.find_files(location)
    storage.delete_folder(location)

    assert {need.action for need in calls} == {
        "s3:PutObject",
        "s3:GetObject",
        "s3:ListBucket",
        "s3:DeleteObject",
    }
    assert refused(policy, calls) == []


def test_the_job_may_add_merges_to_the_history_read_and_compact_it(calls: list[Need]) -> None:
    location = "s3://lineage/history"
    made = Made().job("spark", "load", {"b": ["a"]})
    preflight.check_graph(Config("daily", "dev", history=History(location)))
    history = MadeHistory(location)
    for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
        history.full(day, made, moves={"dev|wh|x": "dev|wh|a"})
    history.runs("2026-01-04", "daily", made.nodes.values())
    as_of(location, parse_moment("2026-01-04"), "dev")
    now = datetime(2026, 12, 1, tzinfo=UTC)
    plans = plan_compaction(location, Retention(), now=now)
    compact(location, plans)

    assert [len(each.merges) for each in plans] == [3]
    assert {need.action for need in calls} == {
        "s3:PutObject",
        "s3:GetObject",
        "s3:ListBucket",
        "s3:DeleteObject",
    }
    assert refused("glue_job", calls) == []
    assert refused("publisher", calls)


def test_the_archive_and_its_reader_may_do_what_they_call(clusters: Clusters, calls: list[Need]) -> None:
    entry = {"format": "redshift", "cluster": "wh", "database": "dw", "db_user": "lineage"}
    (log,) = QUERY_LOG.parse(
        [
            entry
            | {"namespace": "redshift://wh:5439", "region": "eu-west-1", "archive": "s3://lineage/query_log"}
        ]
    )
    archive.archive(log, datetime(2026, 11, 2, tzinfo=UTC), lambda _line: None)
    # What the stand-in writes is written by the role of UNLOAD.
    unloaded = [each for each in calls if each.resource.endswith("_part_00.gz")]
    others = [each for each in calls if each not in unloaded]

    assert {need.action for need in others} == {
        "redshift-data:ExecuteStatement",
        "redshift-data:DescribeStatement",
        "redshift-data:GetStatementResult",
        "redshift:GetClusterCredentials",
        "s3:PutObject",
        "s3:ListBucket",
    }
    assert refused("redshift_archive", others) == []
    assert unloaded
    assert refused("redshift_unload", unloaded) == []

    calls.clear()
    found = redshift.files_of(log)
    [*rows_of(found[0].file)]
    [*data_api.rows_of(log.warehouse, "select 1 as one from sys_query_history")]

    assert {need.action for need in calls} >= {"s3:GetObject", "redshift-data:GetStatementResult"}
    assert refused("redshift_reader", calls) == []
    assert refused("redshift_reader", [*unloaded]) != []


def test_the_reader_of_event_logs_may_read_them_and_keep_what_it_read(calls: list[Need], s3: S3) -> None:
    s3.client.create_bucket(Bucket="logs")
    location, cache = "s3://logs/spark-events", "s3://lineage/spark-events-read"
    log = event_log_recipe.FOLDER / "shop.jsonl"
    storage.write_file(f"{location}/local-1", log)
    storage.write_file(f"{location}/eventlog_v2_local-2/events_1_local-2", log)
    calls.clear()
    section = {"logs": location, "cache": cache}
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "event_log": section})
    for _ in range(2):
        assert EVENT_LOG.read(LocalEngine(), config, dataset_resolver.from_config(config)).count()

    assert {need.action for need in calls} == {"s3:GetObject", "s3:ListBucket", "s3:PutObject"}
    assert refused("event_log_reader", calls) == []
    others = [
        Need("s3:PutObject", "arn:aws:s3:::logs/spark-events/local-1", {}),
        Need("s3:GetObject", "arn:aws:s3:::lineage/other/file", {}),
    ]
    assert len(refused("event_log_reader", others)) == len(others)


@pytest.fixture
def token_secret(s3: S3) -> str:
    name = "receiver-AbCdEf"
    boto3.client("secretsmanager").create_secret(Name=name, SecretString="token")
    return name


def test_the_receiver_may_store_and_read_its_token(
    token_secret: str, calls: list[Need], monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_RECEIVER_LANDING", "s3://lineage/received")
    monkeypatch.setenv("LINEAGE_MERGE_RECEIVER_TOKEN_SECRET", token_secret)
    aws_lambda._configure.cache_clear()
    queue = json.loads(data.joinpath("receive/lambda/queue.json").read_text())
    queue["Records"][0]["body"] = json.dumps(plan(1))
    calls.clear()
    try:
        assert aws_lambda.handler(queue, None) == {"batchItemFailures": []}
    finally:
        aws_lambda._configure.cache_clear()

    assert {need.action for need in calls} == {"s3:PutObject", "secretsmanager:GetSecretValue"}
    assert {need.resource.split("/")[2] for need in calls if "received" in need.resource} == {
        "spline",
        "rejected",
    }
    assert refused("receiver", calls) == []
    assert refused("receiver", [Need("s3:PutObject", "arn:aws:s3:::lineage/other/file", {})])


def test_the_publisher_may_write_what_the_task_group_reads(calls: list[Need]) -> None:
    publish.write("s3://lineage/artifacts", "s3://lineage/artifacts/job.py", {}, "", "1")
    publish.read("s3://lineage/artifacts")

    assert refused("publisher", calls) == []


def test_the_job_may_mark_folders_as_glue_5_0_does() -> None:
    """EMRFS puts an empty object beside a folder, and beside each one above it."""
    folders = ["artifacts/runs/1/nodes", "artifacts/runs/1", "artifacts/runs", "artifacts", "bulk"]
    wanted = [
        Need(action, f"arn:aws:s3:::lineage/{folder}_$folder$", {})
        for folder in folders
        for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject")
    ]

    assert refused("glue_job", wanted) == []
    assert refused("glue_job", [Need("s3:PutObject", "arn:aws:s3:::lineage/other/file", {})])


@pytest.mark.parametrize(
    ("policy", "actions"),
    [
        ("glue_job", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("mwaa_execution", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("publisher", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("neptune_loader", {"kms:Decrypt"}),
        ("event_log_reader", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("redshift_archive", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("redshift_reader", {"kms:Decrypt"}),
        ("redshift_unload", {"kms:Decrypt", "kms:GenerateDataKey"}),
    ],
)
def test_readers_may_decrypt_and_writers_encrypt_with_a_key_of_the_customer(
    policy: str, actions: set[str]
) -> None:
    both = ("kms:Decrypt", "kms:GenerateDataKey")
    wanted = {action: Need(action, NAMES["KmsKeyArn"], {}) for action in both}

    assert {action for action, need in wanted.items() if not refused(policy, [need])} == actions


def test_every_policy_that_reads_or_writes_s3_names_the_key() -> None:
    named = {file.stem for file in POLICIES if "kms:" in file.read_text()}

    assert named == {file.stem for file in POLICIES if "s3:" in file.read_text()}
