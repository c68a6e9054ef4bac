"""Events of DataZone and Marquez give the graph of the same events in files, however they are paged."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from lineage_merge.exporters.datazone import EXPORTER as TO_DATAZONE
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.openlineage import EXPORTER as TO_OPENLINEAGE
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.infra.input_budget import limit_input
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Count
from lineage_merge.model.errors import (
    ConfigError,
    InputTooLarge,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.preflight import check_sources
from lineage_merge.orchestration.read_sources import input_bytes
from lineage_merge.sources import aws_calls
from lineage_merge.sources.openlineage import datazone as client
from lineage_merge.sources.openlineage import marquez as marquez_client
from lineage_merge.sources.openlineage import settings
from lineage_merge.sources.openlineage.documents import moment
from lineage_merge.sources.openlineage.reader import read_openlineage
from tests.command_line import in_process
from tests.conftest import DATA
from tests.doctor.diagnosing import examine
from tests.http_server import Receiver, receiving
from tests.iam_policy import needs
from tests.lineage_made import MadeLineage
from tests.record_reading import comparable, counts_of, flows_of, problems_of
from tests.sources.openlineage.event_services import DOMAIN, DataZone, Marquez
from tests.sources.openlineage.made_events import Event, event, write_lines
from tests.test_deploy_actions import refused

Section = dict[str, Any]
IN_DATAZONE: Section = {"datazone": {"domain": DOMAIN, "region": "eu-west-1"}}
NAME = f"DataZone {DOMAIN} in eu-west-1"
CAPTURED = ("seed_queries", "tickit_sales_ingest", "tickit_sales_load", "tpch")


@pytest.fixture
def domain(datazone_port: int) -> Iterator[DataZone]:
    """A domain at the address that boto3 uses, in Spark's workers too."""
    found = DataZone()
    with receiving(found, datazone_port):
        yield found


@pytest.fixture
def marquez() -> Iterator[tuple[Marquez, Receiver]]:
    """A Marquez, and the server with its address."""
    found = Marquez()
    with receiving(found) as server:
        yield found, server


def read(section: Section, engine: Engine | None = None) -> list[Record]:
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "openlineage": section})
    resolver = dataset_resolver.from_config(config)
    return read_openlineage(engine or LocalEngine(), config, resolver).collect()


def at(server: Receiver, **others: Any) -> Section:
    return {"marquez": {"url": server.url, **others}}


def pair(run: str, day: str = "01", source: str = "a") -> list[Event]:
    """Return the events of a run: the input on START, the output on COMPLETE, within one second."""
    target = f"s3://lake|{run}"
    return [
        event("START", f"{day}T06:00", job=run, run=run, inputs=[f"s3://lake|{source}"]),
        event("COMPLETE", f"{day}T06:00", job=run, run=run, outputs=[target]),
    ]


def flow(run: str, source: str = "a") -> tuple[str, str, str]:
    return run, f"s3://lake|{source}", f"s3://lake|{run}"


# ---- the same graph


def captured(name: str) -> list[Event]:
    text = gzip.decompress((DATA / "openlineage" / "events" / f"{name}.jsonl.gz").read_bytes())
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", CAPTURED)
def test_real_events_give_the_same_records_as_in_files(
    name: str,
    each_engine: Engine,
    domain: DataZone,
    marquez: tuple[Marquez, Receiver],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marquez_client, "_PAGE", 2)
    events = captured(name)
    write_lines(tmp_path / "events.jsonl", events)
    domain.post(events)
    server, receiver = marquez
    server.events = events
    from_files = comparable(read({"events": str(tmp_path)}, each_engine))

    assert from_files
    assert comparable(read(IN_DATAZONE, each_engine)) == from_files
    assert comparable(read(at(receiver), each_engine)) == from_files
    together = {"events": str(tmp_path), **IN_DATAZONE, **at(receiver)}
    # Marquez writes times in another form, so its texts are counted beside the others.
    differing = comparable(read(together, each_engine)) - from_files
    assert list(differing) == [f'Count {{"number": {2 * len(events)}, "what": "OpenLineage events"}}']


