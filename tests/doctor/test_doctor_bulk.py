"""The bulk loader's prerequisites: an S3 prefix that can be written, and an API that answers."""

from typing import Any

from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.doctor import bulk
from lineage_merge.sources.diagnosis import Diagnosis
from tests.http_server import receiving
from tests.s3_fixtures import S3

ROLE = "arn:aws:iam::111122223333:role/neptune-loader"


def found(url: str, s3: str = "s3://lineage/bulk", **more: Any) -> dict[str, Diagnosis]:
    loader = {
        "s3": s3,
        "role_arn": ROLE,
        "endpoint": url.replace("ws://", "http://").removesuffix("/gremlin"),
    }
    graph = {"endpoint": url, "region": "us-east-1", "bulk": loader, **more}
    settings = {"dag_name": "daily", "environment": "dev", "gremlin": graph}
    return {each.check: each for each in bulk.examine(CONFIGURATION.parse(settings, needs_source=False))}


def test_an_available_prefix_and_loader_pass_and_no_object_remains(s3: S3) -> None:
    s3.put("lineage", "other.txt", "stays")

    with receiving(lambda _: (200, {"status": "200 OK", "payload": {"loadIds": []}})) as server:
        findings = found(server.gremlin_url)

    assert {check: each.state for check, each in findings.items()} == {
        "bulk files": "ok",
        "bulk loader": "ok",
    }
    left = s3.client.list_objects_v2(Bucket="lineage")["Contents"]
    assert [each["Key"] for each in left] == ["other.txt"]


def test_a_missing_bucket_and_a_denied_loader_are_distinguished(s3: S3) -> None:
    denied = {"code": "AccessDeniedException", "detailedMessage": "not authorized"}
    with receiving(lambda _: (403, denied)) as server:
        findings = found(server.gremlin_url, "s3://no-such-bucket/bulk")

    assert {check: each.state for check, each in findings.items()} == {
        "bulk files": "failed",
        "bulk loader": "failed",
    }
    assert "no such bucket" in findings["bulk files"].message
    assert "ListLoaderJobs" in findings["bulk loader"].fix


def test_denied_writes_name_the_permissions(s3: S3) -> None:
    s3.put("lineage", "other.txt", "stays")
    s3.refuse_strangers()

    with receiving(lambda _: (200, {"status": "200 OK", "payload": {"loadIds": []}})) as server:
        files = found(server.gremlin_url)["bulk files"]

    assert (files.state, files.exit_code) == ("failed", 3)
    assert "s3:PutObject" in files.fix


def test_without_bulk_loads_nothing_is_checked() -> None:
    findings = found("ws://127.0.0.1:1/gremlin", mode="gremlin")

    assert {each.state for each in findings.values()} == {"skipped"}
