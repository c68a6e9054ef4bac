"""The tables behind a read over JDBC: a query reads tables, and each of them is a source. Pure.

Spark's option `dbtable` may hold a query in brackets, and `query` always holds one; Spline
writes either behind the connection URL (``jdbc:redshift://host:5439/dev:(select ...) alias``),
and keeps the options beside it. Needs sqlglot (the extra `columns`) for queries only.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.model.errors import NamingError
from lineage_merge.naming import redact
from lineage_merge.naming.jdbc import is_jdbc, parse_connection, split_jdbc, table_identifiers

if TYPE_CHECKING:
    from lineage_merge.sources.spline.pushed_queries import PushedQuery

# The driver's word, and what sqlglot calls the SQL that is spoken there.
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
_NO_SQLGLOT = (
    "a query, and sqlglot is not installed, which tells its tables: pip install 'lineage-merge[columns]'"
)


# Added to a read operation whose `inputSources` are the tables behind queries: their `PushedQuery`s.
QUERIES = "_queries"


class Sources(NamedTuple):
    """What a read operation's address stands for.

    `uris` are addresses that name a dataset each. `is_query`: rows and columns of the read are
    those of a `query` over them. `problem` says why a query's tables are unknown; then there are none.
    """

    uris: tuple[str, ...]
    is_query: bool = False
    problem: str = ""
    query: "PushedQuery | None" = None


def sources(uri: str, params: Mapping[str, Any] | None = None) -> Sources:
    """The datasets that a read of `uri` reads; `params` are the options that Spline keeps of it.

    An address that is not JDBC, or names a table, stands for itself. So does one that nothing can
    be made of: whoever names it says what is wrong with it.
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
    """A query whose tables cannot be told, and why."""


def _split(uri: str, params: Mapping[str, Any]) -> tuple[str, str]:
    """The connection URL and what is read through it: the options tell it best.

    In the address the masking of a password may have swallowed it, or a colon of the query
    may look like the one before it.
    """
    told = {str(name).lower(): value for name, value in params.items()}
    query, table, url = (_text(told.get(name)) for name in ("query", "dbtable", "url"))
    text = query or table
    if not text:
        return split_jdbc(uri)
    if not is_jdbc(url):
        url = _before(uri, text)
    # A comment at its end must not take the bracket with it.
    return url, f"({query}\n) q" if query else table


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _before(uri: str, text: str) -> str:
    """The connection URL of an address that ends with `text`, or has lost it."""
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
    return next((_DIALECTS[each] for each in protocols if each in _DIALECTS), "")


def _query(text: str, url: str) -> "PushedQuery":
    try:
        import sqlglot  # noqa: F401 (the extra may be missing)

        from lineage_merge.sources.spline.pushed_queries import PushedQuery, UnreadableQuery
    except ImportError:
        raise _Unreadable(_NO_SQLGLOT) from None
    try:
        return PushedQuery(text, url, _dialect(url))
    except UnreadableQuery as error:
        raise _Unreadable(f"a query whose tables cannot be told: {error}") from None


def shown(uri: str) -> str:
    """The connection of an address for a message: no secret, and no query, which changes with each run."""
    try:
        return redact(split_jdbc(uri)[0])
    except NamingError:
        return redact(uri)