@pytest.mark.parametrize("seed", range(8))
def test_events_of_few_times_are_all_read_from_marquez(
    seed: int, marquez: tuple[Marquez, Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marquez_client, "_PAGE", 2)
    server, receiver = marquez
    server.events = [each for number in range(5 + seed) for each in pair(f"r{number}", f"0{number % 3 + 1}")]
    server.others = [moment(each) for each in server.events for _ in range(seed)]

    assert flows_of(read(at(receiver))) == {flow(f"r{number}") for number in range(5 + seed)}


def test_events_that_arrive_while_they_are_read_are_read(marquez: tuple[Marquez, Receiver]) -> None:
    server, receiver = marquez
    server.events = [each for number in range(250) for each in pair(f"r{number}")]
    listed = settings.Marquez(receiver.url)
    (span,) = marquez_client.list_spans(listed, 0)
    found = list(marquez_client.read_events(listed, [span._replace(events=3)]))

    assert len(found) == 500
    assert server.limits[-2:] == [406, 812]


# ---- what is read


def test_only_events_of_the_lookback_and_a_day_before_are_read(domain: DataZone) -> None:
    begun = [pair("long", "08")[0], pair("long", "09")[1]]
    begun[0]["eventTime"] = "2026-11-08T12:00:00Z"
    domain.post([*pair("old", "01"), *pair("day", "08"), *begun, *pair("new", "09"), *pair("newest", "10")])

    assert flows_of(read({**IN_DATAZONE, "lookback": "1d"})) == {flow("long"), flow("new"), flow("newest")}
    assert len(domain.gets) == 6
    assert flows_of(read({**IN_DATAZONE, "runs": "since 2026-11-10"})) == {flow("newest")}
    assert len(domain.gets) == 6 + 5


def test_the_lookback_ends_at_the_newest_event_which_may_be_old(marquez: tuple[Marquez, Receiver]) -> None:
    server, receiver = marquez
    ahead = event("COMPLETE", "01T06:00", run="ahead", outputs=["s3://lake|x"])
    ahead["eventTime"] = "2150-01-01T00:00:00Z"
    server.events = [*pair("old", "01"), *pair("new", "09"), ahead]
    found = read({**at(receiver), "lookback": "1d"})

    assert flows_of(found) == {flow("new")}
    assert len([each for each in problems_of(found) if each[0] == "notice"]) == 1


def test_throttled_calls_are_repeated_and_an_event_is_read_once(domain: DataZone) -> None:
    domain.post([each for number in range(4) for each in pair(f"r{number}")])
    domain.page, domain.throttle_every, domain.repeated = 2, 9, {f"{3:014}"}

    assert flows_of(read(IN_DATAZONE)) == {flow(f"r{number}") for number in range(4)}
    assert Counter(domain.gets).most_common(1)[0][1] == 1


def test_an_event_that_was_deleted_since_it_was_listed_is_no_problem(domain: DataZone) -> None:
    domain.post([*pair("one"), *pair("two")])
    domain.deleted = {f"{0:014}", f"{1:014}"}
    found = read(IN_DATAZONE)

    assert (flows_of(found), problems_of(found)) == ({flow("two")}, set())


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        (b"{ not", "", "not JSON"),
        (b"", "", "not JSON"),
        (b"\xff\xfe", "", "not UTF-8 text (byte 0)"),
        (b"[" * 100_000, "", "not JSON"),
        (b'{"eventTime": "2026-11-01T06:00:00Z"}', "", "not an OpenLineage event"),
        (json.dumps({**pair("x")[0], "run": {}}).encode(), "run.runId", "is missing"),
    ],
)
def test_a_broken_event_is_named_and_the_others_are_read(
    domain: DataZone, body: bytes, field: str, message: str
) -> None:
    domain.post(pair("one")).post([body], at=moment(pair("one")[0]))
    found = read(IN_DATAZONE)

    assert flows_of(found) == {flow("one")}
    assert problems_of(found) == {("rejected", f"{NAME}: event {2:014}", field, message)}


def test_events_that_datazone_could_not_process_are_read_and_counted(domain: DataZone) -> None:
    domain.post([*pair("one"), *pair("two")])
    domain.failed = {f"{number:014}" for number in (0, 1)}
    found = read(IN_DATAZONE)

    assert flows_of(found) == {flow("one"), flow("two")}
    assert counts_of(found)["OpenLineage events that DataZone could not process"] == 2


def test_a_service_without_events_is_named(domain: DataZone, marquez: tuple[Marquez, Receiver]) -> None:
    _, receiver = marquez
    message = "no events since 1970-01-01 00:00 UTC"
    assert problems_of(read({**IN_DATAZONE, **at(receiver)})) == {
        ("notice", NAME, "", message),
        ("notice", f"Marquez {receiver.url}", "", message),
    }


