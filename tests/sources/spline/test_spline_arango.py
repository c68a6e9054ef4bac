"""Spline's live database: queries and errors, without Spark."""

import socket
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from arango.cursor import Cursor

from lineage_merge.model.errors import (
    ConfigError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.sources.spline import arango_queries
from lineage_merge.sources.spline.arango_queries import (
    events,
    list_malformed_events,
    overview,
    plan_count,
    plan_keys,
    plans,
)
from lineage_merge.sources.spline.database_state import EVERYTHING, Snapshot
from lineage_merge.sources.spline.documents import COLLECTIONS, Document
from lineage_merge.sources.spline.settings import Arango
from tests.arango_fixtures import ArangoServer
from tests.http_server import receiving
from tests.spline_documents import DAY, SplineDatabase, time

LEAVES = [f"Relation d.t{number}[a#1] csv" for number in range(3)]
PARTS = ("executionPlan", "operation", "follows", "uses", "takes", "expression")
ALL_PARTS = frozenset(PARTS)

Loaded = Callable[..., Arango]


@pytest.fixture
def loaded(arango: ArangoServer) -> Loaded:
    """Load a database, and return its settings."""

    def load(spline: SplineDatabase, **settings: Any) -> Arango:
        name = arango.database("spline", spline.collections)
        return Arango(arango.url, name, arango.username, known_password=arango.password, **settings)

    return load


def some_plans(number: int = 7) -> SplineDatabase:
    spline = SplineDatabase()
    for each in range(number):
        spline.plan(
            "load",
            reads=[f"s3://in/{each}"],
            writes="s3://out/x",
            at=each * DAY,
            run=f"r{each}",
            subqueries=LEAVES,
        )
    return spline


def keys_of(documents: Iterator[Document]) -> list[str]:
    return sorted(document["_key"] for document in documents)


def documents_of(spline: SplineDatabase) -> dict[str, dict[str, list[str]]]:
    """Return the keys of all documents of each plan."""
    found: dict[str, dict[str, list[str]]] = {}
    for collection in PARTS:
        for document in spline.contents[collection]:
            owner = str(document.get("_belongsTo", document["_id"])).partition("/")[2]
            found.setdefault(owner, {}).setdefault(collection, []).append(document["_key"])
    return {key: {name: sorted(keys) for name, keys in parts.items()} for key, parts in found.items()}


def fetched(server: Arango, keys: list[str]) -> dict[str, dict[str, list[str]]]:
    return {
        key: {name: keys_of(iter(documents)) for name, documents in parts.items()}
        for key, parts in plans(server, iter(keys), ALL_PARTS)
    }


def queries(arango: ArangoServer) -> list[Any]:
    return [
        each.body for each in arango.standin.requests if each.method == "POST" and each.path == "/_api/cursor"
    ]


# The overview


def test_the_overview_has_collections_times_and_open_transactions(loaded: Loaded) -> None:
    spline = some_plans()
    uid = spline.begin()
    spline.ended(spline.contents["executionPlan"][0]["_key"], 90 * DAY, transaction=uid)
    for malformed in (None, "2030-01-01", -5, True, [9e15]):
        spline.ended("lost", 0, timestamp=malformed)
    spline.contents["progress"][3]["timestamp"] += 0.5

    found = overview(loaded(spline))

    assert (found.oldest, found.newest) == (time(0), time(6 * DAY))
    assert found.events == len(spline.contents["progress"])
    assert found.snapshot == Snapshot(frozenset({uid}), spline.contents["counter"][0]["curVal"])
    assert found.collections == set(COLLECTIONS) & set(spline.contents)


def test_a_database_without_progress_has_no_times(loaded: Loaded) -> None:
    spline = some_plans()
    for missing in ("progress", "uses", "takes", "expression", "follows", "counter"):
        del spline.contents[missing]

    found = overview(loaded(spline))

    assert (found.events, found.oldest, found.newest) == (0, 0, 0)
    assert found.collections == {"executionPlan", "operation"}
    assert found.snapshot == EVERYTHING


def test_the_counter_is_read_before_the_open_transactions(loaded: Loaded, arango: ArangoServer) -> None:
    """A transaction that begins in between is younger than the snapshot, instead of missing from both."""
    spline = some_plans()
    spline.begin()

    overview(loaded(spline))

    asked = [query["query"] for query in queries(arango)]
    assert [name for query in asked for name in ("counter", "txInfo") if f" {name} " in query] == [
        "counter",
        "txInfo",
    ]


def test_what_began_after_the_snapshot_has_no_time(loaded: Loaded) -> None:
    spline = some_plans()
    spline.ended(spline.contents["executionPlan"][0]["_key"], 90 * DAY, transaction=spline.later())

    assert overview(loaded(spline)).newest == time(6 * DAY)


@pytest.mark.parametrize("missing", ["executionPlan", "operation"])
def test_a_missing_collection_is_reported(loaded: Loaded, missing: str) -> None:
    spline = some_plans()
    del spline.contents[missing]

    with pytest.raises(SourceMissing, match=f"the required collection {missing} is missing"):
        overview(loaded(spline))


def test_an_unknown_database_is_named(loaded: Loaded) -> None:
    server = loaded(some_plans())

    with pytest.raises(SourceMissing, match="missing database 'splin'"):
        overview(replace(server, database="splin"))


@pytest.mark.parametrize("method", ["basic", "jwt"])
def test_a_wrong_password_is_reported_without_showing_it(loaded: Loaded, method: str) -> None:
    server = replace(loaded(some_plans(), auth_method=method), known_password="hunter2")

    with pytest.raises(SourceDenied, match="rejects user 'root'") as caught:
        overview(server)

    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(server)


def test_a_token_lets_in_like_a_password(loaded: Loaded, arango: ArangoServer) -> None:
    server = loaded(some_plans(), auth_method="jwt")

    assert overview(server).events == 7
    assert any(request.path == "/_open/auth" for request in arango.standin.requests)


def test_the_password_is_read_from_the_named_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Arango("http://host:8529", "spline", password_env="SPLINE_TEST_PASSWORD")
    with pytest.raises(ConfigError, match="password_env: the environment variable"):
        overview(settings)
    monkeypatch.setenv("SPLINE_TEST_PASSWORD", "hunter2")

    assert settings.with_password().known_password == "hunter2"
    assert replace(settings, password_env="").with_password().known_password == ""


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_an_unreachable_server_is_reported_at_once(closed_port: int) -> None:
    hosts = f"http://reader:hunter2@127.0.0.1:{closed_port}, http://127.0.0.1:{closed_port}"
    started = clock.monotonic()

    with pytest.raises(SourceUnreachable, match=f"127.0.0.1:{closed_port}") as caught:
        overview(Arango(hosts, "spline"))

    assert clock.monotonic() - started < 10
    assert "hunter2" not in str(caught.value)


def test_a_server_that_times_out_is_unreachable(loaded: Loaded, arango: ArangoServer) -> None:
    server = loaded(some_plans(), timeout_seconds=0.3)
    arango.standin.delay_next(1.0)

    with pytest.raises(SourceUnreachable, match="no connection to ArangoDB at http"):
        overview(server)


def test_one_available_host_of_several_is_enough(loaded: Loaded, closed_port: int) -> None:
    server = loaded(some_plans())
    hosts = f"http://127.0.0.1:{closed_port} , {server.hosts}"
    server = replace(server, hosts=hosts)

    assert overview(server).events == 7
    assert len(keys_of(events(server, 0, time(100 * DAY)))) == 7


@pytest.mark.parametrize("body", [b"<html>version</html>", b"{}", b"[]", b'{"result": [1]}', b"null"])
def test_another_service_is_not_taken_for_arangodb(body: bytes) -> None:
    with (
        receiving(lambda _: (200, body)) as service,
        pytest.raises(SourceError, match="is not an ArangoDB server"),
    ):
        overview(Arango(service.url, "spline"))


# Slices


def test_time_spans_cover_all_events_and_malformed_ones_are_separate(
    loaded: Loaded, arango: ArangoServer
) -> None:
    spline = some_plans()
    numbered = {each["_key"] for each in spline.contents["progress"]}
    values: list[Any] = [None, "1795252896204", -5, False, {}]
    malformed = {spline.ended("lost", 0, timestamp=value)["_key"] for value in values}
    server = loaded(spline, batch_size=2)
    cuts = [time(0), time(0) + 1, time(2 * DAY), time(6 * DAY), time(6 * DAY) + 1]

    slices = [keys_of(events(server, *span)) for span in pairwise(cuts)]

    assert [len(each) for each in slices] == [1, 1, 4, 1]
    assert {key for each in slices for key in each} == numbered
    assert set(keys_of(list_malformed_events(server))) == malformed
    assert {each.scanned_full for each in arango.standin.requests} == {0}


def test_plans_come_with_all_their_parts_in_batches_and_bounded_requests(
    loaded: Loaded, arango: ArangoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spline = some_plans()
    expected = documents_of(spline)
    monkeypatch.setattr(arango_queries, "PLANS_PER_REQUEST", 2)
    monkeypatch.setattr(arango_queries, "IDS_PER_REQUEST", 3)
    server = loaded(spline, batch_size=2)
    wanted = sorted(expected)[:5]

    assert fetched(server, wanted) == {key: expected[key] for key in wanted}

    asked = queries(arango)
    assert {each["bindVars"]["@collection"] for each in asked} == ALL_PARTS
    for query in asked:
        (given,) = (value for name, value in query["bindVars"].items() if name != "@collection")
        assert 1 <= len(given) <= 3
    assert {each.scanned_full for each in arango.standin.requests} == {0}
    assert max(each.returned for each in arango.standin.requests) == 2
    assert arango.standin.open_cursors == 0


def test_missing_plans_have_no_documents(loaded: Loaded) -> None:
    assert fetched(loaded(some_plans()), ["lost"]) == {"lost": {}}


def test_missing_collections_are_not_queried(loaded: Loaded) -> None:
    spline = some_plans()
    expected = documents_of(spline)
    for missing in ("takes", "follows"):
        del spline.contents[missing]
    server = loaded(spline)
    key = min(expected)

    found = dict(plans(server, iter([key]), overview(server).collections))

    # Only what operations use themselves: the subqueries are one step further.
    assert {name: keys_of(iter(documents)) for name, documents in found[key].items()} == {
        "executionPlan": [key],
        "operation": expected[key]["operation"],
        "uses": expected[key]["uses"],
        "expression": [f"{key}:expr-0"],
    }


def test_slices_of_plan_keys_are_all_plans(loaded: Loaded) -> None:
    spline = some_plans()
    server = loaded(spline, batch_size=2)

    slices = [list(plan_keys(server, offset, 3)) for offset in range(0, plan_count(server), 3)]

    assert [len(each) for each in slices] == [3, 3, 1]
    assert sorted(key for each in slices for key in each) == sorted(documents_of(spline))


# Faults


def test_a_lost_response_loses_no_document(loaded: Loaded, arango: ArangoServer) -> None:
    spline = some_plans()
    server = loaded(spline, batch_size=2)
    reading = events(server, 0, time(100 * DAY))
    first = next(reading)
    arango.standin.drop_next(method="POST", path="/_api/cursor/")
    arango.standin.refuse_next(503, 503, method="POST", path="/_api/cursor/")

    assert keys_of(iter([first, *reading])) == keys_of(iter(spline.contents["progress"]))


def test_a_batch_that_an_old_server_lost_is_detected(
    loaded: Loaded, arango: ArangoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers before 3.11 number no batches: a request sent again gets the batch after the lost one."""
    server = loaded(some_plans(), batch_size=2)
    reading = events(server, 0, time(100 * DAY))
    update = Cursor._update
    monkeypatch.setattr(
        Cursor,
        "_update",
        lambda cursor, data: update(cursor, {name: data[name] for name in data if name != "nextBatchId"}),
    )
    next(reading)
    arango.standin.drop_next(method="POST", path="/_api/cursor/")

    with pytest.raises(SourceError, match="7 documents announced, 5 received"):
        list(reading)


@pytest.mark.parametrize(
    ("status", "number", "message"),
    [
        (404, 1600, r"refused on purpose \(error 1600\)"),
        (500, 4, r"\(error 4\)"),
        (404, 1203, "database spline"),
        (403, 11, "rejects user"),
    ],
)
def test_what_the_server_refuses_in_the_middle_is_one_clear_line(
    loaded: Loaded, arango: ArangoServer, status: int, number: int, message: str
) -> None:
    reading = events(loaded(some_plans(), batch_size=2), 0, time(100 * DAY))
    next(reading)
    arango.standin.refuse_next(status, number, method="POST", path="/_api/cursor/")

    with pytest.raises(SourceError, match=message) as caught:
        list(reading)

    assert "\n" not in str(caught.value)


def test_a_server_that_stops_during_a_query_is_unreachable(loaded: Loaded, arango: ArangoServer) -> None:
    server = loaded(some_plans(), batch_size=2)
    # Named twice: with one host the client waits and tries again.
    twice = replace(server, hosts=f"{arango.url},{arango.url}")
    reading = events(twice, 0, time(100 * DAY))
    next(reading)
    arango.standin.stop()

    with pytest.raises(SourceUnreachable):
        list(reading)


def test_a_reader_that_stops_early_leaves_no_cursor_behind(loaded: Loaded, arango: ArangoServer) -> None:
    reading = events(loaded(some_plans(), batch_size=2), 0, time(100 * DAY))
    next(reading)
    assert arango.standin.open_cursors == 1

    reading.close()  # type: ignore[attr-defined]

    assert arango.standin.open_cursors == 0
    closing = [each.status for each in arango.standin.requests if each.method == "DELETE"]
    assert closing == [202]
