"""What the scans of a physical plan read: files, and tables of catalogs. Pure."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from lineage_merge import naming
from lineage_merge.column_lineage.table_parts import BELOW_A_TABLE, METADATA_TABLES, part_of_path
from lineage_merge.sources.spline.columns.plan_text import split_top
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.catalogs import (
    Properties,
    iceberg_table,
    qualify_path,
    read_scanned_table,
)
from lineage_merge.sources.spline.event_log.formatted_plan import FormattedPlan, PhysicalNode, nodes
from lineage_merge.sources.spline.event_log.targets import Unread, address, make_table_address

_LOCATION = re.compile(r"^(?P<index>\w*FileIndex\w*)(?:\(\d+ paths?\))?\s?\[(?P<paths>.*)\]$", re.DOTALL)
_MORE = re.compile(r"^\.\.\. \d+ entries$")
_SCAN = re.compile(r"^(?:Batch)?Scan (?P<format>\w+)(?: (?P<table>\S.*))?$")
_HIVE = re.compile(
    r"HiveTableRelation \[(?:`(?P<catalog>[^`]+)`\.)?`(?P<database>[^`]+)`\.`(?P<table>[^`]+)`"
)
_JDBC = re.compile(r"^(?P<scan>Scan JDBCRelation)\((?P<table>.*)\)(?: \[numPartitions=\d+\])?\s*$", re.DOTALL)
_DELTA_INDEXES = ("Tahoe", "PreparedDelta")
_DELTA_LOG = ("txn#", "add#", "remove#", "metaData#")
# FileStreamSource[s3://b/in]
_STREAM_SOURCE = re.compile(r"^FileStreamSource\[(?P<path>.*)\]$")
_GLOB = re.compile(r"/[^/]*[*?{\[].*$")
_OF_DELTA_LOG = "_delta_log"
_READING = ("Scan", "BatchScan", "MicroBatchScan", "ContinuousScan")


def prepare_scans(plan: FormattedPlan) -> None:
    """Separate the columns of scans from the line below, and remove the text of queries from their names."""
    for node in chain.from_iterable(map(nodes, (plan.root, *plan.subqueries.values()))):
        columns, found, line = node.fields.get("Output", "").partition("]\n")
        if found and node.name.startswith("BatchScan"):
            node.fields["Output"] = f"{columns}]"
            node.fields.setdefault("", line)
        matched = _JDBC.match(node.name)
        if matched and matched["table"].startswith("("):
            node.name = f"{matched['scan']}(a query)"


def reads_delta_log(plan: FormattedPlan) -> bool:
    """Return whether a plan reads what Delta knows of its tables, and no rows of them."""
    for node in chain.from_iterable(map(nodes, (plan.root, *plan.subqueries.values()))):
        if _OF_DELTA_LOG in node.name or _OF_DELTA_LOG in node.fields.get("Location", ""):
            return True
        if node.name.startswith("Scan ExistingRDD"):
            output = node.list_of("Output")
            if all(column in output for column in _DELTA_LOG):
                return True
    return False


def read_source(
    node: PhysicalNode, metadata: Mapping[str, str], properties: Properties
) -> Document | Unread | None:
    """Return the source of a scan as a part of its document; None for an operation without one.

    `metadata`: locations with more paths, by the beginning that both have.
    """
    if node.name.partition(" ")[0] not in _READING:
        return None
    if node.fields.get("Location"):
        return _read_files(node, metadata)
    hive = _HIVE.search(node.fields.get("Arguments", ""))
    if hive is not None:
        table = {"identifier": {name: part for name, part in hive.groupdict().items() if part}}
        source = [make_table_address(table)]
        return {"inputSources": source, "params": {"table": table}, "extra": {"sourceType": "hive"}}
    scanned = read_scanned_table(node)
    if scanned:
        return _read_iceberg(node, scanned, properties)
    jdbc = _JDBC.match(node.name)
    if jdbc is not None:
        what = f"{naming.redact(jdbc['table'])} is read by JDBC: event logs have no address of it"
        return Unread("not-joined", "Scan JDBCRelation", what)
    if node.name.startswith("Scan ExistingRDD"):
        return Unread("not-joined", "Scan ExistingRDD", "an RDD, whose sources event logs do not have")
    name = naming.redact(node.name.split("(")[0].split("@")[0].strip())
    return Unread("not-joined", name, "a scan whose source is not known")


def read_rdd(node: PhysicalNode, paths: Iterable[str], properties: Properties) -> Document | None:
    """Return the files that an RDD is made of, by the names of RDDs; its columns are unknown."""
    if not node.name.startswith("Scan ExistingRDD"):
        return None
    addresses = [uri for path in paths for part in path.split(",") if (uri := qualify_path(part, properties))]
    if not addresses:
        return None
    return {"inputSources": addresses, "output": [], "extra": {"sourceType": "rdd"}}


def read_folders(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the folders whose files a stream reads, by the descriptions of its sources."""
    return tuple(_GLOB.sub("", path["path"]) for path in filter(None, map(_STREAM_SOURCE.match, sources)))


def replace_files(source: Document, folders: Iterable[str]) -> Document:
    """Return a source with folders in place of their files: a batch of a stream reads some of them."""
    uris = (
        next((folder for folder in folders if uri.startswith(f"{folder.rstrip('/')}/")), uri)
        for uri in source["inputSources"]
    )
    return {**source, "inputSources": [*dict.fromkeys(uris)]}


def _read_files(node: PhysicalNode, metadata: Mapping[str, str]) -> Document | None:
    matched = _SCAN.match(node.name)
    if matched is None:
        return None
    location = node.fields["Location"]
    first = location.partition(", ")[0].rstrip("]")
    inside = _LOCATION.match(metadata.get(first, location)) or _LOCATION.match(location)
    paths = [path for path in split_top(inside["paths"]) if not _MORE.match(path)] if inside else []
    paths = [path for path in paths if path != "..."]
    if not inside or not paths:
        return None
    is_delta = inside["index"].startswith(_DELTA_INDEXES)
    source: Document = {
        "inputSources": [address(path) for path in paths],
        "extra": {"sourceType": "delta" if is_delta else matched["format"].lower()},
    }
    parts = [part.strip("`") for part in (matched["table"] or "").split(".")]
    # The name of a scan of version 2 has the path.
    is_name = "/" not in (matched["table"] or "")
    if is_name and len(parts) in (2, 3) and all(parts):
        identifier: dict[str, Any] = {"database": parts[-2], "table": parts[-1]}
        if len(parts) == 3:
            identifier["catalog"] = parts[0]
        source["params"] = {"table": {"identifier": identifier}}
    return source


def _read_iceberg(node: PhysicalNode, name: str, properties: Properties) -> Document | Unread:
    """Return a table of Iceberg; of a metadata table the one above it, without columns: it has no rows."""
    above, part = name, ""
    if "/" in name:
        of_path = part_of_path(name)
        if of_path is not None:
            above, part = of_path[0], name.rpartition("#")[2] if of_path[1] == "metadata" else ""
    elif name.count(".") >= BELOW_A_TABLE - 1 and name.rpartition(".")[2].lower() in METADATA_TABLES:
        above, _, part = name.rpartition(".")
    table = iceberg_table(above, properties)
    if table is None:
        return Unread("not-joined", "BatchScan", f"a table whose address is not known: {naming.redact(name)}")
    separator = "#" if "/" in above else "."
    source: Document = {
        "inputSources": [table.uri],
        "params": {"table": {"identifier": f"{table.name}{separator}{part}" if part else table.name}},
        "extra": {"sourceType": "iceberg"},
    }
    return {**source, "output": []} if part else source