def test_what_is_read_counts_for_the_size_of_the_input(
    domain: DataZone, marquez: tuple[Marquez, Receiver]
) -> None:
    server, receiver = marquez
    server.events = pair("one")
    domain.post(server.events)
    for section in (IN_DATAZONE, at(receiver)):
        with pytest.raises(InputTooLarge), limit_input(500):
            read(section)
        config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "openlineage": section})
        assert input_bytes(config) is None


# ---- what this project exported


def test_events_that_lineage_merge_exported_are_left_out_and_counted(
    domain: DataZone, marquez: tuple[Marquez, Receiver], tmp_path: Path
) -> None:
    graph = MadeLineage().flow("s3://raw|x > s3://lake|x > s3://mart|x").graph()
    exported: dict[str, list[Event]] = {}
    for exporter in (TO_DATAZONE, TO_OPENLINEAGE):
        file = tmp_path / f"{exporter.name}.jsonl"
        exporter.send(Export(graph, {"out": str(file)}, at=datetime(2026, 11, 1, 12, tzinfo=UTC)))
        exported[exporter.name] = [json.loads(line) for line in file.read_text().splitlines()]
    assert {each["producer"].rpartition(":")[0] for each in exported["openlineage"]} == {"urn:lineage-merge"}
    domain.post([*pair("one"), *exported["datazone"]])
    server, receiver = marquez
    server.events = [*pair("one"), *exported["datazone"]]

    for section in (IN_DATAZONE, at(receiver)):
        found = read(section)
        assert flows_of(found) == {flow("one")}
        left_out = [row for row in found if isinstance(row, Count) and row.what.endswith("exported")]
        assert sum(row.number for row in left_out) == len(exported["datazone"]) == 2
    # In files they are read: they were selected by hand.
    assert len(flows_of(read({"events": str(tmp_path / "datazone.jsonl")}))) == 2


# ---- calls and errors


def test_the_calls_of_datazone_are_those_of_its_service_model(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = boto3.client("datazone", region_name="eu-west-1")
    monkeypatch.setattr(aws_calls, "boto_client", lambda _service, **_options: real)
    monkeypatch.setattr(real, "close", lambda: None)
    newest = datetime(2026, 11, 10, 6, tzinfo=UTC)
    since = newest - timedelta(days=31)
    body = json.dumps(pair("one")[1]).encode()
    asked = {"domainIdentifier": DOMAIN, "sortOrder": "ASCENDING", "maxResults": 50, "timestampAfter": since}
    item = {"id": "a" * 14, "domainId": DOMAIN, "processingStatus": "SUCCESS", "eventTime": newest}
    other = {**item, "id": "b" * 14, "processingStatus": "FAILED"}
    list_events, get_event = "list_lineage_events", "get_lineage_event"
    with Stubber(real) as stubber:
        newest_asked = {"domainIdentifier": DOMAIN, "sortOrder": "DESCENDING", "maxResults": 1}
        stubber.add_response(list_events, {"items": [item]}, newest_asked)
        stubber.add_response(list_events, {"items": [item], "nextToken": "next"}, asked)
        stubber.add_client_error(list_events, "ThrottlingException", "Rate exceeded", 429)
        listed = settings.DataZone(DOMAIN, "eu-west-1")
        assert client.find_newest(listed) == ("a" * 14, moment({"eventTime": newest.isoformat()}), False)
        with pytest.raises(SourceError, match=f"{NAME}: ThrottlingException: Rate exceeded"):
            client.list_events(listed, moment({"eventTime": since.isoformat()}))
        stubber.add_response(list_events, {"items": [item], "nextToken": "next"}, asked)
        stubber.add_response(list_events, {"items": [other]}, {**asked, "nextToken": "next"})
        stubber.add_response(list_events, {"items": [other]}, {**asked, "processingStatus": "FAILED"})
        found = client.list_events(listed, moment({"eventTime": since.isoformat()}))
        assert [(each.id[0], each.failed) for each in found] == [("a", False), ("b", True)]
        event_asked = {"domainIdentifier": DOMAIN, "identifier": "a" * 14}
        stream = StreamingBody(BytesIO(body), len(body))
        stubber.add_response(get_event, {"id": "a" * 14, "domainId": DOMAIN, "event": stream}, event_asked)
        (read_event,) = client.read_events(listed, found[:1])
        assert read_event == (f"{NAME}: event {'a' * 14}", json.loads(body))
        stubber.assert_no_pending_responses()


@pytest.mark.parametrize("operation", ["ListLineageEvents", "GetLineageEvent"])
@pytest.mark.parametrize("code", ["AccessDeniedException", "UnauthorizedException"])
def test_a_call_without_permission_is_one_clear_line(domain: DataZone, operation: str, code: str) -> None:
    domain.post(pair("one"))
    domain.denied, domain.denial = operation, {"__type": code, "message": "not allowed"}
    with pytest.raises(SourceDenied, match=f"^{NAME}: {code}: not allowed$"):
        read(IN_DATAZONE)


def test_an_error_in_a_task_of_an_engine_is_one_clear_line(domain: DataZone, each_engine: Engine) -> None:
    domain.post(pair("one"))
    domain.denied = "GetLineageEvent"
    problem = f"^{NAME}: AccessDeniedException: not authorized$"
    with pytest.raises(SourceDenied, match=problem), each_engine.own_errors():
        read(IN_DATAZONE, each_engine)


def test_an_unknown_domain_and_an_unreachable_service_are_clear(
    domain: DataZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = {"datazone": {"domain": "dzd_other", "region": "eu-west-1"}}
    name = "DataZone dzd_other in eu-west-1"
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "openlineage": section})
    with pytest.raises(SourceMissing, match=f"^{name}: ResourceNotFoundException: no such domain$"):
        check_sources(config)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", "http://127.0.0.1:9")
    monkeypatch.setattr(aws_calls, "_ATTEMPTS", 1)
    with pytest.raises(SourceUnreachable, match=f"^{name}: EndpointConnectionError$"):
        check_sources(config)
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(SourceError, match=r"^DataZone dzd_other: You must specify a region\.$"):
        read({"datazone": {"domain": "dzd_other"}})


