"""Targets of writes: what is known of one, and the parts of a command's arguments that say it. Pure."""

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lineage_merge import naming
from lineage_merge.naming.jobs import SESSION_CATALOG
from lineage_merge.sources.spline.columns.plan_text import split_top
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.delta_changes import DeltaMerge
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode

# Whether rows are added, by the mode.
MODES = {"Overwrite": False, "Append": True, "ErrorIfExists": False, "Ignore": False}
ICEBERG_WRITE = re.compile(r"Iceberg(?:Streaming)?Write\(table=(?P<table>.+?), format=\w+\)")
# In the arguments of commands that change rows of Delta: Delta[version=0, file:/data/t]
DELTA_LOG = re.compile(r"Delta\[version=-?\d+, (?P<path>[^\]]+)\]")
_TABLE = re.compile(r"^(?:`(?P<catalog>[^`]+)`\.)?`(?P<database>[^`]+)`\.`(?P<table>[^`]+)`(?:,|$)")
_FIELD = re.compile(r"^[ \t]*(?P<name>Catalog|Database|Table):[ \t]*(?P<value>\S.*?)[ \t]*$", re.MULTILINE)


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


def read_name(node: PhysicalNode) -> str:
    return node.name.removeprefix("Execute ")


def list_arguments(node: PhysicalNode) -> list[str]:
    """Return the arguments of a command, which a node of its own may have."""
    own = node.fields.get("Arguments", "")
    below = node.children[0] if node.children else None
    if not own and below is not None and below.name == read_name(node):
        own = below.fields.get("Arguments", "")
    return split_top(own)


def report_unsupported(node: PhysicalNode, *_: object) -> Unread:
    name = read_name(node)
    text = " ".join(list_arguments(node))
    table = ICEBERG_WRITE.search(text) or DELTA_LOG.search(text)
    of_table = f" ({table[1]})" if table else ""
    return Unread("skipped", "", f"a command that is not supported: {name}{of_table}")


def report_path(field: str, path: str) -> Unread:
    return Unread("skipped", field, f"a path without its file system: {naming.redact(path)}")


def list_columns(arguments: list[str]) -> list[str]:
    names = split_top(arguments[-1].strip("[]")) if arguments[-1].startswith("[") else []
    return [name for name in names if not name.startswith("... ")]


def read_table(arguments: list[str]) -> Document | None:
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
