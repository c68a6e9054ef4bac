"""The graph as the doctor sees it: real Gremlin Servers, some of them set up wrongly."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge import config
from lineage_merge.infra.embedded import process
from lineage_merge.infra.embedded.jars import gremlin_jars
from lineage_merge.infra.embedded.java import find_java
from lineage_merge.load.gremlin import configured_endpoint
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.doctor import gremlin, neptune
from lineage_merge.sources.diagnosis import Diagnosis
from tests.http_server import receiving
from tests.load.neptune_proxy import Answer, neptune_proxy
from tests.load.sigv4 import Keys, Refused, Request, verify

SECRET = "hunter2-the-password"


def found(url: str, **more: Any) -> dict[str, Diagnosis]:
    graph = {"endpoint": url, **more}
    of = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "gremlin": graph}, needs_source=False
    )
    by_check = {each.check: each for each in gremlin.examine(of)}
    assert SECRET not in str(by_check)
    return by_check


def states(findings: dict[str, Diagnosis]) -> dict[str, str]:
    return {check: each.state for check, each in findings.items()}


REGION = "eu-west-1"


def believing(secret: str) -> Callable[[Request], tuple[int, str] | None]:
    """A gate that lets in who signed with this secret."""

    def gate(request: Request) -> tuple[int, str] | None:
        try:
            verify(request, lambda _key: Keys(secret), REGION, "neptune-db", datetime.now(UTC))
        except Refused as refused:
            return 403, str(refused)
        return None

    return gate


@pytest.mark.jvm
def test_a_signed_connection_passes_and_a_wrong_key_fails(
    gremlin: GraphTraversalSource, gremlin_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with neptune_proxy(gremlin_url, believing("testing")) as proxy:
        good = found(proxy.url, iam_auth=True, region=REGION)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        bad = found(proxy.url, iam_auth=True, region=REGION)

    assert good["graph signing"].message == "for eu-west-1, with the credentials of this machine"
    assert set(states(good).values()) == {"ok"}
    assert (bad["graph signing"].state, bad["graph connection"].state) == ("ok", "failed")
    assert "deploy/iam" in bad["graph connection"].fix


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("code", "fix"),
    [("ReadOnlyViolationException", "writer"), ("AccessDeniedException", "WriteDataViaQuery")],
)
def test_neptunes_errors_of_denied_writes_have_a_fix(
    gremlin: GraphTraversalSource, gremlin_url: str, code: str, fix: str
) -> None:
    def refusing(request: bytes) -> Answer | None:
        return Answer(code) if b"mergeV" in request else None

    with neptune_proxy(gremlin_url, choose_fault=refusing) as proxy:
        findings = found(proxy.url)

    assert (findings["graph read"].state, findings["graph write"].state) == ("ok", "failed")
    assert fix in findings["graph write"].fix
    assert findings["graph delete"].state == "skipped"


@pytest.mark.jvm
def test_the_probe_is_deleted_after_a_lost_response(gremlin: GraphTraversalSource, gremlin_url: str) -> None:
    def losing(request: bytes) -> Literal["close after"] | None:
        return "close after" if b"mergeE" in request else None

    with neptune_proxy(gremlin_url, choose_fault=losing) as proxy:
        findings = found(proxy.url)

    assert (findings["graph write"].state, findings["graph delete"].state) == ("failed", "ok")
    assert gremlin.V().count().next() == 0


@contextmanager
def server_with(monkeypatch: pytest.MonkeyPatch, file: str, old: str, new: str) -> Iterator[str]:
    """A Gremlin Server of which one setting differs from the embedded one's."""
    write_settings = process.write_settings

    def write(directory: Path, *given: Any) -> Path:
        written = write_settings(directory, *given)
        for script in process._SOURCES.glob("*.groovy"):
            (directory / script.name).write_text(script.read_text())
        monkeypatch.setattr(process, "_SOURCES", directory)
        text = (directory / file).read_text()
        assert old in text
        (directory / file).write_text(text.replace(old, new))
        return written

    monkeypatch.setattr(process, "write_settings", write)
    java = find_java()
    settings = process.Settings("127.0.0.1", process.free_port("127.0.0.1"), heap="256m")
    server = process.ServerProcess(java, gremlin_jars(lambda _: None), settings, None)
    try:
        yield server.url
    finally:
        server.stop()


