"""OpenLineage names (namespace and name) of the addresses that sources contain.

One class per platform; `PLATFORMS` lists them. Names follow OpenLineage's naming conventions
(https://openlineage.io/docs/spec/naming). Each text is redacted first: no secret becomes part of an id.
"""

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote, unquote

from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import NamingError
from lineage_merge.naming import databases, filesystem, stores, warehouses
from lineage_merge.naming.address import Address, parse, parse_namespace, trim
from lineage_merge.naming.filesystem import FileSystem
from lineage_merge.naming.identifiers import split_name
from lineage_merge.naming.jdbc import is_jdbc, parse_connection, split_jdbc
from lineage_merge.naming.named import JdbcPlatform, Named, Platform
from lineage_merge.naming.warehouse import Warehouse

__all__ = [
    "PLATFORMS",
    "REDSHIFT_DATA_API",
    "Named",
    "canonical_namespace",
    "completes_names",
    "name_dataset",
    "name_uri",
    "path_uri",
    "redact",
    "split_jdbc",
    "table_of_uri",
    "table_uri",
]


PLATFORMS: tuple[Platform, ...] = (
    *filesystem.PLATFORMS,
    *databases.PLATFORMS,
    *warehouses.PLATFORMS,
    *stores.PLATFORMS,
)
_NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})
_MAX_ROUNDS = 4
_TABLE = "catalog-table:"
# Precedes the name of a table whose Redshift only a rule of the merge knows.
REDSHIFT_DATA_API = "redshift-data-api:"
_JDBC_PLATFORMS = tuple(platform for platform in PLATFORMS if isinstance(platform, JdbcPlatform))


def name_uri(uri: str, defaults: Mapping[str, str] = _NO_DEFAULTS) -> Named:
    """Name the dataset of a raw URI, as Spline records it.

    `defaults` maps a canonical namespace to ``database.schema`` or ``database``, to complete short names
    there. Raises `NamingError` if the URI names no dataset: its form is unknown, it is a query, or its table
    is missing. The message contains no secret.
    """
    text = uri.strip()
    if not text:
        raise NamingError("an empty address")
    if is_jdbc(text):
        # Redacted without the table, which redaction of a password at the end of the URL would remove.
        url, table = split_jdbc(text)
        connection = parse_connection(redact(url))
        jdbc = next(platform for platform in _JDBC_PLATFORMS if platform.claims_jdbc(connection))
        located = jdbc.locate_jdbc(connection, table)
        # The protocol of an unknown driver may be the scheme of another platform, which normalizes the name.
        return name_dataset(located.namespace, located.name, defaults)
    address = parse(redact(text))
    platform = _platform(address)
    return _normalize(platform, *platform.locate(address), defaults)


def name_dataset(namespace: str, name: str, defaults: Mapping[str, str] = _NO_DEFAULTS) -> Named:
    """Name a dataset with a given OpenLineage namespace and name (dbt, a rule).

    Both parts become canonical: ``s3a://b`` and ``x/part-00000`` are ``s3://b`` and ``x``.
    Raises `NamingError` for an empty namespace, or a name without a table.
    """
    address = parse_namespace(redact(namespace))
    platform = _platform(address)
    return _normalize(platform, platform.canonical_namespace(address), redact(name), defaults)


def canonical_namespace(namespace: str) -> str:
    """Return the canonical spelling of a namespace, such as ``redshift://wh.us-east-1`` with its port.

    Raises `NamingError` for an empty one.
    """
    address = parse_namespace(redact(namespace))
    return _platform(address).canonical_namespace(address)


def completes_names(namespace: str, default: str) -> bool:
    """Whether a default completes the shortest names in a namespace.

    ``public`` does not complete names of Redshift, which have a database and a schema: ``public.sales`` would
    become ``public.public.sales``. Raises `NamingError` for an empty namespace.
    """
    platform = _platform(parse_namespace(namespace))
    parts = [part for part in split_name(default) if part.value]
    return len(parts) >= (platform.levels - 1 if isinstance(platform, Warehouse) else 1)


def path_uri(namespace: str, name: str) -> str:
    """Return the URI of a dataset that OpenLineage names by its path; "" in a namespace of tables.

    ``("s3a://bucket", "a/b")`` is ``s3a://bucket/a/b``, ``("file", "/data/a")`` is ``file:/data/a``.
    """
    try:
        address = parse_namespace(namespace)
    except NamingError:
        return ""
    # A namespace with a path is the warehouse of a catalog.
    platform = _platform(address)
    if platform is stores.OTHER or not isinstance(platform, FileSystem) or address.rest.strip("/"):
        return ""
    root = trim(namespace.strip())
    return f"{root}/{name.lstrip('/')}" if "://" in root else f"{root.rstrip(':')}:/{name.lstrip('/')}"


def table_uri(catalog: str, name: str) -> str:
    """Return an address of a table that has none: ``catalog-table:lake/db.sales``."""
    return f"{_TABLE}{quote(catalog, safe='')}/{quote(name, safe='')}"


def table_of_uri(uri: str) -> tuple[str, str] | None:
    """Return catalog and name of an address that `table_uri` returned; None for another one."""
    catalog, slash, name = uri.removeprefix(_TABLE).partition("/")
    return (unquote(catalog), unquote(name)) if uri.startswith(_TABLE) and catalog and slash else None


def _normalize(platform: Platform, namespace: str, name: str, defaults: Mapping[str, str]) -> Named:
    """Normalize a name. Added or removed quotes can reveal another part to redact."""
    named = platform.identify(namespace, name, defaults)
    for _ in range(_MAX_ROUNDS):
        redacted = redact(named.name.name)
        if redacted == named.name.name:
            return named
        named = platform.identify(namespace, redacted, defaults)
    raise NamingError(f"{redact(namespace)}: a name with a password")


def _platform(address: Address) -> Platform:
    return next(platform for platform in PLATFORMS if platform.claims(address))


_FORMS: Mapping[str, str] = {
    "athena": "awsathena://athena.region.amazonaws.com",
    "bigquery": "bigquery",
    "clickhouse": "clickhouse://host:8123",
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


def find_fixed_namespace(platform: str) -> str | None:
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
