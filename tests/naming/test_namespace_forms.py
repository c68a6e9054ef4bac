"""Namespaces that messages suggest: those of the platform at hand."""

import pytest

from lineage_merge.config.section import parse_namespace
from lineage_merge.model.errors import ConfigError
from lineage_merge.naming import canonical_namespace, find_fixed_namespace, namespace_form


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("jdbc:postgresql://h/x?user=a&password=s3cret", "not a namespace but a JDBC URL: write postgres://h:5432"),
        ("jdbc:snowflake://acme-x.snowflakecomputing.com/?db=a", "a JDBC URL: write snowflake://acme-x"),
        ("jdbc:sqlserver://h:1433;databaseName=x", "a JDBC URL: write mssql://h:1433"),
        ("jdbc:oracle:thin", "a JDBC URL: write oracle://host:1521"),
        ("snowflake://", "expected a namespace such as snowflake://organization-account"),
        ("dev|public", "expected a namespace such as postgres://host:5432"),
    ],
)  # fmt: skip
def test_an_invalid_namespace_is_answered_with_one_of_its_platform(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_namespace(text, "key")

    assert raised.value.message.endswith(problem)


@pytest.mark.parametrize(
    ("text", "platform", "form"),
    [
        ("foo bar", "snowflake", "snowflake://organization-account"),
        ("my proj", "bigquery", "bigquery"),
        ("mysql://a b", "snowflake", "mysql://host:3306"),
    ],
)
def test_an_invalid_namespace_without_a_scheme_is_answered_with_the_form_of_the_dialect(
    text: str, platform: str, form: str
) -> None:
    with pytest.raises(ConfigError, match=f"expected a namespace such as {form}$"):
        parse_namespace(text, "key", platform)


@pytest.mark.parametrize("platform", ["athena", "duckdb", "glue", "hive", "redshift", "snowflake", "trino"])
def test_forms_are_namespaces_that_a_user_completes(platform: str) -> None:
    form = namespace_form(platform)

    assert canonical_namespace(form) == form
    assert find_fixed_namespace(platform) is None


def test_platforms_without_hosts_have_one_namespace() -> None:
    assert [find_fixed_namespace(each) for each in ("bigquery", "spark")] == ["bigquery", "spark_catalog"]
    assert namespace_form("vertica") == "vertica://host"
    assert namespace_form("") == "warehouse://host"
