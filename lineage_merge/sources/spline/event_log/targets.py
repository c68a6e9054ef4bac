"""What a physical plan writes: the targets of its commands. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lineage_merge import naming
from lineage_merge.naming.jobs import SESSION_CATALOG
from lineage_merge.sources.spline.columns.plan_text import split_top
from lineage_merge.sources.spline.documents import ROW_OPERATIONS, Document
from lineage_merge.sources.spline.event_log.catalogs import (
    Properties,
    catalog_of_class,
    iceberg_table,
    qualify_path,
    read_scanned_table,
)
from lineage_merge.sources.spline.event_log.delta_changes import (
    DeltaMerge,
    read_delta_delete,
    read_delta_merge,
    read_delta_update,
)
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode
from lineage_merge.sources.spline.event_log.iceberg_changes import (
    find_target,
    read_deleted_rows,
    read_deltas,
    read_replaced_rows,
)
from lineage_merge.sources.spline.event_log.row_changes import RowChange

_MODES = {"Overwrite": False, "Append": True, "ErrorIfExists": False, "Ignore": False}
_TABLE = re.compile(r"^(?:`(?P<catalog>[^`]+)`\.)?`(?P<database>[^`]+)`\.`(?P<table>[^`]+)`(?:,|$)")
_FIELD = re.compile(r"^[ \t]*(?P<name>Catalog|Database|Table):[ \t]*(?P<value>\S.*?)[ \t]*$", re.MULTILINE)
_STORAGE = re.compile(r"^Storage\(Location: (?P<path>[^,)]+)")
_ICEBERG_WRITE = re.compile(r"Iceberg(?:Streaming)?Write\(table=(?P<table>.+?), format=\w+\)")
_DELTA_TABLE = re.compile(r"DeltaTableV2\([^,]*SparkSession@\w+,\s*(?P<path>[^,\s]+),")
# In the arguments of commands that change rows of Delta: Delta[version=0, file:/data/t]
_DELTA_LOG = re.compile(r"Delta\[version=-?\d+, (?P<path>[^\]]+)\]")
_WRITER = re.compile(r"\b(?!MicroBatchWrite)(?P<name>[A-Z]\w*Write)\b[$(@\[]")
_CREATING = re.compile(r"^(?:Optimized)?Create(?:DataSource|Hive)TableAsSelectCommand$")
_QUIET = re.compile(
    r"^(?:Create(?:DataSource)?TableCommand|CreateViewCommand|Drop|Show|Describe|Set|Reset|Alter|"
    r"Analyze|Cache|Uncache|Refresh|Repair|Truncate|Create(?:Namespace|Database|Function)|AddJars?|Explain)"
)
# Sinks that store nothing.
_NOWHERE = frozenset({"NoopWrite", "NoopStreamingWrite", "MemoryStreamingWrite", "ConsoleWrite"})


@dataclass(slots=True)
class Write:
    """A target: its address, the names of its columns, and the operation whose rows are written.

    Without `rows`, these are the result of an inner execution, whose columns have ids of this plan. `table`
    is what a document says of the table, `name` the command. `merge`: these rows are the source of a MERGE.
    """

    uri: str
    append: bool
    rows: PhysicalNode | None
    name: str
    columns: list[str] = field(default_factory=list)
    data_format: str = ""
    table: Document | None = None
    merge: DeltaMerge | None = None


class Unread(NamedTuple):
    """A write or read that is reported: the kind of the problem, the operation and a message."""

    kind: Literal["skipped", "not-joined"]
    field: str
    message: str


class Created(NamedTuple):
    """A table that a statement creates of the rows of an inner execution.

    `class_name` is that of its catalog, whose name the plan does not have; "" for a table of the session's.
    """

    table: Document
    class_name: str = ""
    name: str = ""


def find_write(
    root: PhysicalNode,
    properties: Properties,
    created: Created | None = None,
    databases: Mapping[str, str] | None = None,
) -> Write | Unread | None:
    """Return what a plan writes; None for a query, and for a command whose inner execution writes.

    `created`: the table that the outer execution creates; `databases`: those of tables that are created.
    """
    node = _command(root)
    if node is None:
        return None
    name = _name(node)
    if name in _V2:
        return _write_v2(node, properties, created)
    if _CREATING.match(name):
        return _create(node, databases or {})
    reader = _READERS.get(name)
    if reader is not None:
        return reader(node, properties)
    if name in _DIRECT or _QUIET.match(name):
        return None
    return _report_unsupported(node)


def find_created_table(root: PhysicalNode) -> Created | None:
    """Return the table that a CREATE TABLE AS SELECT creates, whose rows a nested execution writes."""
    node = _command(root)
    if node is None:
        return None
    if _name(node) in _CREATING_V2:
        class_name, name = _created_name(node)
        return Created({}, class_name, name) if name else None
    if _CREATING.match(_name(node)):
        for child in node.children:
            table = _table_of([child.fields.get("Arguments", "")])
            if table is not None:
                return Created(table)
    return None


def is_query(root: PhysicalNode) -> bool:
    """Return whether a plan has no command: it may have the rows that an outer execution writes."""
    return _command(root) is None


def query_rows(root: PhysicalNode) -> PhysicalNode:
    """Return the operation with the rows of a query, below its conversion to objects."""
    node = root
    while node.children and node.name in (*_AROUND, "DeserializeToObject"):
        node = node.children[0]
    return node


_AROUND = ("AdaptiveSparkPlan", "CommandResult", "ResultQueryStage")


def _command(root: PhysicalNode) -> PhysicalNode | None:
    node: PhysicalNode | None = root
    while node is not None and not _is_command(node):
        is_around = node.name in _AROUND or node.name.endswith(" Plan")
        node = node.children[0] if is_around and node.children else None
    return node


def _is_command(node: PhysicalNode) -> bool:
    return (
        node.name.startswith("Execute ") or node.name in _READERS or node.name in _V2 or node.name in _DIRECT
    )


def _name(node: PhysicalNode) -> str:
    return node.name.removeprefix("Execute ")


def _arguments(node: PhysicalNode) -> list[str]:
    """Return the arguments of a command, which a node of its own may have."""
    own = node.fields.get("Arguments", "")
    below = node.children[0] if node.children else None
    if not own and below is not None and below.name == _name(node):
        own = below.fields.get("Arguments", "")
    return split_top(own)


def _report_unsupported(node: PhysicalNode, *_: object) -> Unread:
    name = _name(node)
    text = " ".join(_arguments(node))
    table = _ICEBERG_WRITE.search(text) or _DELTA_LOG.search(text)
    of_table = f" ({table[1]})" if table else ""
    return Unread("skipped", "", f"a command that is not supported: {name}{of_table}")


# Files and tables of Hive


def _write_files(node: PhysicalNode, _: Properties) -> Write | None:
    arguments = split_top(node.fields.get("Arguments", ""))
    if not arguments or not node.children:
        return None
    mode = next((argument for argument in arguments if argument in _MODES), "Overwrite")
    known = [argument for argument in arguments[1:] if argument[:1].isupper() and argument not in _MODES]
    return Write(
        address(arguments[0]),
        _MODES[mode],
        node.children[0],
        _name(node),
        _list_columns(arguments),
        known[0].lower() if known and known[0].isalnum() else "",
        _table_of(arguments),
    )


def _write_hive_table(node: PhysicalNode, _: Properties) -> Write | Unread:
    arguments = split_top(node.fields.get("Arguments", ""))
    table = _table_of(arguments)
    if table is None or not node.children:
        return Unread("skipped", _name(node), "a table of Hive whose name is not in the plan")
    overwrite = next((argument for argument in arguments if argument in ("true", "false")), "true")
    columns = [argument for argument in arguments if argument.startswith("[") and "=" not in argument]
    names = split_top(columns[0].strip("[]")) if columns else []
    return Write(
        make_table_address(table), overwrite == "false", node.children[0], _name(node), names, "hive", table
    )


def _write_hive_folder(node: PhysicalNode, properties: Properties) -> Write | Unread:
    arguments = split_top(node.fields.get("Arguments", ""))
    storage = next(filter(None, map(_STORAGE.match, arguments)), None)
    if storage is None or not node.children:
        return Unread("skipped", _name(node), "a folder whose path is not in the plan")
    is_local = arguments[0] == "true"
    uri = address(storage["path"]) if is_local else qualify_path(storage["path"], properties)
    if not uri:
        return _report_path(node, storage["path"])
    return Write(uri, False, node.children[0], _name(node), _list_columns(arguments), "hive")


def _create(node: PhysicalNode, databases: Mapping[str, str]) -> Write | Unread | None:
    """Return a table that a command creates and fills at once, as it does before Spark 3.4."""
    arguments = split_top(node.fields.get("Arguments", ""))
    if not arguments or not node.children:
        return None
    name = arguments[0].strip("`")
    table = _table_of(arguments)
    if table is None and databases.get(name):
        table = {"identifier": {"database": databases[name], "table": name}}
    if table is None:
        what = f"a table whose database is not in the plan: {arguments[0]}"
        return Unread("skipped", _name(node), what)
    mode = next((argument for argument in arguments if argument in _MODES), "Overwrite")
    rows = node.children[0]
    return Write(
        make_table_address(table), _MODES[mode], rows, _name(node), _list_columns(arguments), "", table
    )


def _report_path(node: PhysicalNode, path: str) -> Unread:
    return Unread("skipped", _name(node), f"a path without its file system: {naming.redact(path)}")


# Data sources


def _save(node: PhysicalNode, properties: Properties) -> Write | Unread:
    """Return the target of a save() by a data source of version 1."""
    arguments = _arguments(node)
    provider = arguments[0].partition("@")[0] if arguments else ""
    listed = next((argument for argument in arguments[1:] if argument.startswith("[")), "")
    options = dict(option.partition("=")[::2] for option in split_top(listed.strip("[]")))
    options = {name.lower(): value for name, value in options.items()}
    path = options.get("path", "")
    if "/" in path:
        uri = qualify_path(path, properties)
        if not uri:
            return _report_path(node, path)
        mode = next((argument for argument in arguments if argument in _MODES), "Overwrite")
        data_format = "delta" if provider.endswith(".DeltaDataSource") else ""
        return Write(uri, _MODES[mode], None, _name(node), data_format=data_format)
    table = options.get("dbtable", "")
    if table:
        what = f"a write to {naming.redact(table)} by {provider}: event logs have no address of it"
        return Unread("not-joined", _name(node), what)
    return Unread("skipped", _name(node), f"a write by {provider}: its target is not read")


def _write_v1(node: PhysicalNode, _: Properties) -> Write | Unread | None:
    """Return a table of Delta; None for one that the outer execution creates."""
    text = node.fields.get("Arguments", "")
    if "StagedDeltaTableV2@" in text:
        return None
    matched = _DELTA_TABLE.search(text)
    if matched is None:
        return _report_unsupported(node)
    append = _name(node).startswith("Append")
    uri = address(matched["path"])
    return Write(uri, append, None, _name(node), data_format="delta", table=_table_of([text]))


def _create_v2(node: PhysicalNode, properties: Properties) -> Write | Unread | None:
    class_name, name = _created_name(node)
    if class_name.startswith("org.apache.iceberg."):
        return None
    if not class_name.endswith(".DeltaCatalog"):
        return _report_unsupported(node)
    catalog = catalog_of_class(class_name, properties)
    database, _, table = name.rpartition(".")
    if not catalog or not database:
        return Unread("skipped", _name(node), f"a table whose catalog is not known: {name}")
    identifier = {"catalog": catalog, "database": database, "table": table}
    uri = naming.table_uri(catalog, name)
    return Write(uri, False, None, _name(node), data_format="delta", table={"identifier": identifier})


def _created_name(node: PhysicalNode) -> tuple[str, str]:
    """Return the class of the catalog and the table's name in it."""
    arguments = _arguments(node)
    if len(arguments) < 2 or "@" not in arguments[0]:
        return "", ""
    return arguments[0].partition("@")[0], arguments[1].replace("`", "")


