"""Recognition of documents and files by their content, for errors about the wrong input. Pure.

A message names what a document is and the configuration key that reads it, such as ``OpenLineage events: give
them as openlineage.events``. Contents are never part of a message.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """A kind of document: what it is, and what to do with it ("" if nothing reads it)."""

    name: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return both as the end of a message."""
        return f"{self.name}: {self.remedy}" if self.remedy else self.name


MANIFEST = Kind("a dbt manifest", "give it as dbt[].manifest")
CATALOG = Kind("a dbt catalog", "give it as dbt[].catalog")
RUN_RESULTS = Kind("dbt's run results", "give them as dbt[].run_results")
FRESHNESS = Kind("dbt's source freshness", "give it as dbt[].sources")
EVENTS = Kind("OpenLineage events", "give them as openlineage.events")
AGENT = Kind("messages of a Spline agent", "give them as spline.agent")
EXPORT = Kind("documents of Spline's database", "give the folder of the collections as spline.export")
HIVE = Kind("lineage of Hive queries", "give the log as hive.log")
GRAPH = Kind(
    "node or edge files of lineage_merge", "query them with --folder, or load them with lineage-merge load"
)
EMPTY = Kind("an empty file", "create it again")
HTML = Kind("an HTML page, perhaps of a login", "download the file itself")
DBT_DOCS = Kind(
    "the HTML page of dbt docs", "give target/manifest.json and target/catalog.json, not index.html"
)

_DBT = re.compile(r"schemas\.getdbt\.com/dbt/([a-z-]+)/v\d+\.json")
_OF_DBT = {
    "manifest": MANIFEST,
    "catalog": CATALOG,
    "run-results": RUN_RESULTS,
    "sources": FRESHNESS,
    "semantic-manifest": Kind("dbt's semantic manifest", "give target/manifest.json"),
}
# The first bytes of binary files.
_MAGIC = (
    (b"\x1f\x8b", Kind("compressed with gzip", "end its name in .gz, or unpack it")),
    (b"PK\x03\x04", Kind("a ZIP archive or an Excel file", "unpack it, or export it as JSON")),
    (b"\xd0\xcf\x11\xe0", Kind("an Excel file", "export it as JSON")),
    (b"PAR1", Kind("a Parquet file", "export it as JSON")),
    (b"Obj\x01", Kind("an Avro file", "export it as JSON")),
    (b"\x28\xb5\x2f\xfd", Kind("compressed with Zstandard", "compress it with gzip, or unpack it")),
    (b"BZh", Kind("compressed with bzip2", "compress it with gzip, or unpack it")),
    (b"\xfd7zXZ\x00", Kind("compressed with xz", "compress it with gzip, or unpack it")),
    (b"\xff\xfe", Kind("UTF-16 text", "save it as UTF-8")),
    (b"\xfe\xff", Kind("UTF-16 text", "save it as UTF-8")),
    (b"%PDF", Kind("a PDF file")),
)
_CSV = Kind("a CSV file", "export it as JSON")
_SEPARATORS = ",;\t"
# Documents within lines of logs.
_IN_LOGS = (
    (re.compile(r'"eventTime\\?"\s*:.{0,4000}?"(?:producer|schemaURL)\\?"\s*:', re.DOTALL), EVENTS),
    (re.compile(r'Execution(?:Plan|Event) \(apiVersion|\[\s*"(?:plan|event)"\s*,\s*[\[{]'), AGENT),
    (re.compile(r'LineageLogger|"edgeType\\?"\s*:'), HIVE),
)
SQL = Kind("a SQL file", "give its folder as sql[].path")
_STATEMENT = re.compile(r"(?:\s|--[^\n]*\n)*(?:select|insert|create|with|merge|use)\s", re.IGNORECASE)
_MAX_LINES = 50


def of_document(document: object) -> Kind | None:
    """Return the kind of a JSON document by its top-level keys; None if it is unknown."""
    if isinstance(document, list):
        if len(document) > 1 and document[0] in ("plan", "event"):
            return AGENT
        return of_document(document[0]) if document and isinstance(document[0], dict) else None
    if not isinstance(document, dict):
        return None
    keys = document.keys()
    if (kind := _of_metadata(document)) is not None:
        return kind
    if keys >= {"eventTime", "producer"} and keys & {"run", "job", "dataset"}:
        return EVENTS
    if keys >= {"edges", "vertices"}:
        return HIVE
    if "_key" in keys and ("_id" in keys or "_belongsTo" in keys or "_rev" in keys):
        return EXPORT
    if keys >= {"planId", "timestamp"} or keys >= {"executionPlan", "executionEvent"}:
        return AGENT
    if keys >= {"id", "operations"}:
        return AGENT
    if keys >= {"id", "environment", "label"} and ("dag_name" in keys or "dag_names" in keys):
        return GRAPH
    return None


def _of_metadata(document: Mapping[str, Any]) -> Kind | None:
    metadata = document.get("metadata")
    version = metadata.get("dbt_schema_version") if isinstance(metadata, dict) else None
    match = _DBT.search(version) if isinstance(version, str) else None
    if match:
        return _OF_DBT.get(match[1])
    if document.keys() >= {"semantic_models", "metrics", "project_configuration"}:
        return _OF_DBT["semantic-manifest"]
    return None


def of_bytes(content: bytes) -> Kind | None:
    """Return the kind of a file by its first bytes, which may end anywhere; None if it is unknown."""
    if not content.strip():
        return EMPTY
    for magic, kind in _MAGIC:
        if content.startswith(magic):
            return kind
    return of_text(content.decode("utf-8", errors="replace"))


def of_text(text: str) -> Kind | None:
    """Return the kind of a text, or of its beginning; None if it is unknown."""
    start = text.removeprefix("\ufeff").lstrip()
    if not start:
        return EMPTY
    if start[:1] == "<":
        return _html(start)
    if start[:1] not in "{[":
        return _plain(start)
    try:
        return of_document(json.loads(start))
    except (ValueError, RecursionError):
        return _of_lines(start) or _of_beginning(start)


def _of_lines(text: str) -> Kind | None:
    for line in text.split("\n", _MAX_LINES)[:_MAX_LINES]:
        try:
            kind = of_document(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if kind:
            return kind
    return None


def _of_beginning(text: str) -> Kind | None:
    """Return the kind of a large document of which only the beginning is known."""
    match = _DBT.search(text)
    if match:
        return _OF_DBT.get(match[1])
    return next((kind for pattern, kind in _IN_LOGS if pattern.search(text)), None)


def _html(text: str) -> Kind | None:
    beginning = text[:2000].lower()
    if not re.match(r"<(?:!doctype html|html|head|body|!--)", beginning):
        return Kind("an XML file") if beginning.startswith("<?xml") else None
    return DBT_DOCS if "dbt docs" in beginning or "dbt-docs" in beginning else HTML


def _plain(text: str) -> Kind | None:
    for pattern, kind in _IN_LOGS:
        if pattern.search(text):
            return kind
    if _STATEMENT.match(text):
        return SQL
    lines = [line for line in text[:4000].split("\n")[:3] if line.strip()]
    for separator in _SEPARATORS:
        counts = {line.count(separator) for line in lines}
        # Lines of a log have different numbers of commas.
        if len(lines) > 1 and len(counts) == 1 and counts != {0}:
            return _CSV
    return None
