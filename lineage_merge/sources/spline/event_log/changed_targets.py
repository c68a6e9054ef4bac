"""Tables whose single rows change: MERGE, UPDATE and DELETE of Iceberg and Delta. Pure."""

from lineage_merge.sources.spline.documents import ROW_OPERATIONS, Document
from lineage_merge.sources.spline.event_log.catalogs import (
    Properties,
    iceberg_table,
    qualify_path,
    read_scanned_table,
)
from lineage_merge.sources.spline.event_log.delta_changes import (
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
from lineage_merge.sources.spline.event_log.targets import (
    ICEBERG_WRITE,
    Unread,
    Write,
    address,
    list_arguments,
    make_table_address,
    read_table,
    report_unsupported,
)


def replace_rows(node: PhysicalNode, properties: Properties) -> Write | Unread:
    matched = ICEBERG_WRITE.search(node.fields.get("Arguments", ""))
    change = read_replaced_rows(node) if matched else None
    return _change_rows(node, change, matched["table"] if matched else "", properties)


def write_deltas(node: PhysicalNode, properties: Properties) -> Write | Unread:
    target = find_target(node)
    name = read_scanned_table(target) if target else ""
    return _change_rows(node, read_deltas(node) if name else None, name, properties)


def delete_files(node: PhysicalNode, properties: Properties) -> Write | Unread:
    change, name = read_deleted_rows(node) or (None, "")
    return _change_rows(node, change, name, properties)


def _change_rows(
    node: PhysicalNode, change: RowChange | None, name: str, properties: Properties
) -> Write | Unread:
    table = iceberg_table(name, properties) if name else None
    if change is None or table is None:
        return report_unsupported(node)
    named: Document = {"identifier": table.name}
    return Write(table.uri, False, change.rows, change.name, data_format="iceberg", table=named)


def delete_delta(node: PhysicalNode, properties: Properties) -> Write | Unread:
    found = read_delta_delete(node)
    if found is None:
        return report_unsupported(node)
    change, path = found
    table = None if path else read_table(list_arguments(node))
    uri = qualify_path(path, properties) if path else make_table_address(table) if table else ""
    if not uri:
        return report_unsupported(node)
    return Write(uri, False, change.rows, change.name, data_format="delta", table=table)


def update_delta(node: PhysicalNode, _: Properties) -> Write | Unread:
    found = read_delta_update(node)
    if found is None:
        return report_unsupported(node)
    change, path = found
    return Write(address(path), False, change.rows, change.name, data_format="delta")


def merge_delta(node: PhysicalNode, _: Properties) -> Write | Unread:
    merge = read_delta_merge(node)
    if merge is None:
        return report_unsupported(node)
    name = ROW_OPERATIONS["merge"]
    return Write(address(merge.path), False, None, name, data_format="delta", merge=merge)
