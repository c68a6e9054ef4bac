"""Files, and tables that are stored as files: of Spark, Hive and Hudi. Pure."""

import re
from collections.abc import Mapping

from lineage_merge.sources.spline.columns.plan_text import items, split_top
from lineage_merge.sources.spline.event_log.catalogs import Properties, qualify_path
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode
from lineage_merge.sources.spline.event_log.targets import (
    MODES,
    Unread,
    Write,
    address,
    list_columns,
    make_table_address,
    read_name,
    read_table,
    report_path,
    report_unsupported,
)

_STORAGE = re.compile(r"^Storage\(Location: (?P<path>[^,)]+)")
# Relation spark_catalog.default.t[id#1,amount#2] org.apache.hudi.EmptyRelation@1
_RELATION = re.compile(r"^Relation (?P<table>[^\s\[]+)\[(?P<columns>[^\]]*)\]")


def write_files(node: PhysicalNode, _: Properties) -> Write | None:
    arguments = split_top(node.fields.get("Arguments", ""))
    if not arguments or not node.children:
        return None
    mode = next((argument for argument in arguments if argument in MODES), "Overwrite")
    known = [argument for argument in arguments[1:] if argument[:1].isupper() and argument not in MODES]
    return Write(
        address(arguments[0]),
        MODES[mode],
        node.children[0],
        read_name(node),
        list_columns(arguments),
        known[0].lower() if known and known[0].isalnum() else "",
        read_table(arguments),
    )


def write_hive_table(node: PhysicalNode, _: Properties) -> Write | Unread:
    arguments = split_top(node.fields.get("Arguments", ""))
    table = read_table(arguments)
    if table is None or not node.children:
        return Unread("skipped", read_name(node), "a table of Hive whose name is not in the plan")
    overwrite = next((argument for argument in arguments if argument in ("true", "false")), "true")
    columns = [argument for argument in arguments if argument.startswith("[") and "=" not in argument]
    names = split_top(columns[0].strip("[]")) if columns else []
    return Write(
        make_table_address(table),
        overwrite == "false",
        node.children[0],
        read_name(node),
        names,
        "hive",
        table,
    )


def write_hive_folder(node: PhysicalNode, properties: Properties) -> Write | Unread:
    arguments = split_top(node.fields.get("Arguments", ""))
    storage = next(filter(None, map(_STORAGE.match, arguments)), None)
    if storage is None or not node.children:
        return Unread("skipped", read_name(node), "a folder whose path is not in the plan")
    is_local = arguments[0] == "true"
    uri = address(storage["path"]) if is_local else qualify_path(storage["path"], properties)
    if not uri:
        return report_path(read_name(node), storage["path"])
    return Write(uri, False, node.children[0], read_name(node), list_columns(arguments), "hive")


def create(node: PhysicalNode, databases: Mapping[str, str]) -> Write | Unread | None:
    """Return a table that a command creates and fills at once, as it does before Spark 3.4."""
    arguments = split_top(node.fields.get("Arguments", ""))
    if not arguments or not node.children:
        return None
    name = arguments[0].strip("`")
    table = read_table(arguments)
    if table is None and databases.get(name):
        table = {"identifier": {"database": databases[name], "table": name}}
    if table is None:
        what = f"a table whose database is not in the plan: {arguments[0]}"
        return Unread("skipped", read_name(node), what)
    mode = next((argument for argument in arguments if argument in MODES), "Overwrite")
    rows = node.children[0]
    return Write(
        make_table_address(table), MODES[mode], rows, read_name(node), list_columns(arguments), "", table
    )


def write_hudi(node: PhysicalNode, _: Properties) -> Write | Unread:
    """Return a table of Hudi that an INSERT or a CREATE TABLE AS SELECT fills."""
    arguments = split_top(node.fields.get("Arguments", ""))
    relation = _RELATION.match(arguments[0]) if arguments else None
    table = read_table([relation["table"].replace(".", "`.`").join("``")] if relation else arguments)
    if table is None or not node.children:
        return report_unsupported(node)
    names = [column.name for column in items(relation["columns"] if relation else "")[0]]
    is_added = relation is not None and arguments[-1] == "false"
    return Write(make_table_address(table), is_added, node.children[0], read_name(node), names, "hudi", table)
