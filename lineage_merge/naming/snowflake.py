"""Snowflake: ``snowflake://organization-account`` and ``DATABASE.SCHEMA.TABLE``, upper-case.

An account's locator (``xy12345.us-east-1``) cannot be turned into its organization's name,
so the two forms stay apart, as OpenLineage's specification warns.
"""

from dataclasses import dataclass

from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.warehouse import Warehouse

_SUFFIXES = (".snowflakecomputing.com", ".snowflakecomputing.cn", ".privatelink")


@dataclass(frozen=True, kw_only=True)
class SnowflakeWarehouse(Warehouse):
    def hosts(self, authority: str) -> str:
        account = authority.lower().partition(":")[0].strip(".")
        for suffix in _SUFFIXES:
            account = account.removesuffix(suffix)
        account = account.replace("_", "-")  # a host name has no underscore, an account may
        labels = account.split(".")
        is_locator_with_region = len(labels) == 2 and "-" not in labels[0]
        return f"{account}.aws" if is_locator_with_region else account

    def jdbc_database(self, connection: Connection) -> str:
        return connection.parameter("db", "database")

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.parameter("schema")


SNOWFLAKE = SnowflakeWarehouse(scheme="snowflake", spelling=str.upper, unquoted=str.upper)
