"""What python-arango sees: credentials, cursors, errors, and servers that misbehave."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from arango.client import ArangoClient
from arango.database import StandardDatabase
from arango.exceptions import (
    AQLQueryExecuteError,
    CursorCloseError,
    CursorNextError,
    DocumentGetError,
    JWTAuthError,
    ServerConnectionError,
)
from arango.http import DefaultHTTPClient

from tests.arango_fixtures import ArangoServer, RealServer
from tests.arango_standin import ArangoStandin, read_folder

NUMBERS = {"number": [{"_key": f"{value:02}", "value": value} for value in range(10)]}
IN_ORDER = "FOR n IN number SORT n.value RETURN n.value"


@pytest.fixture
def client(arango: ArangoServer) -> ArangoClient:
    return ArangoClient(hosts=arango.url)


@pytest.fixture
def numbers(arango: ArangoServer, client: ArangoClient) -> StandardDatabase:
    name = arango.database("numbers", NUMBERS)
    return client.db(name, username=arango.username, password=arango.password)


@pytest.mark.parametrize("method", ["basic", "jwt"])
def test_both_login_methods_lead_to_the_data(arango: ArangoServer, client: ArangoClient, method: str) -> None:
    name = arango.database("numbers", NUMBERS)
    database = client.db(name, arango.username, arango.password, verify=True, auth_method=method)
    assert database.collection("number").count() == 10


def test_a_wrong_password_is_refused_by_both_login_methods(
    arango: ArangoServer, client: ArangoClient
) -> None:
    name = arango.database("numbers", NUMBERS)
    with pytest.raises(ServerConnectionError, match="bad username/password"):
        client.db(name, arango.username, "wrong", verify=True)
    with pytest.raises(JWTAuthError) as refused:
        client.db(name, arango.username, "wrong", auth_method="jwt")
    assert refused.value.http_code == 401
    with pytest.raises(AQLQueryExecuteError) as unauthorised:
        client.db(name, arango.username, "wrong").aql.execute(IN_ORDER)
    assert (unauthorised.value.http_code, unauthorised.value.error_code) == (401, 11)


def test_an_unknown_database_is_distinguished_from_an_unknown_collection(
    arango: ArangoServer, client: ArangoClient, numbers: StandardDatabase
) -> None:
    nowhere = client.db("nowhere", arango.username, arango.password)
    with pytest.raises(AQLQueryExecuteError) as refused:
        nowhere.aql.execute("RETURN 1")
    assert (refused.value.http_code, refused.value.error_code) == (404, 1228)
    with pytest.raises(ServerConnectionError):
        client.db("nowhere", arango.username, arango.password, verify=True)
    with pytest.raises(DocumentGetError) as missing:
        numbers.collection("nowhere").get("1")
    assert (missing.value.http_code, missing.value.error_code) == (404, 1203)


def test_collections_say_what_they_are_and_documents_come_by_key(shop: StandardDatabase) -> None:
    listed: Any = shop.collections()
    kinds = {each["name"]: each["type"] for each in listed if not each["system"]}
    assert kinds == {"product": "document", "madeOf": "edge"}
    assert shop.has_collection("madeOf")
    assert not shop.has_collection("nowhere")
    product = shop.collection("product")
    found: Any = product.get("misc:1")
    assert (found["_id"], found["name"]) == ("product/misc:1", "Äpfel")
    assert product.get("nope") is None
    assert product.has("bread")
    assert not product.has("nope")
    several: Any = product.get_many(["bread", "nope", "salt"])
    assert {each["_key"] for each in several} == {"bread", "salt"}
    assert len(list(product.all())) == 5  # type: ignore[arg-type]
    assert str(shop.version()).startswith("3.")
    properties: Any = shop.properties()
    assert properties["name"] == shop.db_name


def test_a_cursor_hands_out_batches_and_is_removed_after_the_last(numbers: StandardDatabase) -> None:
    cursor: Any = numbers.aql.execute(IN_ORDER, batch_size=4, count=True)
    assert (len(cursor.batch()), cursor.has_more(), cursor.count()) == (4, True, 10)
    assert [cursor.next() for _ in range(10)] == list(range(10))
    assert not cursor.has_more()
    with pytest.raises(StopIteration):
        cursor.next()
    with pytest.raises(CursorCloseError) as raised:
        cursor.close()
    assert (raised.value.http_code, raised.value.error_code) == (404, 1600)
    assert cursor.close(ignore_missing=True) is False


def test_a_result_of_one_batch_has_no_cursor_on_the_server(numbers: StandardDatabase) -> None:
    cursor: Any = numbers.aql.execute(IN_ORDER, batch_size=10)
    assert (cursor.id, cursor.has_more(), cursor.count(), cursor.close()) == (None, False, None, None)


def test_a_cursor_that_was_closed_early_gives_no_more(
    arango: ArangoServer, numbers: StandardDatabase
) -> None:
    cursor: Any = numbers.aql.execute(IN_ORDER, batch_size=4)
    assert cursor.close() is True
    with pytest.raises(CursorNextError) as raised:
        cursor.fetch()
    assert (raised.value.http_code, raised.value.error_code) == (404, 1600)


def test_a_cursor_expires_when_it_is_not_read_for_longer_than_its_ttl() -> None:
    with ArangoStandin({"numbers": NUMBERS}) as standin:
        aql: Any = ArangoClient(hosts=standin.url).db("numbers", "root", "secret").aql
        retained = aql.execute(IN_ORDER, batch_size=4, ttl=30)
        lost = aql.execute(IN_ORDER, batch_size=4, ttl=0.05)
        assert standin.open_cursors == 2
        time.sleep(0.1)
        with pytest.raises(CursorNextError) as raised:
            lost.fetch()
        assert (raised.value.http_code, raised.value.error_code) == (404, 1600)
        assert len(list(retained)) == 10


def test_a_lost_answer_silently_loses_a_batch_unless_the_cursor_allows_a_retry(
    arango: ArangoServer, numbers: StandardDatabase
) -> None:
    # python-arango sends a POST again after a broken connection, and the server has moved on by then.
    plain: Any = numbers.aql.execute(IN_ORDER, batch_size=3)
    arango.standin.drop_next(path="/_api/cursor/")
    assert list(plain) == [0, 1, 2, 6, 7, 8, 9]

    safe: Any = numbers.aql.execute(IN_ORDER, batch_size=3, allow_retry=True)
    arango.standin.drop_next(path="/_api/cursor/")
    assert list(safe) == list(range(10))
    assert safe.close() is True


def test_an_answer_cut_in_its_body_is_not_taken_for_a_result(
    arango: ArangoServer, numbers: StandardDatabase
) -> None:
    arango.standin.cut_next(path="/_api/cursor")
    with pytest.raises(requests.exceptions.RequestException):
        numbers.aql.execute(IN_ORDER)
    assert [each.status for each in arango.standin.requests] == [0]
    assert list(numbers.aql.execute(IN_ORDER)) == list(range(10))  # type: ignore[arg-type]


def test_a_server_that_refuses_twice_is_asked_a_third_time(
    arango: ArangoServer, numbers: StandardDatabase
) -> None:
    arango.standin.refuse_next(503, 503, times=2, path="/_api/cursor")
    assert list(numbers.aql.execute(IN_ORDER)) == list(range(10))  # type: ignore[arg-type]
    assert [each.status for each in arango.standin.requests] == [503, 503, 201]
    arango.standin.forget()
    arango.standin.refuse_next(503, 503, times=3, path="/_api/cursor")
    with pytest.raises(ConnectionAbortedError):
        numbers.aql.execute(IN_ORDER)


def test_a_slow_answer_is_given_up_after_the_clients_timeout(
    arango: ArangoServer, numbers: StandardDatabase
) -> None:
    hasty = ArangoClient(hosts=arango.url, request_timeout=0.1)
    database = hasty.db(numbers.db_name, arango.username, arango.password)
    arango.standin.delay_next(0.4, path="/_api/cursor")
    with pytest.raises(requests.exceptions.Timeout):
        database.aql.execute(IN_ORDER)
    hasty.close()


def test_a_server_that_was_restarted_answers_on_its_old_port_without_its_old_cursors(
    arango: ArangoServer, numbers: StandardDatabase
) -> None:
    # Without retries of its own, or a dead server would take 18 seconds to be found out.
    client = ArangoClient(hosts=arango.url, http_client=DefaultHTTPClient(retry_attempts=0))
    cursor: Any = numbers.aql.execute(IN_ORDER, batch_size=4)
    before = arango.url
    arango.standin.stop()
    with pytest.raises(ConnectionAbortedError):
        client.db(numbers.db_name, arango.username, arango.password).aql.execute(IN_ORDER)
    arango.standin.start()
    assert arango.url == before
    assert numbers.collection("number").count() == 10
    with pytest.raises(CursorNextError):
        cursor.fetch()


def test_the_record_distinguishes_a_read_of_a_whole_collection_from_one_that_an_index_serves(
    arango: ArangoServer, client: ArangoClient
) -> None:
    plans = ["a", "b", "c"]
    parts = [
        {"_key": f"{plan}:{n}", "_belongsTo": f"executionPlan/{plan}"} for plan in plans for n in range(4)
    ]
    arango.standin.load("spline", {"operation": parts, "attribute": parts})
    database = client.db("spline", arango.username, arango.password)
    for collection in ("operation", "attribute"):
        cursor: Any = database.aql.execute(
            "FOR d IN @@c FILTER d._belongsTo IN @plans RETURN d._key",
            bind_vars={"@c": collection, "plans": ["executionPlan/b"]},
        )
        assert len(list(cursor)) == 4
    sliced, scanned = arango.standin.requests
    assert (sliced.returned, sliced.scanned_full) == (4, 0)
    assert (scanned.returned, scanned.scanned_full) == (4, 12)
    assert sliced.body["bindVars"] == {"@c": "operation", "plans": ["executionPlan/b"]}


def test_clients_at_the_same_time_each_get_their_own_results(
    arango: ArangoServer, numbers: StandardDatabase
) -> None:
    def read(least: int) -> list[int]:
        one = ArangoClient(hosts=arango.url)
        database = one.db(numbers.db_name, arango.username, arango.password)
        binds: dict[str, Any] = {"least": least}
        query = "FOR n IN number FILTER n.value >= @least SORT n.value RETURN n.value"
        cursor: Any = database.aql.execute(query, bind_vars=binds, batch_size=2)
        found = list(cursor)
        one.close()
        return found

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(read, [least % 10 for least in range(40)]))
    assert results == [list(range(least % 10, 10)) for least in range(40)]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/_api/nothing", 404),
        ("PATCH", "/_api/cursor", 405),
        ("GET", "/_api/collection/nowhere/count", 404),
        ("POST", "/_api/cursor", 400),
    ],
)
def test_a_request_that_means_nothing_gets_an_error_in_the_servers_form(
    arango: ArangoServer, method: str, path: str, status: int
) -> None:
    answer = requests.request(
        method,
        f"{arango.standin.url}/_db/_system{path}",
        auth=(arango.username, arango.password),
        data="{" if method == "POST" else None,
        timeout=5,
    )
    body = answer.json()
    assert answer.status_code == status
    assert (body["error"], body["code"]) == (True, status)
    assert {"errorNum", "errorMessage"} <= set(body)


def test_a_folder_of_exported_collections_loads_whatever_the_export_looked_like(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"_key": "1"}\n\n{"_key": "2"}\n')
    (tmp_path / "array.json").write_text(json.dumps([{"_key": "1", "_from": "lines/1", "_to": "lines/2"}]))
    (tmp_path / "linesToo.json").write_text('{"_key": "1"}\n{"_key": "2"}\n')
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "README.md").write_text("not a collection")
    contents = read_folder(tmp_path)
    assert {name: len(documents) for name, documents in contents.items()} == {
        "array": 1,
        "empty": 0,
        "lines": 2,
        "linesToo": 2,
    }


def test_with_a_real_server_a_database_is_created_and_dropped_again() -> None:
    edges = [{"_key": "1", "_id": "old/1", "_rev": "x", "_from": "number/01", "_to": "number/02"}]
    with ArangoStandin({}) as standin:
        real = RealServer(standin.url, "root", "secret")
        name = real.database("numbers", {**NUMBERS, "next": edges, "empty": []})
        client = ArangoClient(hosts=standin.url)
        database = client.db(name, "root", "secret")
        assert name != "numbers"
        assert database.collection("number").count() == 10
        walked: Any = database.aql.execute("FOR v, e IN OUTBOUND 'number/01' next RETURN [v.value, e._id]")
        assert list(walked) == [[2, "next/1"]]
        real.close()
        system: Any = client.db("_system", "root", "secret")
        assert system.databases() == ["_system"]
        client.close()
