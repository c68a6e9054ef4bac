"""What a physical plan writes and reads: targets of commands, sources of scans. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.sources.spline.columns.plan_text import split_top
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode

_MODES = {"Overwrite": False, "Append": True, "ErrorIfExists": False, "Ignore": False}
_TABLE = re.compile(r"^(?:`(?P<catalog>[^`]+)`\.)?`(?P<database>[^`]+)`\.`(?P<table>[^`]+)`(?:,|$)")
_LOCATION = re.compile(r"^\w*FileIndex\w*(?:\(\d+ paths?\))?\s?\[(?P<paths>.*)\]$", re.DOTALL)
_MORE = re.compile(r"^\.\.\. \d+ entries$")
_SCAN = re.compile(r"^Scan (?P<format>\w+)(?: (?P<table>\S.*))?$")
_HADOOP = "Execute InsertIntoHadoopFsRelationCommand"
_CREATING = re.compile(r"^Execute (?:CreateDataSourceTableAsSelect|CreateHiveTableAsSelect)Command$")
_QUIET = re.compile(
    r"^Execute (?:Create(?:DataSource)?TableCommand|CreateViewCommand|Drop|Show|Describe|Set|Reset|Alter|"
    r"Analyze|Cache|Uncache|Refresh|Repair|Truncate|Create(?:Namespace|Database|Function)|AddJars?|Explain)"
)


@dataclass(slots=True)
class Write:
    """A target: its address, the names of its columns, and the operation whose rows are written."""

    uri: str
    append: bool
    rows: PhysicalNode
    columns: list[str] = field(default_factory=list)
    data_format: str = ""
    table: Document | None = None


def find_write(root: PhysicalNode) -> Write | None:
    """Return what a plan writes to files; None for a query, or for another command."""
    node = _command(root)
    if node is None or node.name != _HADOOP:
        return None
    arguments = split_top(node.fields.get("Arguments", ""))
    if not arguments:
        return None
    rows = node.children[0] if node.children else None
    if rows is None:
        return None
    mode = next((argument for argument in arguments if argument in _MODES), "Overwrite")
    columns = split_top(arguments[-1].strip("[]")) if arguments[-1].startswith("[") else []
    known = [argument for argument in arguments[1:] if argument[:1].isupper() and argument not in _MODES]
    return Write(
        _address(arguments[0]),
        _MODES[mode],
        rows,
        columns,
        known[0].lower() if known and known[0].isalnum() else "",
        _table_of(arguments),
    )


def find_created_table(root: PhysicalNode) -> Document | None:
    """Return the table that a CREATE TABLE AS SELECT creates, whose rows a nested execution writes."""
    node = _command(root)
    if node is None or not _CREATING.match(node.name):
        return None
    for child in node.children:
        table = _table_of([child.fields.get("Arguments", "")])
        if table is not None:
            return table
    return None


def find_unread_command(root: PhysicalNode) -> str:
    """Return the command of a plan if it may write rows and is not supported, else ""."""
    node = _command(root)
    name = node.name if node is not None else ""
    if not name or name == _HADOOP or _CREATING.match(name) or _QUIET.match(name):
        return ""
    return name.removeprefix("Execute ")


def _command(root: PhysicalNode) -> PhysicalNode | None:
    node: PhysicalNode | None = root
    while node is not None and not node.name.startswith("Execute "):
        is_around = node.name in (
            "AdaptiveSparkPlan",
            "CommandResult",
            "ResultQueryStage",
        ) or node.name.endswith("Plan")
        node = node.children[0] if is_around and node.children else None
    return node


def _table_of(arguments: list[str]) -> Document | None:
    for argument in arguments:
        matched = _TABLE.match(argument)
        if matched:
            identifier = {"database": matched["database"], "table": matched["table"]}
            if matched["catalog"]:
                identifier["catalog"] = matched["catalog"]
            return {"identifier": identifier}
    return None


def read_source(node: PhysicalNode, metadata: Mapping[str, str]) -> Document | None:
    """Return the source of a scan as a part of its document; None for one without files or a table.

    `metadata`: locations with more paths, by the beginning that both have.
    """
    matched = _SCAN.match(node.name)
    location = node.fields.get("Location", "")
    if not matched or not location:
        return None
    first = location.partition(", ")[0].rstrip("]")
    inside = _LOCATION.match(metadata.get(first, location)) or _LOCATION.match(location)
    paths = [path for path in split_top(inside["paths"]) if not _MORE.match(path)] if inside else []
    paths = [path for path in paths if path != "..."]
    if not paths:
        return None
    source: Document = {
        "inputSources": [_address(path) for path in paths],
        "extra": {"sourceType": matched["format"].lower()},
    }
    parts = [part.strip("`") for part in (matched["table"] or "").split(".")]
    if len(parts) in (2, 3) and all(parts):
        identifier: dict[str, Any] = {"database": parts[-2], "table": parts[-1]}
        if len(parts) == 3:
            identifier["catalog"] = parts[0]
        source["params"] = {"table": {"identifier": identifier}}
    return source


def _address(path: str) -> str:
    return path if ":" in path else f"file:{path}"
