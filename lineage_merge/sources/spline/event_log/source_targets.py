"""Data sources of Spark's versions 1 and 2 as targets: by path, tables of Delta and Iceberg. Pure."""

import re

from lineage_merge import naming
from lineage_merge.sources.spline.columns.plan_text import split_top
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.catalogs import (
    Properties,
    catalog_of_class,
    iceberg_table,
    qualify_path,
)
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode
from lineage_merge.sources.spline.event_log.targets import (
    ICEBERG_WRITE,
    MODES,
    Created,
    Unread,
    Write,
    address,
    list_arguments,
    read_name,
    read_table,
    report_path,
    report_unsupported,
)

_DELTA_TABLE = re.compile(r"DeltaTableV2\([^,]*SparkSession@\w+,\s*(?P<path>[^,\s]+),")
_WRITER = re.compile(r"\b(?!MicroBatchWrite)(?P<name>[A-Z]\w*Write)\b[$(@\[]")
# Sinks that store nothing.
_NOWHERE = frozenset({"NoopWrite", "NoopStreamingWrite", "MemoryStreamingWrite", "ConsoleWrite"})
# FileSink[/out/t], DeltaSink[file:/delta/t]
_SINK = re.compile(r"^(?P<kind>FileSink|DeltaSink)\[(?P<path>.*)\]$")
# Sinks that store nothing, and one whose function has executions of its own.
_NO_TARGET = re.compile(r"^(?:ForeachBatchSink|MemorySink|ConsoleSink|NoopTable|.*\.(?:Console|Noop)Table\b)")
# Whether rows are added.
APPENDING = {"AppendData": True, "OverwriteByExpression": False, "OverwritePartitionsDynamic": False}


def save(node: PhysicalNode, properties: Properties) -> Write | Unread:
    """Return the target of a save() by a data source of version 1."""
    arguments = list_arguments(node)
    provider = arguments[0].partition("@")[0] if arguments else ""
    listed = next((argument for argument in arguments[1:] if argument.startswith("[")), "")
    options = dict(option.partition("=")[::2] for option in split_top(listed.strip("[]")))
    options = {name.lower(): value for name, value in options.items()}
    path = options.get("path", "")
    if "/" in path:
        uri = qualify_path(path, properties)
        if not uri:
            return report_path(read_name(node), path)
        mode = next((argument for argument in arguments if argument in MODES), "Overwrite")
        data_format = "delta" if provider.endswith(".DeltaDataSource") else ""
        return Write(uri, MODES[mode], None, read_name(node), data_format=data_format)
    table = options.get("dbtable", "")
    if table:
        what = f"a write to {naming.redact(table)} by {provider}: event logs have no address of it"
        return Unread("not-joined", read_name(node), what)
    return Unread("skipped", read_name(node), f"a write by {provider}: its target is not read")


def write_v1(node: PhysicalNode, _: Properties) -> Write | Unread | None:
    """Return a table of Delta; None for one that the outer execution creates."""
    text = node.fields.get("Arguments", "")
    if "StagedDeltaTableV2@" in text:
        return None
    matched = _DELTA_TABLE.search(text)
    if matched is None:
        return report_unsupported(node)
    append = read_name(node).startswith("Append")
    uri = address(matched["path"])
    return Write(uri, append, None, read_name(node), data_format="delta", table=read_table([text]))


def create_v2(node: PhysicalNode, properties: Properties) -> Write | Unread | None:
    class_name, name = read_created_name(node)
    if class_name.startswith("org.apache.iceberg."):
        return None
    if not class_name.endswith(".DeltaCatalog"):
        return report_unsupported(node)
    catalog = catalog_of_class(class_name, properties)
    database, _, table = name.rpartition(".")
    if not catalog or not database:
        return Unread("skipped", read_name(node), f"a table whose catalog is not known: {name}")
    identifier = {"catalog": catalog, "database": database, "table": table}
    uri = naming.table_uri(catalog, name)
    return Write(uri, False, None, read_name(node), data_format="delta", table={"identifier": identifier})


def read_created_name(node: PhysicalNode) -> tuple[str, str]:
    """Return the class of the catalog and the table's name in it."""
    arguments = list_arguments(node)
    if len(arguments) < 2 or "@" not in arguments[0]:
        return "", ""
    return arguments[0].partition("@")[0], arguments[1].replace("`", "")


def write_v2(node: PhysicalNode, properties: Properties, created: Created | None) -> Write | Unread | None:
    """Return the target of a data source of version 2, of which only Iceberg's is known."""
    text = node.fields.get("Arguments", "")
    matched = ICEBERG_WRITE.search(text)
    if matched is None:
        writer = _WRITER.search(text)
        if writer and writer["name"] in _NOWHERE:
            return None
        return Unread(
            "skipped", read_name(node), f"a write by {writer['name'] if writer else 'a data source'}"
        )
    named = (created.class_name, created.name) if created else ("", "")
    table = iceberg_table(matched["table"], properties, named)
    if table is None or not node.children:
        return Unread("skipped", read_name(node), f"a table whose address is not known: {matched['table']}")
    params: Document = {"identifier": table.name}
    return Write(
        table.uri,
        APPENDING.get(read_name(node), True) and created is None,
        node.children[0],
        read_name(node),
        data_format="iceberg",
        table=params,
    )


def write_stream(node: PhysicalNode, properties: Properties) -> Write | Unread | None:
    if ICEBERG_WRITE.search(node.fields.get("Arguments", "")):
        return write_v2(node, properties, None)
    writer = _WRITER.search(node.fields.get("Arguments", ""))
    if writer and writer["name"] in _NOWHERE:
        return None
    what = f" by {writer['name']}" if writer else ""
    return Unread("skipped", read_name(node), f"a micro-batch of a stream{what}")


def read_sink(sink: str, rows: PhysicalNode, properties: Properties) -> Write | Unread | None:
    """Return the target of a batch of a stream, whose plan has none; None if nothing is stored.

    `sink` is what the progress of the query says of it.
    """
    file_sink = _SINK.match(sink)
    if file_sink is not None:
        kind, path = file_sink["kind"], file_sink["path"]
        uri = qualify_path(path, properties)
        data_format = "delta" if kind == "DeltaSink" else ""
        return Write(uri, True, rows, kind, data_format=data_format) if uri else report_path(kind, path)
    if _NO_TARGET.match(sink):
        return None
    kind = naming.redact(re.split(r"[@\[(]", sink)[0]).rpartition(".")[2] if sink else ""
    of_kind = f"a sink that is not read: {kind}" if kind else "a sink that the log does not name"
    return Unread("skipped", kind, f"a batch of a stream into {of_kind}")
