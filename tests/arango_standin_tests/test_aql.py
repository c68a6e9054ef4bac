"""What queries mean.

Expected values were written by hand. Precedence is from the server's grammar;
the rest is from knowledge of AQL and has not been compared with a running server: run these tests
against one (see `arango_fixtures`) before relying on a fine point.
"""

from collections.abc import Callable
from typing import Any

import pytest
from arango.database import StandardDatabase
from arango.exceptions import AQLQueryExecuteError

from tests.arango_fixtures import ArangoServer

Ask = Callable[..., list[Any]]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        # Types are ordered: null < bool < number < string < array < object.
        ("null < false AND false < true AND true < 0 AND 0 < '' AND '' < [] AND [] < {}", True),
        ("[1] < [1, null]", True),
        ("[2] > [1, 9]", True),
        ("{a: 1} < {a: 2}", True),
        ("{a: null} == {}", True),
        ("1 == 1.0", True),
        ("1 == true", False),
        ("1 == '1'", False),
        # Texts are ordered by collation, not by code point.
        ("'a' < 'B' AND 'B' < 'c' AND 'a' < 'A' AND '_' < '0' AND '9' < 'a'", True),
        # AND and OR give an operand; empty arrays are true.
        ("1 && 'x'", "x"),
        ("0 || null", None),
        ("[] ? 'yes' : 'no'", "yes"),
        ("'' ?: 'default'", "default"),
        # NOT binds tighter than ==, IN tighter than ==, and a range loosest of the numbers.
        ("NOT 1 == false", True),
        ("true == 1 IN [1]", True),
        ("LENGTH(1..2+3)", 5),
        ("2 + 3 * 4 - -1", 15),
        ("-7 % 3", -1),
        ("7 / 2", 3.5),
        ("6 / 2", 3),
        ("'3' + 4", 7),
        ("1 / 0", None),
        ("3..1", [3, 2, 1]),
        # IN and NOT IN are both false when the right side is no array.
        ("1 IN null", False),
        ("1 NOT IN null", False),
        ("2 NOT IN [1, 3]", True),
        ("null IN [1, null]", True),
        ("[1, 2] IN [[1, 2]]", True),
        # LIKE takes the whole text; =~ looks for a part.
        ("'flour_a' LIKE 'flour\\\\_a'", True),
        ("'flourxa' LIKE 'flour\\\\_a'", False),
        ("'flourxa' LIKE 'flour_a'", True),
        ("'a.c' LIKE 'a.%' AND 'abc' NOT LIKE 'a.%'", True),
        ("'two\\nlines' LIKE 'two%'", True),
        ("'xabc' LIKE 'abc%'", False),
        ("LIKE('ABC', 'abc', true)", True),
        ("'xabcx' =~ 'a.c'", True),
        ("'xabcx' !~ '^a.c'", True),
        # Access that finds nothing gives null, never an error.
        ("{a: {b: 1}}.a.b", 1),
        ("{a: 1}.a.b.c", None),
        ("[1, 2, 3][-1]", 3),
        ("[1, 2, 3][7]", None),
        ("{a: 1}['a']", 1),
        ("[{a: 1}, {a: 2}, {}][*].a", [1, 2, None]),
        ("[{a: [1, 2]}, {a: [3]}][*].a[*]", [[1, 2], [3]]),
        ("[{a: [1, 2]}, {a: [3]}][*].a[**]", [1, 2, 3]),
        ("[5, 6, 7][* FILTER CURRENT > 5 LIMIT 1 RETURN CURRENT * 2]", [12]),
        ("{}.a[*].b", []),
        ("[[1], [2, 3]][** FILTER CURRENT != 2]", [1, 3]),
        # Functions.
        ("LENGTH('abc') + LENGTH([1]) + LENGTH({a: 1, b: 2}) + LENGTH(null) + LENGTH(1234)", 10),
        ("CONCAT('a', null, 1, true, [1, 'x'])", 'a1true[1,"x"]'),
        ("CONCAT_SEPARATOR('-', ['a', null, 'b'])", "a-b"),
        ("SUBSTRING('lineage', -3, 2)", "ag"),
        ("SPLIT('a/b:c', ['/', ':'])", ["a", "b", "c"]),
        ("MERGE({a: 1, b: 1}, {b: 2})", {"a": 1, "b": 2}),
        ("KEEP({a: 1, b: 2, c: 3}, 'a', ['c'])", {"a": 1, "c": 3}),
        ("UNSET({a: 1, b: 2}, 'b')", {"a": 1}),
        ("HAS({a: null}, 'a') AND NOT HAS({}, 'a')", True),
        ("MIN([null, 3, 2])", 2),
        ("SUM([1, null, 2.5])", 3.5),
        ("MAX([])", None),
        ("UNIQUE([1, 1.0, '1'])", [1, "1"]),
        ("FLATTEN([1, [2, [3]]])", [1, 2, [3]]),
        ("FLATTEN([1, [2, [3]]], 2)", [1, 2, 3]),
        ("NOT_NULL(null, 0, 1)", 0),
        ("TO_NUMBER('x') + TO_NUMBER(true) + TO_NUMBER([5])", 6),
        ("PARSE_IDENTIFIER('operation/p:op-1')", {"collection": "operation", "key": "p:op-1"}),
        ("STARTS_WITH('lineage', ['x', 'line'])", True),
        ("CONTAINS('lineage', 'age')", True),
        ("RANGE(1, 5, 2)", [1, 3, 5]),
        ("FLOOR(-1.5) + CEIL(1.2)", 0),
        ("FIRST([]) == null AND LAST([1, 2]) == 2", True),
        ("ATTRIBUTES({_key: 1, b: 2, a: 3}, true, true)", ["a", "b"]),
        ("{[CONCAT('a', 'b')]: 1}", {"ab": 1}),
    ],
)
def test_an_expression_has_the_value_that_aql_gives_it(ask: Ask, expression: str, value: object) -> None:
    assert ask(f"RETURN {expression}") == [value]


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
            "FOR p IN product SORT p.price, p._key RETURN p._key",
            {},
            ["salt", "flour", "bread", "oven", "misc:1"],
        ),
        ("FOR p IN product SORT p.price DESC LIMIT 1, 2 RETURN p._key", {}, ["oven", "bread"]),
        (
            "FOR p IN @@c FILTER p._key IN @keys RETURN p.name",
            {"@c": "product", "keys": ["oven"]},
            ["oven%b"],
        ),
        ("FOR p IN product FILTER p.maker.city == null SORT p._key RETURN p._key", {}, ["misc:1", "salt"]),
        ("FOR p IN product FILTER p.@a.city == 'Linz' RETURN p._key", {"a": "maker"}, ["flour"]),
        ("FOR p IN product FILTER p.@a == 'Linz' RETURN p._key", {"a": ["maker", "city"]}, ["flour"]),
        ("FOR p IN product FILTER 'food' IN p.tags SORT p._key RETURN p._key", {}, ["bread", "flour"]),
        (
            "FOR x IN [3, 1, 2] FILTER x != 2 SORT x DESC RETURN {x, twice: x * 2}",
            {},
            [{"x": 3, "twice": 6}, {"x": 1, "twice": 2}],
        ),
        ("FOR x IN 1..2 FOR y IN [x, 10] RETURN x * y", {}, [1, 10, 4, 20]),
        (
            "FOR t IN FLATTEN(FOR p IN product RETURN p.tags || []) SORT t RETURN DISTINCT t",
            {},
            ["food", "fresh", "tool"],
        ),
        ("LET n = (FOR p IN product FILTER p.price == 900 RETURN p.name)[0] RETURN n", {}, ["oven%b"]),
        ("FOR p IN product COLLECT WITH COUNT INTO n RETURN n", {}, [5]),
        ("FOR p IN product FILTER p.price == 'none' COLLECT WITH COUNT INTO n RETURN n", {}, [0]),
        ("LET k = 7 FOR p IN product FILTER false COLLECT WITH COUNT INTO n RETURN [k, n]", {}, [[7, 0]]),
        (
            "FOR p IN product COLLECT city = p.maker.city WITH COUNT INTO n RETURN [city, n]",
            {},
            [[None, 2], ["Graz", 2], ["Linz", 1]],
        ),
        (
            """FOR p IN product FILTER IS_NUMBER(p.price) COLLECT city = p.maker.city
            AGGREGATE low = MIN(p.price), sum = SUM(p.price), n = COUNT() RETURN [city, low, sum, n]""",
            {},
            [["Graz", 3, 903, 2], ["Linz", 1.5, 1.5, 1]],
        ),
        (
            "FOR p IN product COLLECT city = p.maker.city INTO keys = p._key RETURN [city, SORTED(keys)]",
            {},
            [[None, ["misc:1", "salt"]], ["Graz", ["bread", "oven"]], ["Linz", ["flour"]]],
        ),
        (
            "FOR p IN product FILTER p.price == 900 COLLECT city = p.maker.city INTO g RETURN g[*].p._key",
            {},
            [["oven"]],
        ),
        ("RETURN DOCUMENT('product/oven').price", {}, [900]),
        ("RETURN DOCUMENT(product, ['oven', 'nope'])[*]._key", {}, [["oven"]]),
        ("RETURN LENGTH(product)", {}, [5]),
        (
            "FOR p IN product FILTER p._id == 'product/salt' RETURN UNSET(p, '_rev', '_id', 'tags')",
            {},
            [{"_key": "salt", "name": "Salt", "price": None}],
        ),
        ("for p in product filter p.name like 'Ä%' return p._key // lower-case keywords", {}, ["misc:1"]),
    ],
)
def test_a_query_over_collections_gives_what_its_words_say(
    ask: Ask, query: str, binds: dict[str, Any], expected: list[Any]
) -> None:
    assert ask(query, binds) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("FOR v IN OUTBOUND 'product/bread' madeOf SORT v._key RETURN v._key", ["flour", "salt"]),
        ("FOR v IN INBOUND 'product/flour' madeOf SORT v._key RETURN v._key", ["bread", "misc:1"]),
        # flour and misc:1 are made of each other: an edge comes once on a path, a vertex may come again.
        (
            "FOR v IN 1..9 OUTBOUND 'product/bread' madeOf SORT v._key RETURN v._key",
            ["flour", "flour", "misc:1", "salt"],
        ),
        (
            """FOR v IN 1..9 OUTBOUND 'product/bread' madeOf OPTIONS {order: 'bfs', uniqueVertices: 'global'}
            SORT v._key RETURN v._key""",
            ["flour", "misc:1", "salt"],
        ),
        (
            """FOR v, e, p IN 0..1 OUTBOUND DOCUMENT('product/bread') madeOf
            SORT e.index RETURN [v._key, e.index, LENGTH(p.edges)]""",
            [["bread", None, 0], ["flour", 0, 1], ["salt", 1, 1]],
        ),
        ("FOR v IN 2 ANY 'product/salt' madeOf RETURN v._key", ["flour"]),
        ("FOR v IN OUTBOUND null madeOf RETURN v", []),
    ],
)
def test_a_traversal_follows_edges_as_far_as_it_may(ask: Ask, query: str, expected: list[Any]) -> None:
    assert ask(query) == expected


