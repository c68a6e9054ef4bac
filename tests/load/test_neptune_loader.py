"""Client of the bulk loader's API, against a stand-in that validates requests by botocore's model."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest

from lineage_merge.load.gremlin.signing import Iam
from lineage_merge.load.neptune_bulk.api import Loader
from lineage_merge.load.neptune_bulk.loader_jobs import LoadFolder, await_earlier_loads, load
from lineage_merge.model.errors import BulkLoadFailed, GraphDenied, GraphRejected, GraphUnreachable
from tests.neptune_standin import REGION, ROLE, Standin
from tests.s3_fixtures import S3

pytestmark = pytest.mark.jvm

VERTICES = "~id,~label,name:String(single)\n"
EDGES = "~id,~label,~from,~to,sequence:Long\n"
SOURCES = (LoadFolder("vertices", "s3://lineage/one/vertices"), LoadFolder("edges", "s3://lineage/one/edges"))


@pytest.fixture
def loader(neptune_loader: Standin, gremlin: object) -> Loader:
    return Loader(neptune_loader.url, REGION, ROLE, timeout_seconds=30)


@pytest.fixture
def files(s3: S3) -> S3:
    s3.put("lineage", "one/vertices/1.csv", f"{VERTICES}a,table,A\nb,table,B\n")
    s3.put("lineage", "one/vertices/2.csv", f"{VERTICES}c,table,C\n")
    s3.put("lineage", "one/edges/1.csv", f"{EDGES}e,feeds,a,b,1\n")
    s3.put("lineage", "one/edges-of-others/1.csv", "no CSV of ours")
    return s3


@pytest.fixture
def lines() -> list[str]:
    return []


def test_folders_are_loaded_one_after_the_other(
    loader: Loader, files: S3, neptune_loader: Standin, gremlin: Any, lines: list[str]
) -> None:
    load(loader, SOURCES, lines.append)
    assert gremlin.V().values("name").to_set() == {"A", "B", "C"}
    assert gremlin.E().values("sequence").to_list() == [1]
    first, second = neptune_loader.asked("StartLoaderJob")
    assert first == {
        "source": "s3://lineage/one/vertices/",
        "format": "csv",
        "s3BucketRegion": "us-east-1",
        "iamRoleArn": ROLE,
        "mode": "AUTO",
        "failOnError": True,
        "parallelism": "HIGH",
        "updateSingleCardinalityProperties": True,
        "queueRequest": True,
    }
    assert second == first | {
        "source": "s3://lineage/one/edges/",
        "dependencies": [next(iter(neptune_loader.jobs))],
    }


def test_waiting_and_progress_of_a_load_are_reported(
    loader: Loader, files: S3, neptune_loader: Standin, gremlin: Any, lines: list[str]
) -> None:
    neptune_loader.going.clear()

    def on_progress(line: str) -> None:
        lines.append(line)
        if line == "bulk load of vertices: queued":
            for job in neptune_loader.jobs.values():
                job.status = "LOAD_IN_PROGRESS"
                job.files = {"1": "LOAD_COMPLETED", "2": "LOAD_IN_PROGRESS", "3": "LOAD_NOT_STARTED"}
        else:
            neptune_loader.going.set()

    load(loader, SOURCES, on_progress)
    assert lines[:2] == ["bulk load of vertices: queued", "bulk load of vertices: loading 1 of 3 files"]


def headers(standin: Standin) -> Iterator[dict[str, str]]:
    return (headers for _, _, headers in standin.calls)


def test_requests_are_signed_only_if_configured(
    loader: Loader, files: S3, neptune_loader: Standin, lines: list[str]
) -> None:
    load(loader, SOURCES, lines.append)
    assert not any("authorization" in each for each in headers(neptune_loader))
    neptune_loader.calls.clear()
    load(replace(loader, iam=Iam(REGION)), SOURCES, lines.append)
    for each in headers(neptune_loader):
        assert "Credential=testing/" in each["authorization"]
        assert "/us-east-1/neptune-db/aws4_request" in each["authorization"]


def test_an_invalid_file_is_reported_with_its_record(loader: Loader, files: S3, lines: list[str]) -> None:
    files.put("lineage", "one/edges/2.csv", f"{EDGES}f,feeds,a,b,2\ng,feeds,a,b,many\n")
    with pytest.raises(BulkLoadFailed) as raised:
        load(loader, SOURCES, lines.append)
    assert "bulk load of edges (load " in raised.value.message
    assert (
        "ended with LOAD_FAILED: s3://lineage/one/edges/2.csv record 2: PARSING_ERROR: 'many' is no long"
        in (raised.value.message)
    )


def test_many_errors_are_shortened_to_one_line(
    loader: Loader, files: S3, neptune_loader: Standin, lines: list[str]
) -> None:
    errors = [
        {"errorCode": "PARSING_ERROR", "errorMessage": "long\n" * 500, "fileName": f"f{n}", "recordNum": n}
        for n in range(1, 40)
    ]
    neptune_loader.failing["vertices/"] = ("LOAD_FAILED", errors)
    with pytest.raises(BulkLoadFailed) as raised:
        load(loader, SOURCES, lines.append)
    message = raised.value.message
    assert [f"f{n} record" in message for n in (1, 5, 6)] == [True, True, False]
    assert message.endswith("; and more")
    assert len(message) < 2_000
    assert "\n" not in message


def test_after_a_failure_the_load_that_depends_on_it_is_cancelled(
    loader: Loader, files: S3, neptune_loader: Standin, gremlin: Any, lines: list[str]
) -> None:
    neptune_loader.failing["vertices/"] = ("LOAD_FAILED", [])
    with pytest.raises(BulkLoadFailed, match=r"bulk load of vertices \(load .*\) ended with LOAD_FAILED$"):
        load(loader, SOURCES, lines.append)
    assert gremlin.V().count().next() == 0


@pytest.mark.parametrize(
    ("status", "errors"),
    [
        ("LOAD_COMMITTED_W_WRITE_CONFLICTS", []),
        ("LOAD_DATA_DEADLOCK", []),
        ("LOAD_FAILED", [{"errorCode": "FROM_OR_TO_VERTEX_ARE_MISSING", "errorMessage": "a"}]),
    ],
)
def test_errors_by_concurrent_writers_lead_to_another_comparison(
    loader: Loader, files: S3, neptune_loader: Standin, lines: list[str], status: str, errors: Any
) -> None:
    neptune_loader.failing["edges/"] = (status, errors)
    with pytest.raises(GraphRejected, match=status):
        load(loader, SOURCES, lines.append)


def test_a_role_without_permission_is_reported_by_its_key(
    loader: Loader, files: S3, neptune_loader: Standin, lines: list[str]
) -> None:
    neptune_loader.role_may_read = False
    with pytest.raises(BulkLoadFailed, match=r"S3_ACCESS_DENIED_ERROR.* allow gremlin.bulk.role_arn"):
        load(loader, SOURCES, lines.append)


def test_a_full_queue_leads_to_waiting(
    loader: Loader, files: S3, neptune_loader: Standin, gremlin: Any, lines: list[str]
) -> None:
    neptune_loader.queue_is_full = 2
    load(loader, SOURCES, lines.append)
    assert gremlin.V().count().next() == 3
    assert lines[:2] == ["bulk load of vertices: Neptune's queue is full, waiting"] * 2


def test_waiting_for_the_queue_or_the_end_of_a_load_is_limited(
    loader: Loader, files: S3, neptune_loader: Standin, lines: list[str]
) -> None:
    quick = replace(loader, timeout_seconds=0.5)
    neptune_loader.queue_is_full = 1_000
    with pytest.raises(BulkLoadFailed, match=r"place in Neptune's queue.*within 0.5 seconds \(gremlin.bulk"):
        load(quick, SOURCES, lines.append)
    neptune_loader.queue_is_full = 0
    neptune_loader.going.clear()
    with pytest.raises(
        BulkLoadFailed, match=r"bulk load of vertices \(load .*did not end within 0.5 seconds"
    ):
        load(quick, SOURCES, lines.append)
    assert len(neptune_loader.asked("CancelLoaderJob")) == 2
    wait_until_over(neptune_loader)
    assert {job.status for job in neptune_loader.jobs.values()} == {"LOAD_CANCELLED_BY_USER"}


def wait_until_over(standin: Standin) -> None:
    deadline = time.monotonic() + 10
    while not all(job.is_over for job in standin.jobs.values()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_ctrl_c_cancels_both_loads(loader: Loader, files: S3, neptune_loader: Standin, gremlin: Any) -> None:
    neptune_loader.going.clear()

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(loader, SOURCES, interrupt)
    vertices, edges = neptune_loader.jobs
    assert neptune_loader.asked("CancelLoaderJob") == [{"loadId": edges}, {"loadId": vertices}]


def test_temporarily_lost_responses_do_not_end_a_load(
    loader: Loader, files: S3, neptune_loader: Standin, gremlin: Any, lines: list[str]
) -> None:
    neptune_loader.going.clear()

    def on_progress(_: str) -> None:
        neptune_loader.lost_answers = 6  # more than botocore tries
        neptune_loader.going.set()

    load(loader, SOURCES[:1], on_progress)
    assert gremlin.V().count().next() == 3


def test_only_earlier_loads_of_the_same_folder_are_awaited(
    loader: Loader, files: S3, neptune_loader: Standin, lines: list[str]
) -> None:
    neptune_loader.going.clear()
    other_client: Any = boto3.client("neptunedata", endpoint_url=neptune_loader.url)
    other_client.start_loader_job(
        source="s3://lineage/other/", format="csv", s3BucketRegion=REGION, iamRoleArn=ROLE, queueRequest=True
    )
    other_client.close()
    await_earlier_loads(loader, "s3://lineage/one/", lines.append)
    assert lines == []

    def on_progress(line: str) -> None:
        lines.append(line)
        neptune_loader.going.set()

    await_earlier_loads(loader, "s3://lineage/other/", on_progress)
    assert set(lines) == {"waiting for an earlier bulk load of this DAG"}
    assert all(job.is_over for job in neptune_loader.jobs.values())


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        (
            {"url": "http://user:hush@127.0.0.1:9"},
            GraphUnreachable,
            "http://127.0.0.1:9: no response from Neptune's",
        ),
        ({"parallelism": "ALL"}, BulkLoadFailed, "parallelism is not one of"),
        ({"region": "eu-west-1"}, BulkLoadFailed, "The bucket is in another region"),
    ],
)
def test_a_rejection_by_the_loader_is_one_line_with_its_address(
    loader: Loader, files: S3, lines: list[str], changes: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as raised:
        load(replace(loader, **changes), SOURCES, lines.append)
    assert message in str(raised.value)
    assert "hush" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_denied_request_is_reported_as_denied(
    loader: Loader, files: S3, neptune_loader: Standin, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    denial = {
        "code": "AccessDeniedException",
        "requestId": "1",
        "detailedMessage": "not allowed StartLoaderJob",
    }
    monkeypatch.setattr(neptune_loader, "answer", lambda *_: (403, denial))
    with pytest.raises(
        GraphDenied, match="the bulk loader refuses these credentials: not allowed StartLoaderJob"
    ):
        load(loader, SOURCES, lines.append)