def _write_v2(node: PhysicalNode, properties: Properties, created: Created | None) -> Write | Unread | None:
    """Return the target of a data source of version 2, of which only Iceberg's is known."""
    text = node.fields.get("Arguments", "")
    matched = _ICEBERG_WRITE.search(text)
    if matched is None:
        writer = _WRITER.search(text)
        if writer and writer["name"] in _NOWHERE:
            return None
        return Unread("skipped", _name(node), f"a write by {writer['name'] if writer else 'a data source'}")
    named = (created.class_name, created.name) if created else ("", "")
    table = iceberg_table(matched["table"], properties, named)
    if table is None or not node.children:
        return Unread("skipped", _name(node), f"a table whose address is not known: {matched['table']}")
    params: Document = {"identifier": table.name}
    return Write(
        table.uri,
        _V2.get(_name(node), True) and created is None,
        node.children[0],
        _name(node),
        data_format="iceberg",
        table=params,
    )


def _replace_rows(node: PhysicalNode, properties: Properties) -> Write | Unread:
    matched = _ICEBERG_WRITE.search(node.fields.get("Arguments", ""))
    change = read_replaced_rows(node) if matched else None
    return _change_rows(node, change, matched["table"] if matched else "", properties)


def _write_deltas(node: PhysicalNode, properties: Properties) -> Write | Unread:
    target = find_target(node)
    name = read_scanned_table(target) if target else ""
    return _change_rows(node, read_deltas(node) if name else None, name, properties)


