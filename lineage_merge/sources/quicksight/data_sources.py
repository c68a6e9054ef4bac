"""Data sources: where their tables are, as OpenLineage names them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.naming import redact
from lineage_merge.sources.data_source import DataSource, configure, name_dialect
from lineage_merge.sources.json_values import as_mapping, as_text

# The JDBC URL of each kind of parameters, whose naming rules complete the names of tables.
_URLS: Mapping[str, str] = {
    "AuroraParameters": "jdbc:mysql://{host}:{port}/{database}",
    "AuroraPostgreSqlParameters": "jdbc:postgresql://{host}:{port}/{database}",
    "BigQueryParameters": "jdbc:bigquery://bigquery:443;ProjectId={project}",
    "DatabricksParameters": "jdbc:databricks://{host}:{port}",
    "ExasolParameters": "jdbc:exasol://{host}:{port}",
    "ImpalaParameters": "jdbc:impala://{host}:{port}/{database}",
    "MariaDbParameters": "jdbc:mysql://{host}:{port}/{database}",
    "MySqlParameters": "jdbc:mysql://{host}:{port}/{database}",
    "OracleParameters": "jdbc:oracle:thin:@//{host}:{port}/{database}",
    "PostgreSqlParameters": "jdbc:postgresql://{host}:{port}/{database}",
    "PrestoParameters": "jdbc:trino://{host}:{port}/{catalog}",
    "RedshiftParameters": "jdbc:redshift://{host}:{port}/{database}",
    "SnowflakeParameters": "jdbc:snowflake://{host}/?db={database}",
    "SparkParameters": "jdbc:spark://{host}:{port}",
    "SqlServerParameters": "jdbc:sqlserver://{host}:{port};databaseName={database}",
    "StarburstParameters": "jdbc:trino://{host}:{port}/{catalog}",
    "TeradataParameters": "jdbc:teradata://{host}:{port}/{database}",
    "TrinoParameters": "jdbc:trino://{host}:{port}/{catalog}",
}
# Dialects of SQL by kind of parameters, where they are not called as the protocol of the URL.
_DIALECTS: Mapping[str, str] = {
    "AthenaParameters": "athena",
    "ImpalaParameters": "hive",
    "OracleParameters": "oracle",
    "SqlServerParameters": "tsql",
}
# What precedes the name of a table: of Athena's until a catalog or a database is named.
_OF_ATHENA = ("AwsDataCatalog", "default")


@dataclass(frozen=True, slots=True)
class DataSources:
    """The data sources of an account, by id. `configured`: namespaces that the configuration has for some."""

    by_id: Mapping[str, DataSource] = field(default_factory=dict)
    configured: Mapping[str, str] = field(default_factory=dict)

    def find(self, arn: str) -> DataSource:
        """Return a data source by its ARN."""
        identifier = arn.rpartition("/")[2]
        known = self.by_id.get(identifier)
        if namespace := self.configured.get(identifier):
            return configure(namespace, known.dialect if known else "")
        if known is None:
            return DataSource(problem=f"the data source {identifier} is not described")
        return known


def read_data_source(document: Mapping[str, Any]) -> DataSource:
    """Return where the tables of a described data source are."""
    name = as_text(document.get("DataSourceId"))
    parameters = as_mapping(document.get("DataSourceParameters"))
    kind = next(iter(parameters), "")
    # Before they become parts of an address, in which a secret may not be known as such.
    values = {
        key: redact(value) if isinstance(value, str) else value
        for key, value in as_mapping(parameters.get(kind)).items()
    }
    partition, region = _region_of(as_text(document.get("Arn")))
    if kind == "AthenaParameters" or (not kind and document.get("Type") == "ATHENA"):
        domain = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
        namespace = f"awsathena://athena.{region}.{domain}"
        return DataSource(namespace=namespace, above=_OF_ATHENA, dialect="athena")
    if kind == "S3Parameters":
        location = as_mapping(values.get("ManifestFileLocation"))
        bucket, key = as_text(location.get("Bucket")), as_text(location.get("Key"))
        return DataSource(manifest=f"s3://{bucket}/{key}")
    if kind == "S3TablesParameters":
        return DataSource(namespace=as_text(values.get("TableBucketArn")), dialect="athena")
    if kind in ("AmazonElasticsearchParameters", "AmazonOpenSearchParameters"):
        return DataSource(namespace=f"elasticsearch://{as_text(values.get('Domain'))}")
    form = _URLS.get(kind, "")
    if kind == "RedshiftParameters" and not values.get("Host"):
        form = "jdbc:redshift:iam://{cluster}:{region}/{database}"
    url = form.format(
        host=as_text(values.get("Host")).partition("/")[0],
        port=values.get("Port") or "",
        database=as_text(values.get("Database")),
        catalog=as_text(values.get("Catalog")),
        project=as_text(values.get("ProjectId")),
        cluster=as_text(values.get("ClusterId")),
        region=region,
    )
    dialect = _DIALECTS.get(kind, _dialect_of(form))
    if not form or not (values.get("Host") or values.get("ClusterId") or values.get("ProjectId")):
        what = as_text(document.get("Type")) or kind.removesuffix("Parameters") or "unknown"
        return DataSource(dialect=dialect, problem=f"the data source {name} ({what}) names no host")
    return DataSource(url=url, dialect=dialect)


def _dialect_of(url: str) -> str:
    return name_dialect(url.removeprefix("jdbc:").partition(":")[0])


def _region_of(arn: str) -> tuple[str, str]:
    """Return the partition and the region of an ARN."""
    parts = [*arn.split(":"), "", "", "", ""]
    return parts[1], parts[3]
