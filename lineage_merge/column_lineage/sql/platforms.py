"""Platforms of SQL, by the name of sqlglot's dialect."""

from sqlglot import Dialect

# SQL Server and what speaks its language.
TSQL = frozenset({"fabric", "tsql"})


def platform_of(dialect: Dialect) -> str:
    """Return the platform of a dialect, such as ``redshift``; "dialect" for standard SQL."""
    return type(dialect).__name__.lower()
