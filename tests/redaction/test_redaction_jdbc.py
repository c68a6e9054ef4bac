"""Of an address of a JDBC driver without rules of its own, only what locates data is retained."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.infra.redaction.addresses import SUBPROTOCOLS_WITH_RULES
from lineage_merge.model.errors import NamingError
from lineage_merge.naming import PLATFORMS, canonical_namespace, name_dataset, name_uri
from lineage_merge.naming.databases import CLICKHOUSE
from lineage_merge.naming.named import JdbcPlatform
from lineage_merge.naming.stores import OTHER
from lineage_merge.naming.warehouse import Warehouse
from tests.redaction.jdbc_forms import UNKNOWN_DRIVERS
from tests.redaction.secret_forms import SECRET, leaks

every_driver = pytest.mark.parametrize("form", UNKNOWN_DRIVERS)


@pytest.mark.parametrize(("form", "retained"), UNKNOWN_DRIVERS.items())
def test_only_what_locates_data_is_retained(form: str, retained: str) -> None:
    assert redact(form.format(SECRET)) == retained
    assert redact(retained) == retained


def _named(name: Any, *parts: str) -> str:
    try:
        return "|".join(name(*parts).name)
    except NamingError as error:
        return error.message


@every_driver
def test_a_dataset_has_one_id_with_any_secret_or_none(form: str) -> None:
    """At each position of an address: namespace, name, location with and without a table."""
    named = [
        (
            _named(name_dataset, url, "s.t"),
            _named(name_dataset, "x", url),
            _named(name_uri, f"{url}:s.t"),
            _named(name_uri, url),
        )
        for url in (form.format(SECRET), form.format("0ther"))
    ]

    assert named[0] == named[1]
    assert not any(map(leaks, named[0]))
    assert canonical_namespace(UNKNOWN_DRIVERS[form]) == named[0][0].partition("|")[0]


@every_driver
def test_the_rest_of_a_document_is_retained(form: str) -> None:
    url = form.format(SECRET).replace("'", "").replace('"', "")
    retained = UNKNOWN_DRIVERS[form]

    assert json.loads(redact(json.dumps({"url": url, "dbtable": "t"}))) == {"url": retained, "dbtable": "t"}
    escaped = json.dumps(json.dumps({"url": url, "dbtable": "t"}))
    assert json.loads(json.loads(redact(escaped))) == {"url": retained, "dbtable": "t"}
    assert redact_sql(f"options (url '{url}', dbtable 't')") == f"options (url '{retained}', dbtable 't')"
    assert redact(f"reads {url}\nand writes t") == f"reads {retained}\nand writes t"


def test_the_quotes_of_a_literal_are_doubled() -> None:
    text = f"concat(a, 'jdbc:exa:h:8563;it''s {SECRET}', b)"
    assert redact_sql(text) == "concat(a, 'jdbc:exa:h:8563', b)"


@pytest.mark.parametrize(
    ("text", "retained"),
    [
        ("concat('src=jdbc:sap://h:1/?a={}', x, ' ', y)", "concat('src=jdbc:sap://h:1/', x, ' ', y)"),
        ("concat('', 'a jdbc:exa:h:1;it''s {}', \"b\")", "concat('', 'a jdbc:exa:h:1', \"b\")"),
        ('{"a":"from jdbc:derby:x;pw={}","b":"keep"}', '{"a":"from jdbc:derby:x","b":"keep"}'),
        ('{"a":"it\'s jdbc:derby:x;pw=\'{}\'","b":1}', '{"a":"it\'s jdbc:derby:x","b":1}'),
        ('{"a":"\\"a jdbc:derby:x;pw={}\\", b","c":1}', '{"a":"\\"a jdbc:derby:x\\", b","c":1}'),
        ("/* jdbc:db2://h/d?x={} */ select a", "/* jdbc:db2://h/d*/ select a"),
    ],
)
def test_an_address_ends_with_the_literal_or_comment_around_it(text: str, retained: str) -> None:
    assert redact(text.replace("{}", SECRET)) == retained


@pytest.mark.parametrize(
    "text",
    [
        "it's at jdbc:exa:h:1;pw=a' {} isn't",
        "'old jdbc:exa:h:1;pw=a' {}'",
        "the users' jdbc:exa:h:1;pw=a' {}",
        "'old jdbc:exa:h:1;pw=a'{}', x",
        "'C:\\', 'old jdbc:exa:h:1;pw=a', '{}",
        "s3://b/*/x jdbc:exa:h:1;pw=*/{}",
        "'old jdbc:mysql://h/d?password=a' {}'",
    ],
)
def test_an_address_ends_with_the_line_if_its_quotes_are_not_balanced(text: str) -> None:
    assert not leaks(redact(text.format(SECRET)))
    assert not leaks(redact_sql(text.format(SECRET)))


@pytest.mark.parametrize(
    "text",
    [
        '{"url": "jdbc:mysql://h/d?password={}", "b": "a_key=1"}',
        "concat('x=jdbc:sqlserver://h;pwd={}', sort_key = 1)",
        '{"u":"jdbc:mysql://h/d?user=u\\u0026password\\u003d{}","b":1}',
        "CASE WHEN a LIKE 'jdbc:%' AND sort_key = 1 THEN 'x' ELSE upper(b) END",
        "options (url 'jdbc:postgresql://h/d', dbtable 'x'); select a from v join u on v.a_key = u.a_key",
        '{"url": "jdbc:postgresql://h/d", "comment": "a_key=1", "other": "x"}',
    ],
)
def test_parameters_of_a_known_driver_end_with_the_literal_around_the_address(text: str) -> None:
    redacted = text.replace("{}", "*****")

    assert redact(text.replace("{}", SECRET)) == redact_sql(text.replace("{}", SECRET)) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "jdbc:exa:h1,h2:8563 and jdbc:db2://h/d, then jdbc:h2:mem:x; is it jdbc:sap://h:1/? No",
        '{"a":"jdbc:db2://h:1/d","b":"jdbc:exa:h1,h2:8563","c":";x"}',
        "dev|jdbc:db2://h:1/d|S.T;x,y",
        "jdbc:db2://h:1/d:(select a,b from t where c = ';')",
        'jdbc:db2://h:1/d:S."T;x"',
        "{url=jdbc:db2://h:1/d}",
    ],
)
def test_an_address_without_parameters_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


_ADDRESS = "jdbc:custom://h1:1,h2:2/shop"
_NOT_A_SPACE = st.characters(exclude_categories=["Cs", "Cc", "Z"])
_LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]))


@given(st.sampled_from([";", "?", ",", "#", "&", ";a=", ",a=", "/a=", ":a="]), _NOT_A_SPACE, _LINE)
def test_nothing_after_the_path_is_retained(separator: str, first: str, rest: str) -> None:
    address = f"{_ADDRESS}{separator}{first}{rest}"

    assert canonical_namespace(address) == _ADDRESS
    assert redact(address) == _ADDRESS


def test_the_subprotocols_with_rules_are_those_of_platforms() -> None:
    platforms = [each for each in PLATFORMS if isinstance(each, JdbcPlatform) and each is not OTHER]
    warehouses = [each for each in platforms if isinstance(each, Warehouse)]

    assert warehouses == platforms
    # None of ClickHouse's parameters is part of a name: all are removed.
    with_rules = [each for each in warehouses if each is not CLICKHOUSE]
    assert {word for each in with_rules for word in (each.scheme, *each.aliases)} == SUBPROTOCOLS_WITH_RULES


@pytest.mark.parametrize(
    ("namespace", "canonical"),
    [
        ("jdbc:postgresql://h/d;{}", "jdbc:postgresql://h/d"),
        ("jdbc:postgresql://a:1,b:2/d?{}", "jdbc:postgresql://a:1,b:2/d"),
        ("jdbc:sqlserver://h:1433;{}", "jdbc:sqlserver://h:1433"),
        ("jdbc:oracle:thin:@//h:1521/x;{}", "jdbc:oracle:thin:@//h:1521/x"),
        ("jdbc:ucanaccess:///my data/x.mdb;{}", "jdbc:ucanaccess:///my data/x.mdb"),
        ("sqlserver://h;{}", "mssql://h:1433"),
        ("teradata://h:1025/d;{}", "teradata://h:1025/d"),
        ("teradata://h:1025/d,{}", "teradata://h:1025/d"),
        ("amqp://u:p@h/v?{}", "amqp://h/v"),
        ("odbc:DSN=x;{}", "odbc:DSN=x"),
        ("mongodb+srv://u:{0}@h/d?{0}", "mongodb+srv://h"),
    ],
)
def test_a_namespace_ends_before_its_parameters(namespace: str, canonical: str) -> None:
    assert canonical_namespace(namespace.format(SECRET)) == canonical
    assert canonical_namespace(canonical) == canonical


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("jdbc:oracle:thin:@h:1521:x;{}:HR.T", "X.HR.T"),
        ("oracle://h:1521/X.HR.T;{}", "X.HR.T"),
        ("sqlserver://h/d.s.t;{}", "d.s.t"),
        ("custom://h/d;{}", "/d"),
        ("odbc:DSN=x;{}", "DSN=x"),
    ],
)
def test_a_name_ends_before_its_parameters(uri: str, name: str) -> None:
    assert name_uri(uri.format(SECRET)).name.name == name
