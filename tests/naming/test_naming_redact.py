"""No credential of an address reaches a message."""

import pytest

from lineage_merge.infra.redaction import redact


@pytest.mark.parametrize(
    ("uri", "redacted"),
    [
        ("s3://b/x/y", "s3://b/x/y"),
        ("s3a://AKIA:se/cret@b/x", "s3a://b/x"),
        ("abfss://c@acct.dfs.core.windows.net/x", "abfss://c@acct.dfs.core.windows.net/x"),
        ("jdbc:redshift://u:p@h:5439/dev:public.t", "jdbc:redshift://h:5439/dev:public.t"),
        (
            "jdbc:redshift://h/dev?user=u&password=p&ssl=true:t",
            "jdbc:redshift://h/dev?user=u&password=*****&ssl=true:t",
        ),
        ("jdbc:sqlserver://h;user=u;PassWord=a&b;x=y:t", "jdbc:sqlserver://h;user=u;PassWord=*****;x=y:t"),
        ("jdbc:sqlserver://h;password={a;b};x=y:t", "jdbc:sqlserver://h;password=*****;x=y:t"),
        ("jdbc:postgresql://h/d?password={a}b&x=y:t", "jdbc:postgresql://h/d?password=*****&x=y:t"),
        # The user is the schema of its tables.
        ("jdbc:oracle:thin:scott/ti@ger@//h:1521/x:t", "jdbc:oracle:thin:scott/*****@//h:1521/x:t"),
        (
            "jdbc:mysql://address=(host=h)(password=p)/d:t",
            "jdbc:mysql://address=(host=h)(password=*****)/d:t",
        ),
        ("jdbc:teradata://h/USER=u,PASSWORD=p", "jdbc:teradata://h"),
        ("elasticsearch://https://u:p@h/i", "elasticsearch://https://h/i"),
        ("https://h/x?X-Amz-Signature=abc&v=1", "https://h/x?X-Amz-Signature=*****&v=1"),
        (
            "wasbs://c@a.blob.core.windows.net/x?sv=1&sig=abc",
            "wasbs://c@a.blob.core.windows.net/x?sv=1&sig=*****",
        ),
        (
            "jdbc:snowflake://h/?db=d&private_key_file_pwd=x&token=y",
            "jdbc:snowflake://h/?db=d&private_key_file_pwd=*****&token=*****",
        ),
        (
            "jdbc:awsathena://Region=r;AccessKey=a;SecretKey=b;x=1",
            "jdbc:awsathena://Region=r;AccessKey=*****;SecretKey=*****;x=1",
        ),
        ("s3://b/AKIAIOSFODNN7EXAMPLE/x", "s3://b/*****/x"),
    ],
)
def test_only_credentials_are_removed(uri: str, redacted: str) -> None:
    assert redact(uri) == redacted