def test_the_policy_allows_what_a_run_and_doctor_call(domain: DataZone) -> None:
    domain.post(pair("one"))
    read(IN_DATAZONE)
    assert [found.state for found in diagnose(IN_DATAZONE)] == ["ok", "ok"]
    parameters = {"domainIdentifier": DOMAIN}
    wanted = [need for each in sorted({*domain.operations}) for need in needs("datazone", each, parameters)]

    assert len(wanted) == 2
    assert refused("datazone_reader", wanted) == []


def test_marquez_wants_its_key_and_requests_are_repeated(
    marquez: tuple[Marquez, Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, receiver = marquez
    server.events, server.key, server.busy = pair("one"), "s3cr3t", 1
    monkeypatch.setenv("MARQUEZ_KEY", "s3cr3t")

    assert flows_of(read(at(receiver, api_key_env="MARQUEZ_KEY"))) == {flow("one")}
    path = "/api/v1/events/lineage"
    with pytest.raises(SourceDenied, match=f"^Marquez {receiver.url}: no permission for {path} .HTTP 401.$"):
        read(at(receiver))
    known = settings.Marquez(receiver.url, "MARQUEZ_KEY").with_secret()
    assert (known.secret(), "s3cr3t" in repr(known) + str(known)) == ("s3cr3t", False)
    monkeypatch.delenv("MARQUEZ_KEY")
    with pytest.raises(ConfigError, match=r"openlineage.marquez.api_key_env: the environment variable"):
        read(at(receiver, api_key_env="MARQUEZ_KEY"))


def test_a_worker_gets_the_key_of_marquez_from_the_driver(
    each_engine: Engine, marquez: tuple[Marquez, Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, receiver = marquez
    server.events, server.key = pair("one"), "s3cr3t"
    monkeypatch.setenv("MARQUEZ_KEY", "s3cr3t")
    assert flows_of(read(at(receiver, api_key_env="MARQUEZ_KEY"), each_engine)) == {flow("one")}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((200, b"<html>"), "not an answer of the API of Marquez 0.40 or newer: give its address as url"),
        ((200, {"events": []}), "not an answer of the API of Marquez 0.40 or newer: give its address as url"),
        ((200, {"events": [{}], "totalCount": 1}), "not an answer of the API of Marquez"),
        ((302, {}), "/api/v1/events/lineage redirects, to a login or another address (HTTP 302)"),
        ((404, {}), "/api/v1/events/lineage not found (HTTP 404)"),
        ((500, {}), "/api/v1/events/lineage failed (HTTP 500)"),
    ],
)
def test_another_answer_than_marquez_gives_is_named(answer: Any, problem: str) -> None:
    with receiving(lambda _: answer) as server, pytest.raises(SourceError) as raised:
        read(at(server))
    assert str(raised.value).startswith(f"Marquez {server.url}: {problem}")


# ---- settings, doctor and init


@pytest.mark.parametrize(
    ("section", "key", "problem"),
    [
        ({"datazone": {"domain": "lake"}}, "openlineage.datazone.domain", "the id of a domain"),
        ({"datazone": {"domain": DOMAIN, "region": "us-east-1a"}}, "openlineage.datazone.region", "zone"),
        ({"datazone": {"region": "us-east-1"}}, "openlineage.datazone", "domain"),
        ({"marquez": {"url": "marquez:5000"}}, "openlineage.marquez.url", "http://host:port"),
        ({"marquez": {"url": "http://a:b@marquez"}}, "openlineage.marquez.url", "user or password"),
        (
            {"marquez": {"url": "http://marquez", "api_key_env": "A", "api_key_secret": "b"}},
            "openlineage.marquez",
            "give either api_key_env or api_key_secret",
        ),
    ],
)
def test_a_wrong_setting_is_named(section: Section, key: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "openlineage": section})
    assert raised.value.key.startswith(key)
    assert problem in str(raised.value)


def diagnose(section: Section) -> list[Any]:
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "openlineage": section})
    return examine("OpenLineage", config)


