"""The stand-in for ArangoDB: what queries mean, and what python-arango sees of it.

Expected values were written by hand, from knowledge of AQL: run these tests against a real server (see
`arango_fixtures`) before relying on a fine point.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
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
    JWTAuthError,
    ServerConnectionError,
)
from arango.http import DefaultHTTPClient

from tests.arango_fixtures import ArangoServer, RealServer, arango
from tests.arango_standin import ArangoStandin, read_folder

__all__ = ["arango"]

Ask = Callable[..., list[Any]]

# Products, some of them malformed, and what is made of what.
SHOP: dict[str, list[dict[str, Any]]] = {
    "product": [
        {"_key": "bread", "name": "Bread", "price": 3, "tags": {"a": 1, "b": 2}, "maker": {"city": "Graz"}},
        {"_key": "flour", "name": "flour_a", "price": 1.5, "maker": {"city": "Linz"}},
        {"_key": "salt", "name": "Salt", "price": None, "tags": {}},
        {"_key": "oven", "name": "oven%b", "price": 900, "maker": {"city": "Graz"}},
        {"_key": "misc:1", "name": "Äpfel", "price": "4"},
    ],
    "madeOf": [
        {"_key": "1", "_from": "product/bread", "_to": "product/flour"},
        {"_key": "2", "_from": "product/bread", "_to": "product/salt"},
    ],
    "number": [{"_key": f"{value:02}", "value": value} for value in range(10)],
}
IN_ORDER = "FOR n IN number SORT n.value RETURN n.value"


@pytest.fixture
def client(arango: ArangoServer) -> Iterator[ArangoClient]:
    with closing(ArangoClient(hosts=arango.url)) as client:
        yield client


@pytest.fixture
def shop(arango: ArangoServer, client: ArangoClient) -> StandardDatabase:
    """python-arango's handle on a small database."""
    return client.db(arango.database("shop", SHOP), username=arango.username, password=arango.password)


@pytest.fixture
def ask(shop: StandardDatabase) -> Ask:
    def run(query: str, **binds: Any) -> list[Any]:
        cursor: Any = shop.aql.execute(query, bind_vars=binds)
        return list(cursor)

    return run


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        # Types are ordered: null < bool < number < string < array < object.
        ("null < false AND false < true AND true < 0 AND 0 < '' AND '' < @list AND @list < {}", True),
        ("{a: null} == {} && 1 == 1.0 && 1 != true && 1 != '1'", True),
        # Texts are ordered by collation, not by code point.
        ("'a' < 'B' AND 'B' < 'c' AND 'a' < 'A'", True),
        # AND and OR give an operand; empty arrays and objects are true.
        ("1 && 'x'", "x"),
        ("0 || null", None),
        ("@list || 1", [1, None]),
        # IN binds tighter than ==; both IN and NOT IN are false when the right side is no array.
        ("true == 1 IN @list", True),
        ("null IN @list AND 2 NOT IN @list", True),
        ("1 IN null || 1 NOT IN null", False),
        # Access that finds nothing gives null, never an error.
        ("{a: @document}.a.b", 1),
        ("@document.a.b.c", None),
        ("LENGTH('abc')", 3),
        ("LENGTH(null)", 0),
        ("FIRST(@list)", 1),
        ("FIRST(FOR p IN product FILTER p._key == 'x' RETURN p)", None),
        ("KEEP({a: 1, b: 2, c: 3}, 'a', @names)", {"a": 1, "c": 3}),
        ("KEEP(1, 'a')", None),
        ("ATTRIBUTES(@document)", ["b"]),
        ("(null || 7.5)", 7.5),
    ],
)
def test_an_expression_has_the_value_that_aql_gives_it(ask: Ask, expression: str, value: object) -> None:
    known = {"list": [1, None], "document": {"b": 1}, "names": ["c"]}
    binds = {name: bound for name, bound in known.items() if f"@{name}" in expression}
    assert ask(f"RETURN {expression}", **binds) == [value]


