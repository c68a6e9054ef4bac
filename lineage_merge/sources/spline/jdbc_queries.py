"""Tables behind a JDBC read: each table that a query reads is a source. Pure.

Spark's option `dbtable` may contain a query in parentheses, and `query` always is one; Spline appends either
to the connection URL (``jdbc:redshift://host:5439/dev:(select ...) alias``), and stores the options
separately. Only queries need sqlglot (the extra `columns`).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.model.errors import NamingError
from lineage_merge.naming import redact
from lineage_merge.naming.jdbc import is_jdbc, parse_connection, split_jdbc, table_identifiers
from lineage_merge.sources.json_values import as_text

if TYPE_CHECKING:
    from lineage_merge.column_lineage.sql.pushed_queries import PushedQuery

# sqlglot's dialect by JDBC driver name.
_DIALECTS = {
    "athena": "athena",
    "awsathena": "athena",
    "bigquery": "bigquery",
    "clickhouse": "clickhouse",
    "databricks": "databricks",
    "duckdb": "duckdb",
    "hive2": "hive",
    "mariadb": "mysql",
    "mysql": "mysql",
    "oracle": "oracle",
    "postgresql": "postgres",
    "presto": "presto",
    "redshift": "redshift",
    "snowflake": "snowflake",
    "spark": "databricks",
    "sqlite": "sqlite",
    "sqlserver": "tsql",
    "teradata": "teradata",
    "trino": "trino",
}
_NO_SQLGLOT = "a query, whose tables need sqlglot: install lineage-merge[columns]"


# Added to a read operation whose `inputSources` are the tables behind queries: their `PushedQuery`s.
QUERIES = "_queries"


class Sources(NamedTuple):
    """The tables behind a read operation's address.

    `uris` are addresses of one dataset each. `is_query`: the rows and columns of the read are the result of a
    `query` over them. `problem`: why a query's tables are unknown; then `uris` is empty.
    """

    uris: tuple[str, ...]
    is_query: bool = False
    problem: str = ""
    query: "PushedQuery | None" = None


def sources(uri: str, params: Mapping[str, Any] | None = None) -> Sources:
    """Return the datasets that a read of `uri` reads; `params` are its options as stored by Spline.

    An address that is not JDBC, or names a table, is returned unchanged. So is one that cannot be parsed:
    naming it reports the problem.
    """
    if not is_jdbc(uri.strip()):
        return Sources((uri,))
    try:
        url, text = _split(uri, params or {})
    except NamingError:
        return Sources((uri,))
    if _is_table(url, text):
        return Sources((uri if uri.rstrip().endswith(f":{text}") else f"{url}:{text}",))
    try:
        query = _query(text, url)
        return Sources(query.tables, is_query=True, query=query)
    except _Unreadable as error:
        return Sources((), is_query=True, problem=error.args[0])


class _Unreadable(Exception):
    """The tables of a query are unknown; the message says why."""


def _split(uri: str, params: Mapping[str, Any]) -> tuple[str, str]:
    """Return the connection URL and what is read through it, preferably from the options.

    In the address, a masked password may have replaced it, or a colon of the query may look like the
    separator.
    """
    options = {str(name).lower(): value for name, value in params.items()}
    query, table, url = (as_text(options.get(name)) for name in ("query", "dbtable", "url"))
    text = query or table
    if not text:
        return split_jdbc(uri)
    if not is_jdbc(url):
        url = _connection_url(uri, text)
    # A trailing comment must not comment out the closing parenthesis.
    return url, f"({query}\n) q" if query else table


def _connection_url(uri: str, text: str) -> str:
    """Return the connection URL of an address that ends with `text`, or has lost it."""
    start = uri.find(f":({text}") if f":({text}" in uri else uri.rfind(f":{text}")
    if start > 0:
        return uri[:start]
    try:
        return split_jdbc(uri)[0]
    except NamingError:
        return uri.strip()


def _is_table(url: str, text: str) -> bool:
    try:
        table_identifiers(url, text)
    except NamingError:
        return False
    return True


def _dialect(url: str) -> str:
    try:
        protocols: Iterable[str] = parse_connection(url).protocols
    except NamingError:
        return ""
    return next((_DIALECTS[protocol] for protocol in protocols if protocol in _DIALECTS), "")


def _query(text: str, url: str) -> "PushedQuery":
    try:
        import sqlglot  # noqa: F401 (the extra may be missing)

        from lineage_merge.column_lineage.sql.pushed_queries import PushedQuery, UnreadableQuery
    except ImportError:
        raise _Unreadable(_NO_SQLGLOT) from None
    try:
        return PushedQuery(text, url, _dialect(url))
    except UnreadableQuery as error:
        raise _Unreadable(f"a query whose tables are unknown: {error}") from None


def redact_connection(uri: str) -> str:
    """Return an address for messages: without secrets and without the query, which varies."""
    try:
        return redact(split_jdbc(uri)[0])
    except NamingError:
        return redact(uri)
