"""PostgreSQL: ``postgres://host:5432`` and ``database.schema.table``.

Names keep their case; unquoted SQL names are lower case. An unqualified table in a JDBC connection is in
``public``, the end of PostgreSQL's default `search_path`, unless the URL (`currentSchema`) or a configured
default sets another schema.
"""

from lineage_merge.naming.warehouse import Warehouse

POSTGRES = Warehouse(
    scheme="postgres",
    aliases=frozenset({"postgresql"}),
    port=5432,
    unquoted=str.lower,
    implicit_schema="public",
)
