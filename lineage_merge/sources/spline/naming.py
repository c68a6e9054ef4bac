"""Interpretation of Spline's table names."""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from lineage_merge.column_lineage.table_parts import TablePart, part_of_name, part_of_path
from lineage_merge.naming.jobs import SESSION_CATALOG

# `params.table` as text: Spark's CatalogTable.toString.
_TEXT_FIELD = re.compile(r"^[ \t]*(Catalog|Database|Table|Type):[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_QUOTED_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")

# Parameters that only operations have that create or replace a table.
_OF_CREATION = frozenset({"ignoreIfExists", "orCreate"})

# The database of Spark's global temporary views.
_TEMPORARY = "global_temp"


class CatalogTable(NamedTuple):
    """A table of a Spark catalog: ``("spark_catalog", "bigdata.sales")``.

    `catalog` is "" if the plan does not name it; `part` is what a name below the table's refers to.
    """

    catalog: str
    name: str
    is_view: bool = False
    part: TablePart | None = None


def read_part(params: Mapping[str, Any], columns: Collection[str], location: str) -> TablePart | None:
    """Return what a read of Iceberg takes of the table at its location, None for the table itself."""
    table = params.get("table")
    identifier = table.get("identifier") if isinstance(table, dict) else None
    if not isinstance(identifier, str):
        return None
    if of_path := part_of_path(identifier, columns):
        return of_path[1]
    return part_of_name(_parts(identifier), columns, location)


def catalog_table(
    params: Mapping[str, Any] | None, data_format: str = "", location: str = ""
) -> CatalogTable | None:
    """Return the table in an operation's `params.table`, in any of its forms.

    A structure (``{"identifier": {"table", "database", "catalog"?}, ...}``; for tables of DataSource V2, such
    as Iceberg's and Delta's, ``{"identifier": "glue_catalog.db.sales"}``) or the text of Spark's
    ``CatalogTable(...)``. None without a database: then it is a session's temporary view.
    """
    table = (params or {}).get("table")
    if isinstance(table, dict):
        identifier = table.get("identifier")
        if isinstance(identifier, str):
            # CREATE and REPLACE TABLE AS SELECT use the table's name within its catalog.
            is_created = not _OF_CREATION.isdisjoint(params or {}) or _is_inner_insert(
                params or {}, identifier, location
            )
            return _table_of_v2(identifier, is_created, data_format.lower(), location)
        fields = identifier if isinstance(identifier, dict) else {}
        catalog, database, name = (fields.get(part) for part in ("catalog", "database", "table"))
        kind = table.get("tableType")
    elif isinstance(table, str) and table.startswith("CatalogTable("):
        # The first occurrence of each name: comments and a view's text follow further down.
        texts = dict(reversed(_TEXT_FIELD.findall(table)))
        catalog, database, name = texts.get("Catalog"), texts.get("Database"), texts.get("Table")
        kind = texts.get("Type")
    else:
        return None
    if not (isinstance(database, str) and database and isinstance(name, str) and name):
        return None
    if database == _TEMPORARY:
        return None
    is_view = "VIEW" in str(kind or "").upper()
    return CatalogTable(str(catalog or SESSION_CATALOG), f"{database}.{name}", is_view)


def _table_of_v2(name: str, is_created: bool, data_format: str, location: str) -> CatalogTable | None:
    parts = _parts(name)
    if _is_path(parts):
        return None
    if is_created:
        return CatalogTable("", ".".join(parts)) if len(parts) > 1 else None
    if data_format == "iceberg" and len(parts) == 2:  # Iceberg always names the catalog
        return CatalogTable(parts[0], parts[1])
    table = _table(parts, (), location)
    # Without columns only the path shows for sure that the name is below a table.
    is_certain = not table or not table.part or location.rstrip("/").endswith(f"/{parts[-2]}")
    return table if is_certain else None


def _is_inner_insert(params: Mapping[str, Any], name: str, location: str) -> bool:
    """Return whether a write may be the insert that CREATE TABLE AS SELECT of Iceberg does, by position.

    It names the new table without its catalog, as ``db.sales``, which else is a table at a catalog's top.
    """
    parts = _parts(name)
    if params.get("isByName") is not False or len(parts) != 2:
        return False
    database, table = parts
    return location.rstrip("/").endswith((f"/{database}/{table}", f"/{database}.db/{table}"))


def _parts(name: str) -> list[str]:
    return [quoted.replace("``", "`") or plain for quoted, plain in _QUOTED_PART.findall(name)]


def _is_path(parts: list[str]) -> bool:
    """Return whether a name is a path: ``delta.`s3://lake/sales```."""
    return any("/" in part for part in parts)


def table_from_text(name: str, columns: Collection[str] = ()) -> CatalogTable | None:
    """Return a table from its name in a plan's text: ``spark_catalog.tpch.part``, ``tpch.part``.

    `columns` are those of the relation, as far as the text has them.
    """
    return _table(_parts(name), columns, "")


def _table(parts: list[str], columns: Collection[str], location: str) -> CatalogTable | None:
    if parts[-2:-1] == [_TEMPORARY] or _is_path(parts):
        return None
    if len(parts) == 2:
        return CatalogTable(SESSION_CATALOG, ".".join(parts))
    part = part_of_name(parts, columns, location)
    table = parts[:-1] if part else parts
    return CatalogTable(table[0], ".".join(table[1:]), part=part) if len(table) > 1 else None
