"""Events posted to a server that checks requests as DataZone's service model does; assets; files; doctor."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml
from botocore.session import get_session

from lineage_merge.exporters.datazone import EXPORTER, doctor
from lineage_merge.exporters.datazone.assets import Names, Table, parse_arn
from lineage_merge.exporters.exporter import Export, ExportResult
from lineage_merge.exporters.registry import validate_settings
from lineage_merge.model.errors import ConfigError, ExportDenied, ExportError, ExportUnreachable
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.graph import LineageGraph
from tests.command_line import in_process
from tests.doctor.diagnosing import examine
from tests.exporters.openlineage_schemas import problems
from tests.http_server import Answer, Request, receiving
from tests.iam_policy import needs
from tests.lineage_made import MadeLineage
from tests.test_deploy_actions import refused

Json = dict[str, Any]
DOMAIN = "dzd_4abcdefghijklm"
PROJECT = "5w2evsosqwud8h"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
GLUE = "arn:aws:glue:eu-west-1:111122223333"
REDSHIFT = "redshift://wh.eu-west-1:5439"
SERVERLESS = "arn:aws:redshift-serverless:eu-west-1:111122223333:table/wh/dw/public"
_MODEL = get_session().get_service_model("datazone")


@dataclass
class DataZone:
    """A domain: events by client token, assets in pages of two, and what it refuses, by job."""

    assets: list[str] = field(default_factory=list)
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    denied: str = ""
    denial: str = "AccessDeniedException"
    throttled: int = 0
    failed: dict[str, datetime] = field(default_factory=dict)  # when they were posted
    events: dict[str, Json] = field(default_factory=dict)
    posted: int = 0
    operations: set[str] = field(default_factory=set)

    def __call__(self, request: Request) -> Answer:
        path, _, query = request.path.partition("?")
        assert path.startswith(f"/v2/domains/{DOMAIN}/")
        operation = {"POST lineage/events": "PostLineageEvent", "POST search": "Search"}.get(
            f"{request.method} {path.removeprefix(f'/v2/domains/{DOMAIN}/')}", "ListLineageEvents"
        )
        self.operations.add(operation)
        if operation == self.denied:
            return 403, {"__type": self.denial, "message": f"no {operation}"}
        if operation == "PostLineageEvent":
            return self._post(request)
        if operation == "Search":
            return self._search(request.body)
        asked = parse_qs(query)
        assert asked["processingStatus"] == ["FAILED"]
        items = [
            {
                "id": "a" * 14,
                "createdAt": created.isoformat(),
                "eventSummary": {"openLineageRunEventSummary": {"job": {"name": job}}},
            }
            for job, created in self.failed.items()
        ]
        first = int(asked.get("nextToken", ["0"])[0])
        more = {"nextToken": str(first + 2)} if len(items) > first + 2 else {}
        return 200, {"items": items[first : first + 2], **more} if items else {}

    def _post(self, request: Request) -> Answer:
        if self.throttled:
            self.throttled -= 1
            return 429, {"__type": "ThrottlingException", "message": "Rate exceeded"}
        shape = _MODEL.operation_model("PostLineageEvent").input_shape
        assert shape
        members = shape.members
        token = request.headers["client-token"]
        assert re.fullmatch(members["clientToken"].metadata["pattern"], token)
        assert len(token) <= members["clientToken"].metadata["max"]
        assert len(request.data) <= members["event"].metadata["max"]
        event = request.body
        assert problems(event) == []
        assert event["eventType"] == "COMPLETE"
        self.posted += 1
        if event["job"]["name"] in self.refused:
            status, code = self.refused[event["job"]["name"]]
            return status, {"__type": code, "message": "bad event"}
        assert self.events.setdefault(token, event) == event
        return 200, {"id": "abcdefghijklmn", "domainId": DOMAIN}

    def _search(self, asked: Json) -> Answer:
        assert asked["searchScope"] == "ASSET"
        start = int(asked.get("nextToken", 0))
        items = [
            {
                "assetItem": {
                    "domainId": DOMAIN,
                    "identifier": f"asset{number}",
                    "name": "table",
                    "typeIdentifier": "amazon.datazone.GlueTableAssetType",
                    "typeRevision": "1",
                    "externalIdentifier": identifier,
                    "owningProjectId": PROJECT,
                }
            }
            for number, identifier in enumerate(self.assets)
        ]
        more = {"nextToken": str(start + 2)} if start + 2 < len(items) else {}
        return 200, {"items": items[start : start + 2], **more}

    def job(self, name: str) -> Json:
        (found,) = (event for event in self.events.values() if event["job"]["name"] == name)
        return found


@pytest.fixture
def datazone(monkeypatch: pytest.MonkeyPatch, s3_url: str) -> Iterator[DataZone]:
    """A domain at the address that boto3 uses."""
    found = DataZone()
    with receiving(found) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", server.url)
        yield found


def send(graph: LineageGraph, *, dry_run: bool = False, at: datetime = NOW, **settings: Any) -> ExportResult:
    return EXPORTER.send(Export(graph, {"domain": DOMAIN, **settings}, at=at, dry_run=dry_run))


def lineage() -> MadeLineage:
    """S3 to a Glue table behind a path, to Redshift."""
    made = MadeLineage().flow(f"s3://raw|sales > s3://lake|sales > {REDSHIFT}|dw.public.sales")
    made.dataset("s3://lake|sales", "daily", aliases=[f"{GLUE}|table/lake/sales (table stored at a path)"])
    made.columns("s3://raw|sales.id > s3://lake|sales.id", transformation="IDENTITY")
    made.columns(f"s3://lake|sales.id > {REDSHIFT}|dw.public.sales.sale", transformation="IDENTITY")
    made.columns(f"s3://lake|sales.day > {REDSHIFT}|dw.public.sales", transformation="FILTER")
    return made


def names(event: Json) -> set[tuple[str, str]]:
    """Return the names of all datasets of an event, also those of columns."""
    found = [*event["inputs"], *event["outputs"]]
    for output in event["outputs"]:
        facet = output["facets"].get("columnLineage", {})
        found += [each for value in facet.get("fields", {}).values() for each in value["inputFields"]]
        found += facet.get("dataset", [])
    return {(each["namespace"], each["name"]) for each in found}


LOAD = "daily.spark.load"
LOAD_OF_TICKIT = "tickit_daily.spark.tickit_sales_load"
TO_LAKE, TO_WAREHOUSE = f"{LOAD}.s3://lake/sales", f"{LOAD}.dw.public.sales"


def test_datasets_have_the_names_of_the_assets(datazone: DataZone) -> None:
    datazone.assets = [
        "arn:aws:s3:::bucket/x",
        f"{GLUE}:table/lake/other.{PROJECT}",
        f"{GLUE}:table/lake/sales.{PROJECT}",
        f"{SERVERLESS}/sales",
    ]
    result = send(lineage().graph())

    glue = (f"{GLUE}:table", "lake/sales")
    warehouse = "redshift://wh.111122223333.eu-west-1.redshift-serverless.amazonaws.com:5439"
    assert names(datazone.job(TO_LAKE)) == {("s3://raw", "sales"), glue}
    assert names(datazone.job(TO_WAREHOUSE)) == {glue, (warehouse, "dw.public.sales")}
    assert result.destination == DOMAIN
    assert result.counts["events"] == 2
    assert result.counts["datasets"] == 3
    assert result.lists == {
        "datasets without an asset": ("s3://raw sales",),
        "datasets with several assets": (),
    }


def test_without_assets_a_glue_table_has_its_arn_and_others_the_configured_namespace(
    datazone: DataZone,
) -> None:
    host = "redshift://wh.444455556666.eu-west-1.redshift.amazonaws.com:5439"
    result = send(lineage().graph(), assets=False, namespaces={REDSHIFT: host})

    assert names(datazone.job(TO_WAREHOUSE)) == {(f"{GLUE}:table", "lake/sales"), (host, "dw.public.sales")}
    assert result.lists == {}


def test_several_assets_are_reported_and_none_is_chosen(datazone: DataZone) -> None:
    datazone.assets = [f"{SERVERLESS}/sales", f"{SERVERLESS}/sales".replace("111122223333", "444455556666")]
    result = send(lineage().graph())

    assert (REDSHIFT, "dw.public.sales") in names(datazone.job(TO_WAREHOUSE))
    assert result.lists["datasets with several assets"] == (f"{REDSHIFT} dw.public.sales",)


@pytest.mark.parametrize(
    ("namespace", "name", "asset", "expected"),
    [
        (GLUE, "table/lake/t", f"{GLUE}:table/lake/t", (f"{GLUE}:table", "lake/t")),
        (GLUE, "table/lake/T", f"{GLUE}:table/lake/t", (f"{GLUE}:table", "lake/t")),
        (
            "awsathena://athena.eu-west-1.amazonaws.com:443",
            "AwsDataCatalog.lake.t",
            f"{GLUE}:table/lake/t",
            (f"{GLUE}:table", "lake/t"),
        ),
        ("awsathena://athena.us-east-1.amazonaws.com", "AwsDataCatalog.lake.t", f"{GLUE}:table/lake/t", None),
        (
            "redshift://c.abc123.us-east-1.redshift.amazonaws.com:5440",
            "dw.public.v",
            "arn:aws:redshift:us-east-1:111122223333:view/c/dw/public/v",
            ("redshift://c.111122223333.us-east-1.redshift.amazonaws.com:5440", "dw.public.v"),
        ),
        (
            "redshift://c.cn-north-1:5439",
            "dw.public.t",
            "arn:aws-cn:redshift:cn-north-1:111122223333:table/c/dw/public/t",
            ("redshift://c.111122223333.cn-north-1.redshift.amazonaws.com.cn:5439", "dw.public.t"),
        ),
        (
            "redshift://c.222233334444.us-east-1.redshift.amazonaws.com:5439",
            "dw.public.t",
            "arn:aws:redshift:us-east-1:111122223333:table/c/dw/public/t",
            None,
        ),
        (
            "redshift://c.abc123.us-east-1.redshift.amazonaws.com:5439",
            "dw.public.t",
            "arn:aws:redshift-serverless:us-east-1:111122223333:table/c/dw/public/t",
            None,
        ),
        ("snowflake://acct", "dw.public.t", f"{GLUE}:table/public/t", None),
    ],
)
def test_names_of_platforms(namespace: str, name: str, asset: str, expected: tuple[str, str] | None) -> None:
    table = parse_arn(asset)
    assert isinstance(table, Table)
    renamed = Names({}, [table])
    event = renamed.rename({"inputs": [{"namespace": namespace, "name": name}], "outputs": []})
    assert names(event) == {expected or (namespace, name)}
    assert renamed.missing == (set() if expected else {(namespace, name)})


def test_a_repeated_export_has_no_effect(datazone: DataZone) -> None:
    for hour in (0, 5):
        send(lineage().graph(), at=NOW + timedelta(hours=hour))
    assert (datazone.posted, len(datazone.events)) == (4, 2)

    send(lineage().graph(), at=NOW + timedelta(days=1))
    assert len(datazone.events) == 4  # no run of these jobs is known: their events are of a day


def test_a_large_job_is_posted_in_parts(datazone: DataZone) -> None:
    made = MadeLineage().flow("s3://a|a > s3://b|b")
    for number in range(600):
        made.columns(
            f"s3://a|a.column{number} > s3://b|b.column{number}",
            transformation="TRANSFORMATION",
            expression="é" * 400,
        )
    result = send(made.graph())

    fields = [each["outputs"][0]["facets"]["columnLineage"]["fields"] for each in datazone.events.values()]
    assert result.counts["split events"] == 1
    assert result.counts["events"] == len(fields) > 1
    assert result.counts["bytes of the largest event"] <= 300_000
    assert {column for each in fields for column in each} == {f"column{number}" for number in range(600)}


def test_a_job_with_a_known_run_has_one_event_of_that_run(datazone: DataZone) -> None:
    made = MadeLineage().flow("a > b")
    (job,) = (row for row in made.nodes.values() if row["label"] == "job")
    job |= {"last_run_id": "1", "last_run_at": 1_763_000_000_000, "status": "succeeded"}
    for day in (0, 1):
        send(made.graph(), at=NOW + timedelta(days=day))
    (event,) = datazone.events.values()
    assert event["eventTime"] == "2025-11-13T02:13:20.000+00:00"

    job["status"] = "failed"  # the lineage is that of an earlier run
    send(made.graph())
    assert [each["eventTime"] for each in datazone.events.values()][1:] == ["2026-11-21T00:00:00.000+00:00"]


@pytest.mark.jvm
def test_checks_and_removed_jobs_have_no_events(datazone: DataZone, tickit: LineageGraph) -> None:
    send(tickit, assets=False)
    assert {f"{LOAD_OF_TICKIT}.dev.public.sales"} < {each["job"]["name"] for each in datazone.events.values()}
    assert [each["job"]["name"] for each in datazone.events.values() if not each["outputs"]] == []

    before, after = lineage().graph(), MadeLineage().flow("s3://raw|sales > s3://lake|sales").graph()
    datazone.events.clear()
    EXPORTER.send(Export(after, {"domain": DOMAIN}, at=NOW, before=before))
    assert [each["job"]["name"] for each in datazone.events.values()] == [LOAD]
    datazone.events.clear()
    EXPORTER.send(Export(MadeLineage().graph(), {"domain": DOMAIN}, at=NOW, before=before))
    assert datazone.events == {}


def test_the_policy_allows_what_an_export_and_doctor_call(datazone: DataZone) -> None:
    send(lineage().graph())
    list(doctor.examine({"domain": DOMAIN}))
    wanted = [
        need
        for operation in sorted(datazone.operations)
        for need in needs("datazone", operation, {"domainIdentifier": DOMAIN})
    ]
    assert len(wanted) == 3
    assert refused("datazone_export", wanted) == []


def test_throttled_requests_are_repeated(datazone: DataZone) -> None:
    datazone.throttled = 2
    assert send(lineage().graph()).counts["events"] == 2
    assert len(datazone.events) == 2


def test_a_rejected_event_does_not_stop_the_others(datazone: DataZone) -> None:
    datazone.refused = {TO_WAREHOUSE: (400, "ValidationException")}
    with pytest.raises(ExportError) as raised:
        send(lineage().graph())

    assert len(datazone.events) == 1
    assert raised.value.message == (
        "1 events failed, 1 were accepted; repeat the export when corrected: "
        f"{TO_WAREHOUSE}: DataZone {DOMAIN}: ValidationException: bad event"
    )
    datazone.refused = {}
    assert send(lineage().graph()).counts["events"] == 2
    assert len(datazone.events) == 2


@pytest.mark.parametrize("operation", ["PostLineageEvent", "Search"])
def test_missing_permissions_name_the_action(datazone: DataZone, operation: str) -> None:
    datazone.denied = operation
    with pytest.raises(ExportDenied, match=f"AccessDeniedException: allow datazone:{operation}"):
        send(lineage().graph())


def test_rejected_credentials_need_other_ones(datazone: DataZone) -> None:
    datazone.denied, datazone.denial = "Search", "ExpiredTokenException"
    with pytest.raises(ExportDenied, match="ExpiredTokenException: attach a role, run aws sso login"):
        send(lineage().graph())


def test_an_unknown_domain_ends_the_export_at_once(datazone: DataZone) -> None:
    datazone.refused = {
        TO_WAREHOUSE: (404, "ResourceNotFoundException"),
        TO_LAKE: (404, "ResourceNotFoundException"),
    }
    with pytest.raises(ExportUnreachable, match="0 events were accepted before; repeat the export"):
        send(lineage().graph(), assets=False)
    assert datazone.posted == 1


def test_a_dry_run_reads_assets_and_posts_nothing(datazone: DataZone, tmp_path: Path) -> None:
    folder = lineage().folder(tmp_path / "graph")
    datazone.assets = [f"{SERVERLESS}/sales"]
    done = in_process(
        "export", "--to", "datazone", "--domain", DOMAIN, "--dry-run", "--folder", folder, "--json"
    )

    assert done.code == 0, done.err
    outcome = json.loads(done.out)
    assert outcome["destination"] == "dry run, nothing was sent"
    assert outcome["counts"]["events"] == 2
    assert outcome["datasets_without_an_asset"] == ["s3://lake sales", "s3://raw sales"]
    assert datazone.events == {}

    printed = in_process("export", "--to", "datazone", "--domain", DOMAIN, "--dry-run", "--folder", folder)
    assert printed.out.splitlines()[1:] == [
        "datasets without an asset:",
        "  s3://lake sales",
        "  s3://raw sales",
    ]


def test_a_file_gets_what_would_be_posted(datazone: DataZone, tmp_path: Path) -> None:
    folder, file = lineage().folder(tmp_path / "graph"), tmp_path / "events.jsonl"
    config = tmp_path / "lineage_merge.yml"
    settings = {"dag_name": "daily", "environment": "dev", "spline": {"export": "x"}}
    config.write_text(yaml.safe_dump({**settings, "exporters": {"datazone": {"domain": DOMAIN}}}))
    done = in_process("export", "--to", "datazone", "--out", file, "--folder", folder, "-c", config)
    assert done.code == 0, done.err
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert [problems(event) for event in written] == [[], []]
    assert datazone.events == {}


def test_a_typed_domain_takes_precedence_over_a_configured_file(datazone: DataZone, tmp_path: Path) -> None:
    folder, file = lineage().folder(tmp_path / "graph"), tmp_path / "events.jsonl"
    config = tmp_path / "lineage_merge.yml"
    settings = {"dag_name": "daily", "environment": "dev", "spline": {"export": "x"}}
    config.write_text(yaml.safe_dump({**settings, "exporters": {"datazone": {"out": str(file)}}}))
    done = in_process("export", "--to", "datazone", "--domain", DOMAIN, "--folder", folder, "-c", config)
    assert done.code == 0, done.err
    assert len(datazone.events) == 2
    assert not file.exists()


def test_other_exporters_have_no_dry_run(tmp_path: Path) -> None:
    done = in_process("export", "--to", "dot", "--dry-run", "--folder", lineage().folder(tmp_path / "graph"))
    assert (done.code, "--to dot has no --dry-run" in done.err) == (2, True)


@pytest.mark.parametrize("domain", ["", "4abc", "dzd_", "dzd_a/b", "dzd_" + "a" * 37])
def test_an_invalid_domain_is_a_configuration_error(domain: str) -> None:
    with pytest.raises(ConfigError, match=r"exporters\.datazone\.domain: .*dzd_"):
        validate_settings({"datazone": {"domain": domain}})


def test_a_missing_region_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch, s3_url: str) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(ConfigError, match=r"exporters\.datazone\.region: not set"):
        send(lineage().graph())


def test_doctor_reads_events_and_assets(datazone: DataZone) -> None:
    config = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "exporters": {"datazone": {"domain": DOMAIN}}},
        needs_source=False,
    )
    datazone.assets = [f"{SERVERLESS}/sales"]
    assert [each.state for each in examine("datazone", config)] == ["ok", "ok"]

    today = datetime.now(UTC)
    datazone.assets = []
    ages = {"daily.spark.load": 1, "daily.spark.a": 2, "daily.spark.b": 3, "corrected": 8}
    datazone.failed = {job: today - timedelta(days=days) for job, days in ages.items()}
    events, assets = examine("datazone", config)
    assert (events.state, assets.state) == ("warning", "warning")
    shown = "daily.spark.a, daily.spark.b, daily.spark.load"
    assert f"3 events of the last 7 days could not be processed: {shown}" in events.message

    datazone.denied = "Search"
    (_, denied) = examine("datazone", config)
    assert (denied.state, denied.exit_code) == ("failed", 11)
    assert denied.fix == "attach deploy/iam/datazone_export.json to the role"
