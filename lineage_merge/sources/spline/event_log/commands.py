"""The commands of physical plans: which ones write, and by which module their target is read. Pure."""

import re
from collections.abc import Callable, Mapping

from lineage_merge.sources.spline.event_log.catalogs import Properties
from lineage_merge.sources.spline.event_log.changed_targets import (
    delete_delta,
    delete_files,
    merge_delta,
    replace_rows,
    update_delta,
    write_deltas,
)
from lineage_merge.sources.spline.event_log.file_targets import (
    create,
    write_files,
    write_hive_folder,
    write_hive_table,
    write_hudi,
)
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode
from lineage_merge.sources.spline.event_log.source_targets import (
    APPENDING,
    create_v2,
    read_created_name,
    save,
    write_stream,
    write_v1,
    write_v2,
)
from lineage_merge.sources.spline.event_log.targets import (
    Created,
    Unread,
    Write,
    read_name,
    read_table,
    report_unsupported,
)

_CREATING = re.compile(r"^(?:Optimized)?Create(?:DataSource|Hive)TableAsSelectCommand$")
_QUIET = re.compile(
    r"^(?:Create(?:DataSource|Hoodie)?TableCommand|CreateViewCommand|Drop|Show|Describe|Set|Reset|Alter|"
    r"Analyze|Cache|Uncache|Refresh|Repair|Truncate|Create(?:Namespace|Database|Function)|AddJars?|Explain)"
)
_AROUND = ("AdaptiveSparkPlan", "CommandResult", "ResultQueryStage")


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
    name = read_name(node)
    if name in APPENDING:
        return write_v2(node, properties, created)
    if _CREATING.match(name):
        return create(node, databases or {})
    reader = _READERS.get(name)
    if reader is not None:
        return reader(node, properties)
    if name in _DIRECT or _QUIET.match(name):
        return None
    return report_unsupported(node)


def find_created_table(root: PhysicalNode) -> Created | None:
    """Return the table that a CREATE TABLE AS SELECT creates, whose rows a nested execution writes."""
    node = _command(root)
    if node is None:
        return None
    if read_name(node) in _CREATING_V2:
        class_name, name = read_created_name(node)
        return Created({}, class_name, name) if name else None
    if _CREATING.match(read_name(node)):
        for child in node.children:
            table = read_table([child.fields.get("Arguments", "")])
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


def _command(root: PhysicalNode) -> PhysicalNode | None:
    node: PhysicalNode | None = root
    while node is not None and not _is_command(node):
        is_around = node.name in _AROUND or node.name.endswith(" Plan")
        node = node.children[0] if is_around and node.children else None
    return node


def _is_command(node: PhysicalNode) -> bool:
    return (
        node.name.startswith("Execute ")
        or node.name in _READERS
        or node.name in APPENDING
        or node.name in _DIRECT
    )


_Reader = Callable[[PhysicalNode, Properties], Write | Unread | None]
_CREATING_V2 = frozenset(
    {"AtomicCreateTableAsSelect", "AtomicReplaceTableAsSelect", "CreateTableAsSelect", "ReplaceTableAsSelect"}
)
_READERS: Mapping[str, _Reader] = {
    "InsertIntoHadoopFsRelationCommand": write_files,
    "InsertIntoHiveTable": write_hive_table,
    "InsertIntoHiveDirCommand": write_hive_folder,
    **dict.fromkeys(("InsertIntoHoodieTableCommand", "CreateHoodieTableAsSelectCommand"), write_hudi),
    "SaveIntoDataSourceCommand": save,
    **dict.fromkeys(("AppendDataExecV1", "OverwriteByExpressionExecV1"), write_v1),
    **dict.fromkeys(_CREATING_V2, create_v2),
    "WriteDelta": write_deltas,
    "DeleteFromTable": delete_files,
    "DeleteCommand": delete_delta,
    "ReplaceData": replace_rows,
    "UpdateCommand": update_delta,
    "MergeIntoCommand": merge_delta,
    "WriteToDataSourceV2": write_stream,
}
# Of which an inner execution has the whole write.
_DIRECT = frozenset({"InsertIntoDataSourceDirCommand", "SaveAsV1TableCommand"})
