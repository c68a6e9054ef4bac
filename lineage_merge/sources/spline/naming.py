"""What Spline's names for applications and tables mean."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# Glue's agent names an application after the job and its run, unless the script names it.
_GLUE = re.compile(r"^nativespark-(?P<job>.+)-(?P<run>jr_[0-9a-f]{8,}(?:_attempt_\d+)?)$")

# `params.table` as text: Spark's CatalogTable.toString.
_TEXT_FIELD = re.compile(r"^[ \t]*(Catalog|Database|Table|Type):[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_QUOTED_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")

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
    """A table as Spark's catalogs know it: ``("spark_catalog", "bigdata.sales")``."""

    catalog: str
    name: str
    is_view: bool = False


def catalog_table(params: Mapping[str, Any] | None) -> CatalogTable | None:
    """The table that an operation's `params.table` tells, in either of its two shapes.

    A structure (``{"identifier": {"table", "database", "catalog"?}, ...}``) or the text of
    Spark's ``CatalogTable(...)``. None where it tells no database: then it is no more than
    a session's temporary view.
    """
    table = (params or {}).get("table")
    if isinstance(table, dict):
        identifier = table.get("identifier")
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


def table_from_text(name: str) -> CatalogTable | None:
    """A table as a plan's text names it: ``spark_catalog.tpch.part``, ``tpch.part``."""
    parts = [quoted.replace("``", "`") or plain for quoted, plain in _QUOTED_PART.findall(name)]
    if parts[-2:-1] == [_TEMPORARY]:
        return None
    if len(parts) == 2:
        return CatalogTable(SESSION_CATALOG, ".".join(parts))
    if len(parts) >= 3:
        return CatalogTable(parts[0], ".".join(parts[1:]))
    return None