def _delete_files(node: PhysicalNode, properties: Properties) -> Write | Unread:
    change, name = read_deleted_rows(node) or (None, "")
    return _change_rows(node, change, name, properties)


def _change_rows(
    node: PhysicalNode, change: RowChange | None, name: str, properties: Properties
) -> Write | Unread:
    table = iceberg_table(name, properties) if name else None
    if change is None or table is None:
        return _report_unsupported(node)
    named: Document = {"identifier": table.name}
    return Write(table.uri, False, change.rows, change.name, data_format="iceberg", table=named)


def _delete_delta(node: PhysicalNode, properties: Properties) -> Write | Unread:
    found = read_delta_delete(node)
    if found is None:
        return _report_unsupported(node)
    change, path = found
    table = None if path else _table_of(_arguments(node))
    uri = qualify_path(path, properties) if path else make_table_address(table) if table else ""
    if not uri:
        return _report_unsupported(node)
    return Write(uri, False, change.rows, change.name, data_format="delta", table=table)


def _update_delta(node: PhysicalNode, _: Properties) -> Write | Unread:
    found = read_delta_update(node)
    if found is None:
        return _report_unsupported(node)
    change, path = found
    return Write(address(path), False, change.rows, change.name, data_format="delta")


def _merge_delta(node: PhysicalNode, _: Properties) -> Write | Unread:
    merge = read_delta_merge(node)
    if merge is None:
        return _report_unsupported(node)
    name = ROW_OPERATIONS["merge"]
    return Write(address(merge.path), False, None, name, data_format="delta", merge=merge)