def test_doctor_tries_each_call_of_datazone(domain: DataZone) -> None:
    assert [(found.state, found.message) for found in diagnose(IN_DATAZONE)] == [
        ("warning", f"{NAME}: no event is listed")
    ]
    domain.post(pair("one"))
    assert [(found.state, found.message) for found in diagnose(IN_DATAZONE)] == [
        ("ok", f"{NAME}: events are listed, the newest of 2026-11-01 06:00 UTC"),
        ("ok", f"{NAME}: events are readable"),
    ]
    domain.denied = "GetLineageEvent"
    listed, denied = diagnose(IN_DATAZONE)
    fix = (
        "allow datazone:ListLineageEvents and datazone:GetLineageEvent (deploy/iam/datazone_reader.json), "
        "or add the role to the domain"
    )
    assert (listed.state, denied.state, denied.fix) == ("ok", "failed", fix)
    domain.denied = "ListLineageEvents"
    assert [(found.state, found.fix) for found in diagnose(IN_DATAZONE)] == [("failed", fix)]
    other = {"datazone": {"domain": "dzd_other"}}
    assert [(found.state, found.fix) for found in diagnose(other)] == [
        ("failed", fix if domain.denied else "correct openlineage.datazone")
    ]
    domain.denied = ""
    assert [(found.state, found.fix) for found in diagnose(other)] == [
        ("failed", "correct openlineage.datazone")
    ]
    domain.post([b"{ not"], at=moment(pair("one", "02")[0]))
    assert [found.state for found in diagnose(IN_DATAZONE)] == ["ok", "warning"]


def test_doctor_asks_marquez(marquez: tuple[Marquez, Receiver]) -> None:
    server, receiver = marquez
    assert [found.state for found in diagnose(at(receiver))] == ["warning"]
    server.events = pair("one")
    assert [(found.state, found.message) for found in diagnose(at(receiver))] == [
        ("ok", f"Marquez {receiver.url}: events are readable, the newest of 2026-11-01 06:00 UTC")
    ]
    server.key = "s3cr3t"
    (denied,) = diagnose(at(receiver))
    assert (denied.state, denied.exit_code) == ("failed", SourceDenied.exit_code)
    (missing,) = diagnose(at(receiver, api_key_env="NOT_SET"))
    assert (missing.state, missing.fix) == ("failed", "correct openlineage.marquez")


def test_init_writes_a_named_service(
    domain: DataZone, marquez: tuple[Marquez, Receiver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, receiver = marquez
    server.events = pair("one")
    domain.post(server.events)
    monkeypatch.chdir(tmp_path)
    region = ("--openlineage-datazone", DOMAIN, "--openlineage-region", "eu-west-1")
    for flags, section in ((("--openlineage-marquez", receiver.url), at(receiver)), (region, IN_DATAZONE)):
        done = in_process("init", *flags, "--yes", "--force")
        assert done.code == 0, done.err
        written = CONFIGURATION.load(tmp_path / "lineage_merge.yml", environ={})
        expected = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "openlineage": section})
        assert written.sources == expected.sources
    both = in_process("init", *region, "--openlineage-marquez", receiver.url)
    assert (both.code, "give one of --openlineage" in both.err) == (2, True)
    lonely = in_process("init", "--openlineage-region", "eu-west-1")
    assert (lonely.code, "needs --openlineage-datazone" in lonely.err) == (2, True)
    server.key = "s3cr3t"
    denied = in_process("init", "--openlineage-marquez", receiver.url, "--yes")
    assert denied.code == SourceDenied.exit_code
    assert "set api_key_env" in denied.err