@pytest.mark.jvm
def test_a_graph_like_neptunes_passes_and_stays_unchanged(
    gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    gremlin.add_v("file").to_list()

    findings = found(gremlin_url)

    assert set(states(findings).values()) == {"ok"}
    assert findings["graph version"].message.startswith("TinkerPop 3.7")
    assert findings["graph read"].message == "a graph with vertices"
    assert gremlin.V().label().to_list() == ["file"]
    assert gremlin.E().count().next() == 0


@pytest.mark.jvm
def test_a_graph_whose_properties_default_to_lists_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    with server_with(monkeypatch, "graph.properties", "Cardinality=set", "Cardinality=list") as url:
        findings = found(url)

    assert findings["graph cardinality"].state == "warning"
    assert "the default is list" in findings["graph cardinality"].message
    assert {state for check, state in states(findings).items() if check != "graph cardinality"} == {"ok"}


@pytest.mark.jvm
def test_a_graph_with_numeric_ids_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with server_with(monkeypatch, "graph.properties", "vertexIdManager=ANY", "vertexIdManager=LONG") as url:
        findings = found(url)

    assert findings["graph write"].state == "failed"
    assert findings["graph write"].exit_code == 5
    assert findings["graph ids"].state == "skipped"


@pytest.mark.jvm
def test_a_read_only_graph_refers_to_the_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = "org.apache.tinkerpop.gremlin.process.traversal.strategy.verification.ReadOnlyStrategy"
    bound = "new SourceWithoutFiles(graph)"
    read_only = f"{bound}.withStrategies({strategy}.instance())"
    with server_with(monkeypatch, "gremlin_server.groovy", bound, read_only) as url:
        findings = found(url)

    assert findings["graph read"].state == "ok"
    assert findings["graph write"].state == "failed"
    assert "writer" in findings["graph write"].fix
    assert findings["graph delete"].state == "skipped"


def test_a_missing_connection_is_reported_once_and_within_seconds() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused = found(f"ws://admin:{SECRET}@127.0.0.1:{closed.getsockname()[1]}/gremlin")
    with socket.create_server(("127.0.0.1", 0)) as no_progress:
        started = time.monotonic()
        hung = found(f"ws://127.0.0.1:{no_progress.getsockname()[1]}/gremlin", timeout_seconds=1)
        assert time.monotonic() - started < 20

    for findings in (refused, hung):
        assert states(findings).pop("graph connection") == "failed"
        assert set(list(states(findings).values())[1:]) == {"skipped"}
        assert "8182" in findings["graph connection"].fix


STATUS = {
    "status": "healthy",
    "dbEngineVersion": "1.4.1.0.R3",
    "role": "writer",
    "gremlin": {"version": "tinkerpop-3.7.1"},
}


def test_a_rejected_handshake_refers_to_iam_authentication() -> None:
    with receiving(lambda _: (403, {"detailedMessage": "Missing Authentication Token"})) as server:
        connection = found(server.gremlin_url)["graph connection"]

    assert (connection.state, connection.exit_code) == ("failed", 5)
    assert "gremlin.iam_auth" in connection.fix


def test_requests_of_neptunes_status_page_are_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with receiving(lambda _: (200, STATUS)) as pages:
        graph = config.Gremlin(pages.gremlin_url, timeout_seconds=2, iam_auth=True, region="eu-west-1")
        server = neptune.server_behind(configured_endpoint.endpoint(graph))

    assert server == neptune.Server("Neptune 1.4.1.0.R3, tinkerpop-3.7.1, writer", (3, 7), "writer")
    request = pages.requests[0]
    assert "/eu-west-1/neptune-db/aws4_request" in request.headers["authorization"]


@pytest.mark.parametrize(
    ("status", "state", "message"),
    [
        (STATUS, "ok", "Neptune 1.4.1.0.R3"),
        (STATUS | {"role": "reader"}, "failed", "read-only"),
        (
            STATUS | {"dbEngineVersion": "1.2.1.0", "gremlin": {"version": "tinkerpop-3.6.2"}},
            "failed",
            "older",
        ),
        (STATUS | {"gremlin": {"version": "tinkerpop-3.8.0"}}, "warning", "newer"),
        ({"dbEngineVersion": "1.4.1.0"}, "skipped", "does not report"),
    ],
)
def test_versions_and_roles_of_neptune_are_checked(status: dict[str, Any], state: str, message: str) -> None:
    finding = gremlin.version_finding(neptune.from_status(status))

    assert finding.state == state
    assert message in finding.message


def test_a_server_without_a_version_is_no_failure() -> None:
    with receiving(lambda _: (404, {})) as pages:
        server = neptune.server_behind(Endpoint(pages.gremlin_url, 2, 0))

    assert gremlin.version_finding(server).state == "skipped"


def test_an_invalid_endpoint_is_a_configuration_error() -> None:
    connection = found("wss://db.cluster-ro-abc.us-east-1.neptune.amazonaws.com:8182/gremlin")[
        "graph connection"
    ]

    assert (connection.state, connection.exit_code) == ("failed", 2)


def test_signing_without_credentials_fails_before_any_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    findings = found("wss://127.0.0.1:1/gremlin", iam_auth=True, region="us-east-1")

    assert findings["graph signing"].state == "failed"
    assert findings["graph connection"].state == "skipped"
