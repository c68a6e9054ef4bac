"""Forms of namespaces by dbt adapter or dialect of SQL: of messages, and in place of unknown ones. Pure."""

from collections.abc import Mapping

from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.jdbc import is_jdbc
from lineage_merge.naming.resolve import name_uri

_FORMS: Mapping[str, str] = {
    "athena": "awsathena://athena.region.amazonaws.com",
    "bigquery": "bigquery",
    "databricks": "databricks://workspace-host",
    "duckdb": "duckdb://database",
    "fabric": "mssql://host:1433",
    "fabricspark": "spark_catalog",
    "glue": "arn:aws:glue:region:account",
    "hive": "hive://host:9083",
    "mysql": "mysql://host:3306",
    "oracle": "oracle://host:1521",
    "postgres": "postgres://host:5432",
    "presto": "trino://host:8080",
    "redshift": "redshift://cluster.region:5439",
    "snowflake": "snowflake://organization-account",
    "spark": "spark_catalog",
    "spark2": "spark_catalog",
    "sqlite": "sqlite://database",
    "sqlserver": "mssql://host:1433",
    "starburst": "trino://host:8080",
    "synapse": "mssql://host:1433",
    "trino": "trino://host:8080",
    "tsql": "mssql://host:1433",
}


def namespace_form(platform: str) -> str:
    """Return the form of a platform's namespaces, such as ``postgres://host:5432``."""
    return _FORMS.get(platform, f"{platform or 'warehouse'}://host")


def fixed_namespace(platform: str) -> str | None:
    """Return the namespace of a platform whose tables have only one (BigQuery, Spark's catalog)."""
    form = namespace_form(platform)
    return None if ":" in form else form


def form_of_text(text: str, platform: str = "") -> str:
    """Return the namespace that an invalid one probably is, or its form: that of a JDBC URL without it.

    The form is that of the text's scheme, or else that of `platform`.
    """
    if is_jdbc(text):
        try:
            return name_uri(f"{text.strip()}:t").name.namespace
        except NamingError:
            text = text.strip()[len("jdbc:") :]
    scheme = redact(text).strip().partition(":")[0].lower()
    return namespace_form(scheme if scheme in _FORMS else platform or "postgres")