@pytest.mark.parametrize(
    ("query", "binds", "status", "number"),
    [
        ("FOR p IN product RETURN", {}, 400, 1501),
        ("FOR p IN product FILTER p.filter == 1 RETURN p", {}, 400, 1501),
        ("FOR p IN product RETURN DISTINCT p._key RETURN p", {}, 400, 1501),
        ("RETURN DISTINCT 1", {}, 400, 1501),
        ("RETURN 'open", {}, 400, 1501),
        ("   ", {}, 400, 1502),
        ("FOR p IN nowhere RETURN p", {}, 404, 1203),
        ("FOR p IN @@c RETURN p", {"@c": "nowhere"}, 404, 1203),
        ("FOR p IN product FILTER q.a == 1 RETURN p", {}, 404, 1203),
        ("FOR p IN product COLLECT k = p._key RETURN p", {}, 404, 1203),
        ("RETURN `null` /* a name again, and of no collection */", {}, 404, 1203),
        ("RETURN null[*].a", {}, 400, 1501),
        ("FOR p IN product FOR p IN product RETURN p", {}, 400, 1511),
        ("RETURN NO_SUCH(1)", {}, 400, 1540),
        ("RETURN LENGTH()", {}, 400, 1541),
        ("RETURN @a", {}, 400, 1551),
        ("RETURN 1", {"a": 1}, 400, 1552),
        ("FOR p IN @@c RETURN p", {"@c": 1}, 400, 1553),
        ("FOR p IN 5 RETURN p", {}, 400, 1563),
        ("FOR p IN @c RETURN p", {"c": "product"}, 400, 1563),
        ("FOR v IN OUTBOUND 'product/bread' nowhere RETURN v", {}, 404, 1203),
    ],
)
def test_a_query_that_cannot_run_is_refused_with_the_servers_number(
    ask: Ask, query: str, binds: dict[str, Any], status: int, number: int
) -> None:
    with pytest.raises(AQLQueryExecuteError) as refused:
        ask(query, binds)
    assert (refused.value.http_code, refused.value.error_code) == (status, number)