@pytest.mark.parametrize(
    ("query", "binds", "expected"),
    [
        (
            "FOR p IN product FILTER p.price > 2 AND p.price < '' SORT p.price RETURN p._key",
            {},
            ["bread", "oven"],
        ),
        # Null and a missing attribute sort first, texts after numbers.
        (
            "for p in product sort p.price, p._key desc return p._key",
            {},
            ["salt", "flour", "bread", "oven", "misc:1"],
        ),
        ("FOR p IN product SORT p.price DESC LIMIT 1, @n RETURN p._key", {"n": 2}, ["oven", "bread"]),
        (
            "FOR p IN @@c FILTER p._key IN @keys RETURN p.name",
            {"@c": "product", "keys": ["oven"]},
            ["oven%b"],
        ),
        ("FOR p IN product FILTER p.maker.city == null SORT p._key RETURN p._key", {}, ["misc:1", "salt"]),
        (
            "FOR p IN product COLLECT city = p.maker.city AGGREGATE most = MAX(p.price) RETURN {city, most}",
            {},
            [{"city": None, "most": "4"}, {"city": "Graz", "most": 900}, {"city": "Linz", "most": 1.5}],
        ),
        (
            "FOR p IN product COLLECT tags = KEEP(p.tags || {}, 'a') LIMIT 9 RETURN tags",
            {},
            [{}, {"a": 1}],
        ),
        (
            "RETURN {size: LENGTH(product), one: FIRST(FOR p IN product SORT p._key LIMIT 1 RETURN p.price)}",
            {},
            [{"size": 5, "one": 3}],
        ),
        (
            "FOR e IN madeOf FOR p IN product FILTER e._to == p._id SORT p._key RETURN p._key",
            {},
            ["flour", "salt"],
        ),
    ],
)
def test_a_query_over_collections_gives_what_its_words_say(
    ask: Ask, query: str, binds: dict[str, Any], expected: list[Any]
) -> None:
    assert ask(query, **binds) == expected


@pytest.mark.parametrize(
    ("query", "binds", "status", "number"),
    [
        ("FOR p IN product RETURN", {}, 400, 1501),
        ("FOR p IN product FILTER p.filter == 1 RETURN p", {}, 400, 1501),
        ("FOR p IN product RETURN p RETURN p", {}, 400, 1501),
        ("FOR p IN product FILTER p._key = 'x' RETURN p", {}, 400, 1501),
        ("RETURN 'open", {}, 400, 1501),
        ("   ", {}, 400, 1502),
        ("FOR p IN product LIMIT @n RETURN p", {"n": "many"}, 400, 1504),
        ("FOR p IN nowhere RETURN p", {}, 404, 1203),
        ("FOR p IN @@c RETURN p", {"@c": "nowhere"}, 404, 1203),
        ("FOR p IN product FILTER q.a == 1 RETURN p", {}, 404, 1203),
        ("FOR p IN product COLLECT k = p._key RETURN p", {}, 404, 1203),
        ("RETURN LENGTH(nowhere)", {}, 404, 1203),
        ("FOR p IN product FOR p IN product RETURN p", {}, 400, 1511),
        ("RETURN NO_SUCH(1)", {}, 400, 1540),
        ("RETURN LENGTH()", {}, 400, 1541),
        ("RETURN @a", {}, 400, 1551),
        ("RETURN 1", {"a": 1}, 400, 1552),
        ("FOR p IN @@c RETURN p", {"@c": 1}, 400, 1553),
    ],
)
def test_a_query_that_cannot_run_is_refused_with_the_servers_number(
    ask: Ask, query: str, binds: dict[str, Any], status: int, number: int
) -> None:
    with pytest.raises(AQLQueryExecuteError) as refused:
        ask(query, **binds)
    assert (refused.value.http_code, refused.value.error_code) == (status, number)


@pytest.mark.parametrize(
    "query",
    [
        "FOR p IN product INSERT p INTO product",
        "FOR p IN product LET price = p.price RETURN price",
        "FOR p IN product RETURN DISTINCT p.price",
        "FOR v IN OUTBOUND 'product/bread' madeOf RETURN v",
        "FOR p IN product FILTER p.name LIKE 'Ä%' RETURN p",
        "FOR p IN product FILTER 'food' IN p.tags RETURN p",
        "FOR p IN product COLLECT city = p.maker.city WITH COUNT INTO n RETURN n",
        "RETURN 1 + 1",
        "RETURN [1]",
    ],
)
def test_aql_outside_the_subset_is_refused_and_not_misread(
    arango: ArangoServer, ask: Ask, query: str
) -> None:
    assert arango.standin  # a real server runs these: there the test is skipped
    with pytest.raises(AQLQueryExecuteError) as refused:
        ask(query)
    assert (refused.value.http_code, refused.value.error_code) == (400, 1501)


