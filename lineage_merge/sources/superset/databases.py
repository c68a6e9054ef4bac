"""Databases of Superset: where their tables are, by their SQLAlchemy URI. Pure."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from lineage_merge.naming import redact
from lineage_merge.sources.data_source import DataSource, configure, name_dialect
from lineage_merge.sources.json_values import as_text

# The JDBC URL of each dialect of SQLAlchemy, whose naming rules complete the names of tables.
_URLS: Mapping[str, str] = {
    "bigquery": "jdbc:bigquery://bigquery:443;ProjectId={host};DefaultDataset={database}",
    "clickhouse": "jdbc:clickhouse://{host}/{database}",
    "databricks": "jdbc:databricks://{host};ConnCatalog={catalog};ConnSchema={schema}",
    "db2": "jdbc:db2://{host}/{database}",
    "duckdb": "jdbc:duckdb:{path}",
    "hive": "jdbc:hive2://{host}/{database}",
    "mssql": "jdbc:sqlserver://{host};databaseName={database}",
    "oracle": "jdbc:oracle:thin:@//{host}/{service}",
    "snowflake": "jdbc:snowflake://{account}.snowflakecomputing.com/?db={database}&schema={schema}",
    "sqlite": "jdbc:sqlite:{path}",
    "trino": "jdbc:trino://{host}/{levels}",
}
_NAMES = {
    "clickhousedb": "clickhouse",
    "exa": "exasol",
    "ibm_db_sa": "db2",
    "mariadb": "mysql",
    "postgres": "postgresql",
    "presto": "trino",
    "sparksql": "hive",
    "teradatasql": "teradata",
}
_DIALECTS = {"cockroachdb": "postgres", "impala": "hive", "mssql": "tsql", "pinot": "mysql"}
# Files, and services that are no host.
_WITHOUT_HOST = frozenset({"duckdb", "sqlite"})
_URI = re.compile(r"^(?P<name>[A-Za-z]\w*)(?:\+[\w.]+)?://(?P<authority>[^/?]*)(?P<path>/[^?]*)?")
_ATHENA_HOST = re.compile(r"^athena\.[\w-]+\.amazonaws\.com(?:\.cn)?")


def read_database(document: Mapping[str, Any], configured: Mapping[str, str]) -> DataSource:
    """Return where the tables of a database are; `configured`: namespaces by names of databases."""
    name = as_text(document.get("database_name"))
    uri = redact(as_text(document.get("sqlalchemy_uri")))
    match = _URI.match(uri)
    backend = _NAMES.get(match["name"].lower(), match["name"].lower()) if match else ""
    dialect = _DIALECTS.get(backend, name_dialect(backend))
    if namespace := configured.get(name):
        return configure(namespace, dialect)
    if match is None:
        return DataSource(problem=f"the database {redact(name)} has no valid address")
    host = match["authority"].rpartition("@")[2]
    levels = unquote(match["path"] or "").strip("/").split("/")
    options = dict(parse_qsl(uri.partition("?")[2]))
    if backend == "awsathena":
        return _read_athena(host, levels[0], options, name)
    path = unquote(match["path"] or "")[1:]
    if not (path if backend in _WITHOUT_HOST else host):
        return DataSource(
            dialect=dialect, problem=f"the database {redact(name)} ({backend}) names no host: give its "
            "namespace in superset[].databases",
        )  # fmt: skip
    form = _URLS.get(backend, "jdbc:{backend}://{host}/{database}")
    url = form.format(
        backend=backend,
        host=host,
        path=path,
        account=host.removesuffix(".snowflakecomputing.com"),
        database=levels[0],
        levels="/".join(levels),
        service=options.get("service_name") or levels[0],
        catalog=options.get("catalog", ""),
        schema=options.get("schema") or (levels[1] if len(levels) > 1 else ""),
    )
    return DataSource(url=re.sub(r"[;&?]\w+=(?=[;&]|$)", "", url).rstrip("/"), dialect=dialect)


def _read_athena(host: str, schema: str, options: Mapping[str, str], name: str) -> DataSource:
    match = _ATHENA_HOST.match(host)
    if match is None:
        problem = f"the database {redact(name)} (awsathena) names no region"
        return DataSource(dialect="athena", problem=problem)
    above = (options.get("catalog_name") or "AwsDataCatalog", schema or "default")
    return DataSource(namespace=f"awsathena://{match[0]}", above=above, dialect="athena")
