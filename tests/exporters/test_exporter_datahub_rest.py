"""Proposals sent to a server that speaks as DataHub's metadata service (GMS) does."""

import json
import logging
import socket
from pathlib import Path
from typing import Any

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.serialization_helper import post_json_transform
from urllib3.util.retry import Retry

from lineage_merge.exporters.datahub import EXPORTER
from lineage_merge.exporters.exporter import Export
from lineage_merge.model.errors import ConfigError, ExportDenied, ExportError, ExportUnreachable
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.graph import LineageGraph
from tests.command_line import in_process
from tests.http_server import Answer, Receiver, Request, receiving
from tests.lineage_made import MadeLineage

TOKEN = "a-secret-token"
BATCH = "/aspects?action=ingestProposalBatch"


def gms(request: Request) -> Answer:
    if request.headers.get("authorization") != f"Bearer {TOKEN}":
        return 401, {"message": "Unauthorized"}
    if request.path == "/config":
        return 200, {"noCode": "true", "versions": {"acryldata/datahub": {"version": "v1.2.0"}}}
    return (200, {"value": "ok"}) if request.path == BATCH else (404, {"message": "no such resource"})


@pytest.fixture
def made(tmp_path: Path) -> LineageGraph:
    lineage = MadeLineage().flow("a > b > c")
    lineage.dataset("c", "daily", tags=["gold"])
    lineage.columns("a.x > b.y", transformation="TRANSFORMATION", expression="cast(x as int)")
    return read_folder(lineage.folder(tmp_path / "made"))


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    monkeypatch.delenv("DATAHUB_GMS_TOKEN", raising=False)


def send(graph: LineageGraph, server: Receiver, **settings: str) -> dict[str, int]:
    given = {"url": server.url, "token_env": "MY_TOKEN", **settings}
    return dict(EXPORTER.send(Export(graph, given)).counts)


def stored_aspects(requests: list[Request]) -> dict[tuple[str, str], Any]:
    """Return the aspects that GMS would store, parsed by the library."""
    found: dict[tuple[str, str], Any] = {}
    for request in requests:
        for proposal in request.body["proposals"]:
            key = (proposal["entityUrn"], proposal["aspectName"])
            if proposal["changeType"] == "PATCH":
                found[key] = json.loads(proposal["aspect"]["value"])["patch"]
                continue
            read = MetadataChangeProposalWrapper.from_obj(post_json_transform(proposal))
            assert isinstance(read, MetadataChangeProposalWrapper)
            assert read.validate()
            found[key] = read.aspect
    return found


def urn(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:redshift,{name},DEV)"


def job(name: str) -> str:
    return f"urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,dev),{name})"


def test_all_aspects_are_sent_with_the_token(made: LineageGraph) -> None:
    with receiving(gms) as server:
        counts = send(made, server)
    sent = [each for each in server.requests if each.method != "GET"]
    assert {each.headers["authorization"] for each in server.requests} == {f"Bearer {TOKEN}"}
    found = stored_aspects(sent)
    assert counts == {"datasets": 3, "DAGs": 1, "jobs": 1, "aspects": len(found)}
    about = {
        (urn(name), aspect) for name in "abc" for aspect in ("datasetProperties", "subTypes", "status")
    } | {(urn(name), "schemaMetadata") for name in "ab"}
    flow = "urn:li:dataFlow:(airflow,daily,dev)"
    of_job = {(job("spark.load"), each) for each in ("dataJobInfo", "dataJobInputOutput", "status")}
    lineage = {(urn("b"), "upstreamLineage"), (urn("c"), "upstreamLineage"), (urn("c"), "globalTags")}
    assert set(found) == about | of_job | lineage | {(flow, "dataFlowInfo"), (flow, "status")}
    (fine,) = found[urn("b"), "upstreamLineage"].fineGrainedLineages
    assert (fine.upstreams, fine.downstreams, fine.transformOperation) == (
        [f"urn:li:schemaField:({urn('a')},x)"],
        [f"urn:li:schemaField:({urn('b')},y)"],
        "TRANSFORMATION: cast(x as int)",
    )
    (patch,) = found[urn("c"), "globalTags"]
    assert patch["value"]["tag"] == "urn:li:tag:gold"