@pytest.mark.parametrize("method", ["basic", "jwt"])
def test_both_login_methods_lead_to_the_data(arango: ArangoServer, client: ArangoClient, method: str) -> None:
    name = arango.database("shop", SHOP)
    database = client.db(name, arango.username, arango.password, verify=True, auth_method=method)
    assert database.collection("number").count() == 10


def test_a_wrong_password_is_refused_by_both_login_methods(
    arango: ArangoServer, client: ArangoClient
) -> None:
    name = arango.database("shop", SHOP)
    with pytest.raises(ServerConnectionError, match="bad username/password"):
        client.db(name, arango.username, "wrong", verify=True)
    with pytest.raises(JWTAuthError) as refused:
        client.db(name, arango.username, "wrong", auth_method="jwt")
    assert refused.value.http_code == 401
    with pytest.raises(AQLQueryExecuteError) as unauthorised:
        client.db(name, arango.username, "wrong").aql.execute(IN_ORDER)
    assert (unauthorised.value.http_code, unauthorised.value.error_code) == (401, 11)


def test_an_unknown_database_is_distinguished_from_an_unknown_path(
    arango: ArangoServer, client: ArangoClient
) -> None:
    with pytest.raises(AQLQueryExecuteError) as refused:
        client.db("nowhere", arango.username, arango.password).aql.execute("RETURN 1")
    assert (refused.value.http_code, refused.value.error_code) == (404, 1228)
    login = (arango.username, arango.password)
    answer = requests.get(f"{arango.url}/_db/_system/_api/nothing", auth=login, timeout=5)
    assert (answer.status_code, answer.json()["errorNum"]) == (404, 404)


def test_collections_say_what_they_are(shop: StandardDatabase) -> None:
    listed: Any = shop.collections()
    kinds = {each["name"]: each["type"] for each in listed if not each["system"]}
    assert kinds == {"product": "document", "madeOf": "edge", "number": "document"}
    indexes: Any = shop.collection("madeOf").indexes()
    assert {name for each in indexes for name in each["fields"]} == {"_key", "_from", "_to"}
    assert str(shop.version()).startswith("3.")
    databases: Any = shop.databases_accessible_to_user()
    assert {"_system", shop.db_name} <= set(databases)


def test_a_cursor_hands_out_batches_and_is_removed_after_the_last(shop: StandardDatabase) -> None:
    cursor: Any = shop.aql.execute(IN_ORDER, batch_size=4, count=True)
    assert (len(cursor.batch()), cursor.has_more(), cursor.count()) == (4, True, 10)
    assert [cursor.next() for _ in range(10)] == list(range(10))
    assert not cursor.has_more()
    with pytest.raises(CursorCloseError) as raised:
        cursor.close()
    assert (raised.value.http_code, raised.value.error_code) == (404, 1600)


def test_a_result_of_one_batch_has_no_cursor_on_the_server(shop: StandardDatabase) -> None:
    cursor: Any = shop.aql.execute(IN_ORDER, batch_size=10)
    assert (cursor.id, cursor.has_more(), cursor.count(), cursor.close()) == (None, False, None, None)


def test_a_cursor_that_was_closed_early_gives_no_more(shop: StandardDatabase) -> None:
    cursor: Any = shop.aql.execute(IN_ORDER, batch_size=4)
    assert cursor.close() is True
    with pytest.raises(CursorNextError) as raised:
        cursor.fetch()
    assert (raised.value.http_code, raised.value.error_code) == (404, 1600)


def test_a_lost_answer_silently_loses_a_batch_unless_the_cursor_allows_a_retry(
    arango: ArangoServer, shop: StandardDatabase
) -> None:
    # python-arango sends a POST again after a broken connection, and the server has moved on by then.
    plain: Any = shop.aql.execute(IN_ORDER, batch_size=3)
    arango.standin.drop_next(path="/_api/cursor/")
    assert list(plain) == [0, 1, 2, 6, 7, 8, 9]

    safe: Any = shop.aql.execute(IN_ORDER, batch_size=3, allow_retry=True)
    arango.standin.drop_next(path="/_api/cursor/")
    assert list(safe) == list(range(10))
    assert safe.close() is True