@pytest.mark.parametrize(
    "query",
    [
        "FOR p IN product INSERT p INTO product",
        "FOR p IN product FILTER p.tags ANY == 'food' RETURN p",
        "FOR v IN OUTBOUND 'product/bread' GRAPH 'shop' RETURN v",
        "FOR v IN 1..2 OUTBOUND 'product/bread' madeOf PRUNE v.x == 1 RETURN v",
        "FOR p IN OUTBOUND SHORTEST_PATH 'product/bread' TO 'product/salt' madeOf RETURN p",
        "FOR p IN product SEARCH p.a == 1 RETURN p",
        "LET one = 1 FOR p IN product COLLECT c = p.maker INTO g RETURN g",
    ],
)
def test_aql_outside_the_subset_is_refused_and_not_misread(
    arango: ArangoServer, ask: Ask, query: str
) -> None:
    assert arango.standin  # a real server runs these: there the test is skipped
    with pytest.raises(AQLQueryExecuteError) as refused:
        ask(query)
    assert (refused.value.http_code, refused.value.error_code) == (400, 1501)


def test_a_wrong_type_is_a_warning_and_null_unless_the_query_fails_on_warnings(
    shop: StandardDatabase,
) -> None:
    cursor: Any = shop.aql.execute("RETURN FIRST('text')")
    assert list(cursor) == [None]
    assert [warning["code"] for warning in cursor.warnings()] == [1542]
    with pytest.raises(AQLQueryExecuteError) as refused:
        shop.aql.execute("RETURN 1 / 0", fail_on_warning=True)
    assert refused.value.error_code == 1562


def test_full_count_reports_how_many_there_were_before_the_limit(shop: StandardDatabase) -> None:
    cursor: Any = shop.aql.execute("FOR p IN product LIMIT 2 RETURN p._key", full_count=True)
    assert len(list(cursor)) == 2
    assert cursor.statistics()["fullCount"] == 5
