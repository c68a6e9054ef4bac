"""Names, paths, SQL and sentences without a secret are left as they are."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_merge.infra.redaction import redact, redact_sql

_ADDRESSES = (
    "s3://tickit-raw/sales",
    "s3://bucket/sales@2026/a:b/c=d",
    "s3://bucket//me@example.com/x",
    "s3://bucket/a//b:c@d/x",
    "s3://bucket/x?versionId=3sL4kqtJlcpXroDTDmJrmSpXd3dIbrHY",
    "s3://bucket/token=eth/date=2026-01-01/part-00000.parquet",
    "s3://bucket/secretary=5/tokens_used=7/x",
    "s3a://arn:aws:s3:us-east-1:123456789012:accesspoint/name/a@b",
    "arn:aws:iam::123456789012:role/etl@prod",
    "arn:aws:glue:us-east-1:123456789012",
    "hdfs://nn1:8020,nn2:8020/user/me@corp/x",
    "hdfs:/a:b@c",
    "file:/home/me@corp/sales",
    "/data/2026-01-01T10:00:00/me@corp",
    "http://[::1]:8080/a@b",
    "abfss://container@account.dfs.core.windows.net/x",
    "wasbs://container@account.blob.core.windows.net/x",
    "kafka://broker1:9092,broker2:9092",
    "redshift://cluster.us-east-1:5439",
    "mssql://host:1433/instance",
    "bigquery:project:dataset.table@-3600000",
    "jdbc:postgresql://host:5432/dev?currentSchema=a&sslmode=require:public.t",
    "jdbc:sqlserver://host;databaseName=d;encrypt=true:dbo.t",
    "jdbc:oracle:thin:@//host:1521/service:SCHEMA.TABLE",
    "jdbc:oracle:thin:@host:1521:sid:T@link",
    "jdbc:sqlite:data/me@corp.db:t",
    "jdbc:h2:file:~/a@b:t",
    "jdbc:phoenix:zk1,zk2:2181:/hbase:SCHEMA.T",
    "dev|s3://bucket|sales@2026/x",
)
_NAMES = (
    "password",
    "user_password",
    "tokens",
    "secret_key",
    "public.password_resets",
    "db.table@v123",
    "a:b",
    "crypt",
    "decrypted",
    "struct<password:string,token:map<string,bigint>>",
    "struct<password: string, pwd: varchar(10), secret: decimal(8,2)>",
    "nativespark-tickit-jr_0123456789abcdef",
    "application_1700000000000_0001",
    "spark 3.5.9",
)
_SENTENCES = (
    "Password resets by day; see https://example.com/wiki, or mail me@example.com",
    "the password: hashed with bcrypt, never stored",
    "tokens: 5, of which 3 are used",
    "owner:me@example.com",
    "basic auth is off, the bearer of news is here",
    "2026-01-01T10:00:00.000Z to 2026-01-02 10:00:00+01:00",
    "is missing: spline.arango.password_env",
    "must be a string, not 5",
)
_SQL = (
    "CASE WHEN password = 'x' THEN token ELSE secret_key END",
    "upper(password) = 'A=B' AND token <> 'c@d'",
    "concat(user, ':', password, '@', host)",
    "aes_encrypt(name, key_column, 'GCM', 'DEFAULT')",
    "aes_decrypt(unhex(a), cast(k as binary))",
    "decrypt(value, passphrase)",
    "md5(password || 'pepper')",
    "hmac(data, key, 'sha256')",
    "regexp_extract(url, 'https?://([^/@:]+)(:[0-9]+)?/', 1)",
    "split(email, '@')[1]",
    "payload:user:name::string",
    "TIMESTAMP '2026-01-01 10:00:00'",
    "it''s",
)


@pytest.mark.parametrize("text", [*_ADDRESSES, *_NAMES, *_SENTENCES])
def test_an_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text
    assert redact_sql(text) == text


def test_names_of_configuration_keys_are_shown_and_their_values_are_not() -> None:
    for text in (
        "set spline.arango.password: password_env",
        "give password=password_env, or token: 'token_env'",
        'exporters.datahub: {"token": "token_env"}',
    ):
        assert redact(text) == text
    assert redact("spline.arango.password: hunter2_env") == "spline.arango.password: *****"
    assert redact("password=password_env/x7") == "password=*****"


@pytest.mark.parametrize("expression", _SQL)
def test_an_ordinary_expression_stays_as_it_is(expression: str) -> None:
    assert redact_sql(expression) == expression


@pytest.mark.parametrize(
    ("expression", "redacted"),
    [
        ("aes_encrypt(a, 'S')", "aes_encrypt(a, '*****')"),
        ("aes_encrypt(a, 'S', 'GCM', 'PKCS')", "aes_encrypt(a, '*****', 'GCM', 'PKCS')"),
        (
            "base64(aes_encrypt(cast(a as binary), cast('S' as binary), 'ECB'))",
            "base64(aes_encrypt(cast(a as binary), cast('*****' as binary), 'ECB'))",
        ),
        ("try_aes_decrypt(unhex(a), unhex('53'))", "try_aes_decrypt(unhex(a), unhex('*****'))"),
        ("ENCRYPT(a, 'S''T', 'aad')", "ENCRYPT(a, '*****', '*****')"),
        ("aes_encrypt(a, concat('S', k, 'T')) || 'U'", "aes_encrypt(a, concat('*****', k, '*****')) || 'U'"),
        ("if(b = 'x', pgp_sym_encrypt(a, 'S'), 'y')", "if(b = 'x', pgp_sym_encrypt(a, '*****'), 'y')"),
        ("des_encrypt(a, X'4142')", "des_encrypt(a, X'*****')"),
        ("hmac(a, 'S', 'sha256')", "hmac(a, '*****', 'sha256')"),
        (r"aes_encrypt('it\'s', 'S')", "aes_encrypt('*****"),
        ("aes_encrypt(a, 'S and the text is cut here", "aes_encrypt(a, '*****"),
        ("aes_encrypt(aes_encrypt(a, 'S'), 'T')", "aes_encrypt(aes_encrypt(a, '*****'), '*****')"),
        ("aes_encrypt(a, S, GCM, DEFAULT, , )", "aes_encrypt(a, *****, GCM, DEFAULT, , )"),
        ("aes_encrypt(key => 'S', expr => a)", "aes_encrypt(key => '*****', expr => a)"),
        ("api_call(password => 'S', a => 'b')", "api_call(password => '*****', a => 'b')"),
        ("concat('https://u:S@h/', a)", "concat('https://h/', a)"),
        ("concat(a, 'https://u:S", "concat(a, 'https://"),
        ("encrypt(\"ssn\", 'S')", "encrypt(\"ssn\", '*****')"),
        (
            "staticinvoke(ExpressionImplUtils, aesEncrypt, a, 'S', 'GCM')",
            "staticinvoke(ExpressionImplUtils, aesEncrypt, a, '*****', 'GCM')",
        ),
        ("staticinvoke(CharVarcharCodegenUtils, readSidePadding, a, 'x')", None),
    ],
)
def test_the_key_of_an_encryption_function_is_masked(expression: str, redacted: str | None) -> None:
    assert redact_sql(expression) == (redacted or expression)


def test_apostrophes_and_quoted_names_hide_no_key() -> None:
    assert redact("it's made by hmac(a, 'S')") == "it's made by hmac(a, '*****')"
    assert redact("dw.\"hmac(a, 'S')\"") == "dw.\"hmac(a, '*****')\""


_WORD = st.text(alphabet="abcXYZ019_-. ", min_size=1, max_size=8)
_SEGMENT = st.one_of(
    _WORD,
    st.builds("{}@{}".format, _WORD, _WORD),
    st.builds("{}:{}".format, _WORD, _WORD),
    st.builds("{}={}".format, st.sampled_from(["date", "token", "region", "sort_key", "monkey"]), _WORD),
    st.sampled_from(["password", "secrets", "tokens", "keys", "%20", "part-00000"]),
)


@settings(deadline=None)
@given(
    st.sampled_from(["s3://bucket/", "s3a://bucket/", "hdfs://nn:8020/", "gs://b/", "/", "file:/", "dbfs:/"]),
    st.lists(_SEGMENT, min_size=1, max_size=6),
)
def test_a_path_stays_as_it_is(root: str, segments: list[str]) -> None:
    path = root + "/".join(segments)
    assert redact(path) == path


def test_no_text_of_a_captured_document_changes(data: Path) -> None:
    texts = list(_captured_texts(data))

    assert len(texts) > 20_000
    assert {text: redact(text) for text in texts if redact(text) != text} == {}


def _captured_texts(data: Path) -> Iterator[str]:
    for file in sorted(data.rglob("*.json*")):
        raw = file.read_bytes()
        content = (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode()
        documents = [content] if ".jsonl" not in file.name else content.splitlines()
        for document in documents:
            try:
                yield from _texts(json.loads(document))
            except ValueError:
                continue


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
