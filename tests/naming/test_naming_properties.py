"""Properties that hold for every address, valid or malformed."""

import string
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import NamingError
from lineage_merge.naming import PLATFORMS, Named, canonical_namespace, name_dataset, name_uri

SECRET = "S3cr3t"

# No deadline: a busy machine must not fail a property; another test measures the time.
patient = settings(deadline=None)
DEFAULTS = {
    "redshift://h.example.com:5439": "dev.public",
    "postgres://h.example.com:5432": "dev",
    "mysql://h.example.com:3306": "dev.public",
    "mssql://h.example.com:1433": "dev..",
    "spark_catalog": ".x",
}

HEADS = [
    "s3://b/",
    "s3a://b",
    "gs://b/",
    "abfss://c@h/",
    "wasb://h/",
    "hdfs://h:1/",
    "hdfs:///",
    "file:/",
    "file://h/",
    "/",
    "C:\\",
    "dbfs:/",
    "foo://h/",
    "foo:",
    "foo:/",
    "kafka:",
    "kafka://h/",
    "cassandra:",
    "cassandra://h/",
    "bigquery://",
    "bigquery:",
    "mongodb://h/",
    "mongodb+srv://h/",
    "elasticsearch://",
    "elasticsearch://http://h/",
    "snowflake://a/",
    "redshift://h/",
    "postgres://h/",
    "arn:aws:glue:r:1:",
    "hive://h/",
    "spark_catalog:",
    "jdbc:redshift://h.example.com/dev:",
    "jdbc:redshift:iam://c:r/dev:",
    "jdbc:postgresql://h.example.com/dev:",
    "jdbc:postgresql://h.example.com:",
    "jdbc:mysql://h.example.com/dev:",
    "jdbc:mysql://h.example.com/:",
    "jdbc:sqlserver://h.example.com;databaseName=dev:",
    "jdbc:sqlserver://h\\i;x=",
    "jdbc:oracle:thin:@h:1:s:",
    "jdbc:oracle:thin:u/p@",
    "jdbc:oracle:thin:@(",
    "jdbc:snowflake://a/?db=d:",
    "jdbc:trino://h/c/s:",
    "jdbc:hive2://h/d:",
    "jdbc:foo://h/d:",
    "jdbc:foo:",
    "jdbc:sqlite:/x:",
    "jdbc:athena://Region=r;:",
    "jdbc:bigquery://h;ProjectId=p:",
]

PIECES = st.sampled_from(
    [
        "a",
        "B",
        ".",
        "..",
        "/",
        "//",
        ":",
        ";",
        "?",
        "=",
        "&",
        "@",
        "*",
        "[",
        "]",
        "{",
        "}",
        '"',
        "`",
        "'",
        " ",
        "\\",
        "%20",
        "%2F",
        "%",
        "#",
        ",",
        "(",
        ")",
        "dt=1",
        "part-00000",
        "_temporary",
        "metadata",
        "data",
        "_$folder$",
        "0f7d3c1e7f9b4f0e9c395f2f1a4be611",
        "x.csv",
        "table/",
        "select ",
        "ß",
        "İ",
        "\n",
        "\x1c",
        "*****",
        "password=",
    ]
)
TAILS = st.one_of(st.lists(PIECES, max_size=9).map("".join), st.text(max_size=20))
ADDRESSES = st.one_of(st.text(max_size=40), st.builds(str.__add__, st.sampled_from(HEADS), TAILS))
NAMESPACES = st.one_of(
    ADDRESSES, st.sampled_from([*DEFAULTS, "file", "bigquery", "kafka", "arn:aws:glue:r:1"])
)


def named_or_refused(uri: str) -> Named | None:
    try:
        return name_uri(uri, DEFAULTS)
    except NamingError:
        return None


@patient
@given(ADDRESSES)
def test_naming_a_name_again_changes_nothing(uri: str) -> None:
    named = named_or_refused(uri)
    if named is not None:
        again = name_dataset(*named.name, DEFAULTS)
        assert again.name == named.name
        assert (again.label, again.short_name) == (named.label, named.short_name)
        assert named.name.name


@patient
@given(NAMESPACES, TAILS)
@example("A0:##", "a")
@example("a0:#/;b", "a")
def test_a_pair_named_again_is_the_same_pair(namespace: str, name: str) -> None:
    try:
        named = name_dataset(namespace, name, DEFAULTS).name
    except NamingError:
        return
    assert canonical_namespace(named.namespace) == named.namespace
    assert name_dataset(*named, DEFAULTS).name == named


WORDS = st.text(alphabet=string.ascii_letters + string.digits + "_-.", min_size=1, max_size=8).filter(
    lambda word: word not in {".", ".."} and not word.startswith(("_", "."))
)
ORDINARY = st.one_of(
    st.lists(WORDS, min_size=1, max_size=4),
    st.lists(
        st.sampled_from(["sales", "2008", "01", "2008-01-02", "20080102", "x.csv"]), min_size=1, max_size=4
    ),
).map("/".join)