def test_a_server_that_refuses_twice_is_asked_a_third_time(
    arango: ArangoServer, shop: StandardDatabase
) -> None:
    arango.standin.refuse_next(503, 503, times=2, path="/_api/cursor")
    assert list(shop.aql.execute(IN_ORDER)) == list(range(10))  # type: ignore[arg-type]
    assert [each.status for each in arango.standin.requests] == [503, 503, 201]


def test_a_slow_answer_is_given_up_after_the_clients_timeout(
    arango: ArangoServer, shop: StandardDatabase
) -> None:
    arango.standin.delay_next(0.4, path="/_api/cursor")
    with closing(ArangoClient(hosts=arango.url, request_timeout=0.1)) as hasty:
        database = hasty.db(shop.db_name, arango.username, arango.password)
        with pytest.raises(requests.exceptions.Timeout):
            database.aql.execute(IN_ORDER)


def test_a_server_that_was_restarted_answers_on_its_old_port_without_its_old_cursors(
    arango: ArangoServer, shop: StandardDatabase
) -> None:
    # Without retries of its own, or a dead server would take 18 seconds to be found out.
    client = ArangoClient(hosts=arango.url, http_client=DefaultHTTPClient(retry_attempts=0))
    cursor: Any = shop.aql.execute(IN_ORDER, batch_size=4)
    arango.standin.stop()
    with pytest.raises(ConnectionAbortedError):
        client.db(shop.db_name, arango.username, arango.password).aql.execute(IN_ORDER)
    arango.standin.start()
    assert arango.url == arango.standin.url
    assert shop.collection("number").count() == 10
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
    asked = [
        ("operation", "d._belongsTo IN @plans", (4, 0)),
        ("operation", "true AND d._belongsTo == FIRST(@plans)", (4, 12)),
        ("attribute", "d._belongsTo IN @plans", (4, 12)),
    ]
    for collection, condition, _ in asked:
        bind: dict[str, Any] = {"@c": collection, "plans": ["executionPlan/b"]}
        database.aql.execute(f"FOR d IN @@c FILTER {condition} RETURN d", bind_vars=bind)
    recorded = arango.standin.requests
    assert [(each.returned, each.scanned_full) for each in recorded] == [counts for *_, counts in asked]
    assert recorded[0].body["bindVars"] == {"@c": "operation", "plans": ["executionPlan/b"]}


def test_clients_at_the_same_time_each_get_their_own_results(
    arango: ArangoServer, shop: StandardDatabase
) -> None:
    def read(least: int) -> list[int]:
        with closing(ArangoClient(hosts=arango.url)) as one:
            database = one.db(shop.db_name, arango.username, arango.password)
            query = "FOR n IN number FILTER n.value >= @least SORT n.value RETURN n.value"
            binds: dict[str, Any] = {"least": least}
            cursor: Any = database.aql.execute(query, bind_vars=binds, batch_size=2)
            return list(cursor)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(read, [least % 10 for least in range(40)]))
    assert results == [list(range(least % 10, 10)) for least in range(40)]


def test_a_folder_of_exported_collections_loads_whatever_the_export_looked_like(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"_key": "1"}\n\n{"_key": "2"}\n')
    (tmp_path / "array.json").write_text(json.dumps([{"_key": "1", "_from": "lines/1", "_to": "lines/2"}]))
    (tmp_path / "linesToo.json").write_text('{"_key": "1"}\n{"_key": "2"}\n')
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "README.md").write_text("not a collection")
    contents = read_folder(tmp_path)
    counts = {name: len(documents) for name, documents in contents.items()}
    assert counts == {"array": 1, "empty": 0, "lines": 2, "linesToo": 2}


def test_with_a_real_server_a_database_is_created_and_dropped_again() -> None:
    edges = [{"_key": "1", "_id": "old/1", "_rev": "x", "_from": "number/01", "_to": "number/02"}]
    with ArangoStandin({}) as standin, closing(ArangoClient(hosts=standin.url)) as client:
        with closing(RealServer(standin.url, "root", "secret")) as real:
            name = real.database("shop", {**SHOP, "next": edges, "empty": []})
            database = client.db(name, "root", "secret")
            assert name != "shop"
            assert database.collection("number").count() == 10
            query = "FOR e IN next FILTER e._from == 'number/01' RETURN e._id"
            assert list(database.aql.execute(query)) == ["next/1"]  # type: ignore[arg-type]
        assert client.db("_system", "root", "secret").databases() == ["_system"]
        assert standin.failures == []
