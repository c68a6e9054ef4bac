"""Addresses of tables and paths that a plan only names, by the application's properties. Pure."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lineage_merge import naming
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode

Properties = Mapping[str, str]

_CATALOG = "spark.sql.catalog."
_SCHEME = re.compile(r"^[A-Za-z][\w+.-]*:")
_ICEBERG = "org.apache.iceberg.spark."
_HADOOP = "org.apache.iceberg.hadoop.HadoopCatalog"


# The line of a scan of Iceberg: lake.db.t (branch=null) [filters=, groupedBy=]
_SCANNED = re.compile(r"^(?P<table>\S+?)(?: \(branch=[^)]*\))? \[filters=", re.MULTILINE)


class NamedTable(NamedTuple):
    """A table by its address and by its name with the catalog, or the path that stands for a name."""

    uri: str
    name: str


def read_scanned_table(node: PhysicalNode) -> str:
    """Return the name of the table that a scan of Iceberg reads, "" for another scan."""
    scanned = _SCANNED.search(node.fields.get("", "")) if node.name.startswith("BatchScan") else None
    return scanned["table"] if scanned else ""


def qualify_path(path: str, properties: Properties) -> str:
    """Return a path with its file system, "" if that is not known: it depends on the cluster."""
    if _SCHEME.match(path):
        return path
    root = properties.get("spark.hadoop.fs.defaultFS", "")
    if not root and properties.get("spark.master", "").startswith("local"):
        root = "file:"
    return f"{root.rstrip('/')}{path}" if root and path.startswith("/") else ""


def catalog_of_class(class_name: str, properties: Properties) -> str:
    """Return the only catalog of a class, "" if there are none or several."""
    fitting = [name for name, value in _catalogs(properties).items() if value == class_name]
    return fitting[0] if len(fitting) == 1 else ""


def iceberg_table(
    name: str, properties: Properties, created: tuple[str, str] = ("", "")
) -> NamedTable | None:
    """Return a table of Iceberg by its name in a plan or by its path; None if its catalog is not known.

    `created` are the class of the catalog and the name without it, if a statement creates the table.
    """
    if "/" in name:
        uri = qualify_path(name, properties)
        return NamedTable(uri, name) if uri else None
    class_name, own = created
    catalogs = _catalogs(properties)
    if own and name == own:
        catalog = catalog_of_class(class_name, properties)
    elif name.partition(".")[0] in catalogs or name.count(".") > 1:
        catalog, _, name = name.partition(".")
    else:
        # Before Spark 3.4 an insert is not known to be that of a statement that creates the table.
        fitting = [known for known, value in catalogs.items() if value.startswith(_ICEBERG)]
        catalog = fitting[0] if len(fitting) == 1 else ""
    if not catalog or not name:
        return None
    uri = _location(catalog, name, properties) or naming.table_uri(catalog, name)
    return NamedTable(uri, f"{catalog}.{name}")


def _location(catalog: str, name: str, properties: Properties) -> str:
    """Return the path of a table, "" if the catalog does not define it by the name."""
    own = f"{_CATALOG}{catalog}."
    is_hadoop = properties.get(f"{own}type") == "hadoop" or properties.get(f"{own}catalog-impl") == _HADOOP
    warehouse = qualify_path(properties.get(f"{own}warehouse", ""), properties)
    return f"{warehouse.rstrip('/')}/{name.replace('.', '/')}" if is_hadoop and warehouse else ""


def _catalogs(properties: Properties) -> dict[str, str]:
    """Return the class of each catalog."""
    return {
        key.removeprefix(_CATALOG): str(value)
        for key, value in properties.items()
        if key.startswith(_CATALOG) and "." not in key.removeprefix(_CATALOG)
    }