@patient
@given(ORDINARY, ORDINARY)
def test_two_ordinary_paths_never_become_one(first: str, second: str) -> None:
    same = name_uri(f"s3://b/{first}").name == name_uri(f"s3a://b/{second}/").name
    assert same == (first == second)


IDENTIFIERS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)


@patient
@given(*[st.tuples(IDENTIFIERS, IDENTIFIERS)] * 2)
def test_two_quoted_tables_never_become_one(first: tuple[str, str], second: tuple[str, str]) -> None:
    def named(parts: tuple[str, str]) -> Named:
        schema, table = (part.replace('"', '""') for part in parts)
        return name_uri(f'jdbc:postgresql://h/dev:"{schema}"."{table}"')

    assert (named(first).name == named(second).name) == (first == second)


def passwords(*excluded: str) -> st.SearchStrategy[str]:
    part = st.text(
        st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=excluded), max_size=6
    )
    return st.builds(lambda before, after: f"{before}{SECRET}{after}", part, part)


ADDRESSES_WITH_A_PASSWORD = st.one_of(
    st.builds(
        str.format,
        st.sampled_from(
            [
                "jdbc:redshift://u:{}@h:5439/dev:public.t",
                "jdbc:postgresql://u:{}@h/dev:t",
                "jdbc:postgresql://u:{}@h/dev",
                "jdbc:foo://u:{}@h/dev:t",
                "jdbc:oracle:thin:u/{}@h:1521:X:T",
                "mongodb://u:{}@h/db.c",
                "mongodb://u:{}@h",
                "s3a://K:{}@b/x",
                "foo://u:{}@h/x",
                "kafka://u:{}@h/x",
                "elasticsearch://https://u:{}@h/i",
                "redshift://u:{}@h/dev.s.t",
            ]
        ),
        passwords("/", "?", "#", ";"),
    ),
    st.builds(
        str.format,
        st.sampled_from(
            [
                "jdbc:postgresql://h/dev?user=u&password={}:public.t",
                "jdbc:postgresql://h/dev?password={}&ssl=true:t",
                "jdbc:mysql://h?password={}&x=y:t",
                "jdbc:snowflake://h/?db=d&pwd={}&schema=s:t",
                "jdbc:foo://h/d?access_token={}&x=1:t",
                "jdbc:redshift://h/dev?password={}&user=u",
                "foo://h/x?token={}",
                "wasbs://c@a/x?sig={}",
            ]
        ),
        passwords("&"),
    ),
    st.builds(
        str.format,
        st.sampled_from(
            [
                "jdbc:sqlserver://h;databaseName=d;password={};:dbo.t",
                "jdbc:sqlserver://h;password={};databaseName=d:dbo.t",
                "jdbc:redshift://h/dev;UID=u;PWD={}:public.t",
                "jdbc:h2:mem:x;PASSWORD={}:t",
                "jdbc:sqlserver://h;password={};user=u",
            ]
        ),
        passwords(";", "{", "}"),
    ),
)


@patient
@given(ADDRESSES_WITH_A_PASSWORD)
def test_a_password_reaches_neither_a_name_nor_a_message(uri: str) -> None:
    assert SECRET not in redact(uri)
    try:
        shown = repr(name_uri(uri))
    except NamingError as error:
        shown = str(error)
    assert SECRET not in shown


@pytest.mark.parametrize(
    "part",
    [
        "/",
        "//",
        "a=",
        "dt=1/",
        "[",
        "{",
        '"',
        "`",
        ":",
        ": (",
        " ",
        "-c000",
        ".c000.a",
        "run-a-part-",
        "=(",
        "?a=",
        ";a=",
        "a.",
        "part-00000/",
        "_$folder$",
        "0f7d3c1e7f9b4f0e9c395f2f1a4be611/",
        ":@//",
        "\\",
        "%20",
        "a,",
    ],
)
@pytest.mark.parametrize("head", ["s3://b/", "jdbc:postgresql://h/d:", "jdbc:oracle:thin:@", "x:", ""])
def test_the_work_for_an_address_grows_with_its_length(head: str, part: str) -> None:
    def grows_too_much() -> bool:
        short, long = (seconds_for(head + part * count + "!") for count in (600, 3000))
        # Five times, with a margin; work for each pair of parts would be 25 times.
        return long > max(12 * short, 0.05)

    # What disturbs one measurement does not disturb four.
    assert not all(grows_too_much() for _ in range(4))


def seconds_for(uri: str) -> float:
    """The CPU time of naming and redaction."""
    started = time.process_time()
    named_or_refused(uri)
    redact(uri)
    return time.process_time() - started


def test_the_last_platform_claims_what_no_other_does() -> None:
    assert len({id(platform) for platform in PLATFORMS}) == len(PLATFORMS)
    assert name_dataset("anything at all", "x").name == ("anything at all", "x")