def _write_stream(node: PhysicalNode, properties: Properties) -> Write | Unread | None:
    if _ICEBERG_WRITE.search(node.fields.get("Arguments", "")):
        return _write_v2(node, properties, None)
    writer = _WRITER.search(node.fields.get("Arguments", ""))
    if writer and writer["name"] in _NOWHERE:
        return None
    what = f" by {writer['name']}" if writer else ""
    return Unread("skipped", _name(node), f"a micro-batch of a stream{what}")


_Reader = Callable[[PhysicalNode, Properties], Write | Unread | None]
_CREATING_V2 = frozenset(
    {"AtomicCreateTableAsSelect", "AtomicReplaceTableAsSelect", "CreateTableAsSelect", "ReplaceTableAsSelect"}
)
_READERS: Mapping[str, _Reader] = {
    "InsertIntoHadoopFsRelationCommand": _write_files,
    "InsertIntoHiveTable": _write_hive_table,
    "InsertIntoHiveDirCommand": _write_hive_folder,
    "SaveIntoDataSourceCommand": _save,
    **dict.fromkeys(("AppendDataExecV1", "OverwriteByExpressionExecV1"), _write_v1),
    **dict.fromkeys(_CREATING_V2, _create_v2),
    "WriteDelta": _write_deltas,
    "DeleteFromTable": _delete_files,
    "DeleteCommand": _delete_delta,
    "ReplaceData": _replace_rows,
    "UpdateCommand": _update_delta,
    "MergeIntoCommand": _merge_delta,
    "WriteToDataSourceV2": _write_stream,
}
# Whether rows are added.
_V2 = {"AppendData": True, "OverwriteByExpression": False, "OverwritePartitionsDynamic": False}
# Of which an inner execution has the whole write.
_DIRECT = frozenset({"InsertIntoDataSourceDirCommand", "SaveAsV1TableCommand"})


# Parts of arguments


def _list_columns(arguments: list[str]) -> list[str]:
    names = split_top(arguments[-1].strip("[]")) if arguments[-1].startswith("[") else []
    return [name for name in names if not name.startswith("... ")]


def _table_of(arguments: list[str]) -> Document | None:
    for argument in arguments:
        matched = _TABLE.match(argument)
        if matched:
            fields = {"database": matched["database"], "table": matched["table"]}
            if matched["catalog"]:
                fields["catalog"] = matched["catalog"]
            return {"identifier": fields}
        _, found, text = argument.partition("CatalogTable(")
        if found:
            # The first of each: a comment may look alike.
            shown = {part["name"].lower(): part["value"] for part in reversed([*_FIELD.finditer(text)])}
            return {"identifier": shown} if {"database", "table"} <= shown.keys() else None
    return None


def make_table_address(table: Document) -> str:
    """Return the address of a table without a path."""
    fields = table["identifier"]
    name = f"{fields['database']}.{fields['table']}"
    return naming.table_uri(fields.get("catalog") or SESSION_CATALOG, name)


def address(path: str) -> str:
    """Return a path of the log as an address."""
    return path if ":" in path else f"file:{path}"
