"""What Spline's names for applications and tables mean."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# Glue's agent names an application after the job and its run, unless the script names it.
_GLUE = re.compile(r"^nativespark-(?P<job>.+)-(?P<run>jr_[0-9a-f]{8,}(?:_attempt_\d+)?)$")

# `params.table` as text: Spark's CatalogTable.toString.
_TEXT_FIELD = re.compile(r"^[ \t]*(Catalog|Database|Table|Type):[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_QUOTED_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")

# Iceberg's metadata tables, branches, tags and snapshots: parts of the table that stands before.
_OF_A_TABLE = re.compile(
    r"(?:(?:all_)?(?:data_|delete_)?files|(?:all_)?(?:entries|manifests)|history|metadata_log_entries"
    r"|partitions|position_deletes|refs|snapshots|(?:branch|tag)_.+|(?:snapshot_id|at_timestamp)_\d+)"
)
# What only operations have that create or replace a table.
_OF_CREATION = frozenset({"ignoreIfExists", "orCreate"})

SESSION_CATALOG = "spark_catalog"
# Where Spark keeps temporary views that all sessions of an application share.
_TEMPORARY = "global_temp"


class Application(NamedTuple):
    """A Spark application's job name, and Glue's id of the run where the name holds one."""

    job: str
    run_id: str = ""


def application(name: str) -> Application:
    """``nativespark-sales-jr_0123abcd`` is the run ``jr_0123abcd`` of the job ``sales``."""
    found = _GLUE.match(name)
    return Application(found["job"], found["run"]) if found else Application(name)


class CatalogTable(NamedTuple):
    """A table as Spark's catalogs know it: ``("spark_catalog", "bigdata.sales")``.

    `catalog` is "" where the plan does not tell which one it is.
    """

    catalog: str
    name: str
    is_view: bool = False


def catalog_table(params: Mapping[str, Any] | None, data_format: str = "") -> CatalogTable | None:
    """The table that an operation's `params.table` tells, in any of its shapes.

    A structure (``{"identifier": {"table", "database", "catalog"?}, ...}``; for tables of
    DataSource V2, such as Iceberg's and Delta's, ``{"identifier": "glue_catalog.db.sales"}``) or
    the text of Spark's ``CatalogTable(...)``. None where it tells no database: then it is no more
    than a session's temporary view.
    """
    table = (params or {}).get("table")
    if isinstance(table, dict):
        identifier = table.get("identifier")
        if isinstance(identifier, str):
            # CREATE and REPLACE TABLE AS SELECT name the table as it is called inside its catalog.
            is_created = not _OF_CREATION.isdisjoint(params or {})
            return _table_of_v2(identifier, is_created, data_format.lower())
        fields = identifier if isinstance(identifier, dict) else {}
        catalog, database, name = (fields.get(part) for part in ("catalog", "database", "table"))
        kind = table.get("tableType")
    elif isinstance(table, str) and table.startswith("CatalogTable("):
        # The first of each name: further down stand comments and a view's own text.
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


def _table_of_v2(name: str, is_created: bool, data_format: str) -> CatalogTable | None:
    parts = _parts(name)
    if _is_path(parts) or (len(parts) > 3 and _OF_A_TABLE.fullmatch(parts[-1])):
        return None
    if is_created:
        return CatalogTable("", ".".join(parts)) if len(parts) > 1 else None
    if data_format == "iceberg" and len(parts) == 2:  # Iceberg always says the catalog
        return CatalogTable(parts[0], parts[1])
    return table_from_text(name)


def _parts(name: str) -> list[str]:
    return [quoted.replace("``", "`") or plain for quoted, plain in _QUOTED_PART.findall(name)]


def _is_path(parts: list[str]) -> bool:
    """``delta.`s3://lake/sales```: what looks like a table is a folder."""
    return any("/" in part for part in parts)


def table_from_text(name: str) -> CatalogTable | None:
    """A table as a plan's text names it: ``spark_catalog.tpch.part``, ``tpch.part``."""
    parts = _parts(name)
    if parts[-2:-1] == [_TEMPORARY] or _is_path(parts):
        return None
    if len(parts) == 2:
        return CatalogTable(SESSION_CATALOG, ".".join(parts))
    if len(parts) >= 3:
        return CatalogTable(parts[0], ".".join(parts[1:]))
    return None
