"""Recognition of documents and files by their content, for errors about the wrong input. Pure.

A message names what a document is and the configuration key that reads it, such as ``OpenLineage events: give
them as openlineage.events``. Contents are never part of a message. Sources declare their own kinds.
"""

import json
import re
from functools import cache

from lineage_merge.sources.kinds import Kind

GRAPH = Kind(
    "node or edge files of lineage_merge",
    "query them with --folder, or load them with lineage-merge load",
    (("id", "environment", "label", "dag_name"), ("id", "environment", "label", "dag_names")),
)
EMPTY = Kind("an empty file", "create it again")

_UTF_16 = Kind("UTF-16 text", "save it as UTF-8")
_NO_TEXT = Kind("not UTF-8 text", "save it as UTF-8")
# The share of characters of a text that are not UTF-8: logs have a few. Of pairs of bytes with one zero.
_MAX_INVALID = 0.2
_MIN_ZEROS = 0.4
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
    (b"\xff\xfe", _UTF_16),
    (b"\xfe\xff", _UTF_16),
    (b"%PDF", Kind("a PDF file")),
)
_XML = Kind("an XML file")
_HTML = Kind("an HTML page, perhaps of a login", "download the file itself")
_CSV = Kind("a CSV file", "export it as JSON")
_SEPARATORS = ",;\t"
_MAX_LINES = 50


@cache
def _kinds() -> tuple[Kind, ...]:
    # The only import against the order of the modules: readers ask for the kinds of all sources.
    from lineage_merge.sources.registry import SOURCES

    return (*(kind for source in SOURCES for kind in source.kinds), GRAPH)


def recognize_document(document: object) -> Kind | None:
    """Return the kind of a JSON document by its top-level keys; None if it is unknown."""
    kind = next((kind for kind in _kinds() if kind.recognizes(document)), None)
    if kind is None and isinstance(document, list) and document and isinstance(document[0], dict):
        return recognize_document(document[0])
    return kind


def recognize_bytes(content: bytes) -> Kind | None:
    """Return the kind of a file by its first bytes, which may end anywhere; None if it is unknown."""
    if not content.strip():
        return EMPTY
    return binary_kind(content) or recognize_text(content.decode("utf-8", errors="replace"))


def binary_kind(content: bytes) -> Kind | None:
    """Return the kind of a file that is no UTF-8 text by its first bytes; None for text."""
    for magic, kind in _MAGIC:
        # A log may begin with any bytes: UTF-16 of logs and JSON has zeros.
        if content.startswith(magic) and (kind is not _UTF_16 or 0 in content):
            return kind
    if _is_utf_16(content):
        return _UTF_16
    text = content.decode("utf-8", errors="replace")
    if text.count("\ufffd") <= _MAX_INVALID * len(text):
        return None
    # Of lines with documents, some may be damaged.
    return None if any(map(_is_object, content.splitlines())) else _NO_TEXT


def _is_object(line: bytes) -> bool:
    """Return whether a line is probably a JSON object."""
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError:
        return False
    return text.startswith("{") and text.endswith("}")


def _is_utf_16(content: bytes) -> bool:
    """Return whether every second byte is zero, as in UTF-16 of most scripts without its mark."""
    pairs = len(content) // 2
    zeros = content[0 : 2 * pairs : 2].count(0), content[1 : 2 * pairs : 2].count(0)
    # A log that was emptied while it was written begins with zeros only.
    return pairs > 0 and max(zeros) > _MIN_ZEROS * pairs and min(zeros) < pairs // 10 + 1


def recognize_text(text: str) -> Kind | None:
    """Return the kind of a text, or of its beginning; None if it is unknown."""
    start = text.removeprefix("\ufeff").lstrip()
    if not start:
        return EMPTY
    is_json = start[0] in "{["
    if is_json:
        try:
            return recognize_document(json.loads(start))
        except (ValueError, RecursionError):
            if kind := _recognize_lines(start):
                return kind
    # Of a large document, or of lines of a log.
    for kind in _kinds():
        if kind.pattern and (not kind.first or start[0] in kind.first) and kind.pattern.search(start):
            return kind
    if is_json:
        return None
    return _recognize_markup(start) if start[0] == "<" else _CSV if _is_csv(start) else None


def _recognize_lines(text: str) -> Kind | None:
    for line in text.split("\n", _MAX_LINES)[:_MAX_LINES]:
        try:
            kind = recognize_document(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if kind:
            return kind
    return None


def _recognize_markup(text: str) -> Kind | None:
    beginning = text[:100].lower()
    if re.match(r"<(?:!doctype html|html|head|body|!--)", beginning):
        return _HTML
    return _XML if beginning.startswith("<?xml") else None


def _is_csv(text: str) -> bool:
    lines = [line for line in text[:4000].split("\n")[:3] if line.strip()]
    if len(lines) < 2:
        return False
    # Lines of a log have different numbers of commas.
    counts = ({line.count(separator) for line in lines} for separator in _SEPARATORS)
    return any(len(count) == 1 and count != {0} for count in counts)
