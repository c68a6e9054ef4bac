"""PostgreSQL: ``postgres://host:5432`` and ``database.schema.table``.

Names keep their case; SQL text without quotes means lower case. A bare table in a JDBC
connection is in ``public``, where PostgreSQL's default `search_path` ends, unless the URL
(`currentSchema`) or a configured default says otherwise.
"""

from lineage_merge.naming.warehouse import Warehouse

POSTGRES = Warehouse(
    scheme="postgres",
    aliases=frozenset({"postgresql"}),
    port=5432,
    unquoted=str.lower,
    implicit_schema="public",
)