def test_requests_are_retried_while_the_server_is_busy(
    made: LineageGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Retry, "sleep", lambda *_: None)
    busy = [503, 429]

    def answer(request: Request) -> Answer:
        if request.path == BATCH and busy:
            return busy.pop(), {"message": "busy"}
        return gms(request)

    with receiving(answer) as server:
        counts = send(made, server)
    sent = [each.body for each in server.requests if each.path == BATCH]
    assert busy == []
    assert len(sent) == 3
    assert sent[0] == sent[2]
    assert counts["aspects"] == len(sent[2]["proposals"])


def test_a_rejected_token_is_not_shown(made: LineageGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "another-token")
    with receiving(gms) as server, pytest.raises(ExportDenied) as raised:
        send(made, server)
    assert raised.value.message == f"DataHub at {server.url} rejects the token (status 401)"


def test_the_servers_error_message_is_one_line(made: LineageGraph) -> None:
    def answer(request: Request) -> Answer:
        if request.path == BATCH:
            said = {"message": "Failed to validate record:\n  /upstreams", "stackTrace": "at com.x\nat com.y"}
            return 422, said
        return gms(request)

    with receiving(answer) as server, pytest.raises(ExportError) as raised:
        send(made, server)
    assert "status 422" in raised.value.message
    assert "Failed to validate record: /upstreams" in raised.value.message
    assert "\n" not in raised.value.message
    assert "com.x" not in raised.value.message


def test_a_server_that_is_not_gms_is_reported(made: LineageGraph) -> None:
    with receiving(lambda _: (200, {})) as server, pytest.raises(ExportError, match="frontend"):
        send(made, server)


def test_an_unreachable_server_is_reported(made: LineageGraph) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ExportUnreachable, match=f"DataHub at {url}: no connection"):
            EXPORTER.send(Export(made, {"url": url}))


def test_the_token_is_not_logged(made: LineageGraph, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("datahub", "datahub.emitter.rest_emitter", "urllib3"):
        caplog.set_level(logging.DEBUG, logger=name)

    def answer(request: Request) -> Answer:
        return (400, {"message": "no"}) if request.path == BATCH else gms(request)

    with receiving(answer) as server, pytest.raises(ExportError):
        send(made, server, token_env="MY_TOKEN")
    assert TOKEN not in caplog.text


def test_an_unset_token_variable_is_a_configuration_error(made: LineageGraph) -> None:
    with pytest.raises(ConfigError) as raised:
        EXPORTER.send(Export(made, {"url": "http://127.0.0.1:1", "token_env": "NO_SUCH_TOKEN"}))
    assert raised.value.key == "exporters.datahub.token_env"
    assert "NO_SUCH_TOKEN" not in raised.value.message


def test_datahubs_own_token_variable_is_the_default(
    made: LineageGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", TOKEN)
    with receiving(gms) as server:
        assert EXPORTER.send(Export(made, {"url": server.url})).counts["datasets"] == 3


@pytest.mark.parametrize("url", ["http://me:secret@gms:8080", "gms:8080", "http://gms:8080/ x"])
def test_invalid_addresses_are_rejected_and_not_shown(url: str, tmp_path: Path) -> None:
    folder = MadeLineage().flow("a > b").folder(tmp_path / "made")
    outcome = in_process("export", "--to", "datahub", "--url", url, "--folder", folder)
    assert outcome.code == 2
    assert "exporters.datahub.url: must be http://host:port" in outcome.err
    assert "secret" not in outcome.err


def test_the_command_prints_counts_and_exits_with_11_on_failure(tmp_path: Path) -> None:
    folder = MadeLineage().flow("a > b").folder(tmp_path / "made")
    with receiving(gms) as server:
        words = ("export", "--to", "datahub", "--folder", folder, "--url", server.url, "--json")
        done = in_process(*words, "--token-env", "MY_TOKEN", MY_TOKEN=TOKEN)
        refused = in_process(*words)
    exported = json.loads(done.out)
    assert (done.code, exported["to"], exported["destination"]) == (0, "datahub", server.url)
    assert exported["counts"] == {"datasets": 2, "DAGs": 1, "jobs": 1, "aspects": 12}
    assert (refused.code, refused.out) == (11, "")
    assert refused.err == f"error: DataHub at {server.url} rejects the token (status 401)\n"
