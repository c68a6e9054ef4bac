"""Neptune's CSV for Gremlin read as AWS's "Gremlin load data format" says, and put into a graph.

It knows nothing of the code that writes such files. It is stricter than the loader where that
finds mistakes: a header that it does not know, a field too many, a label that is not the one
that the vertex has.
"""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, T
from gremlin_python.statics import long

Value = str | int | float | bool

_HEADER = re.compile(
    r"(?P<name>(?:[^:\\\s,]|\\:)+):(?P<type>[A-Za-z]+)(?:\((?P<cardinality>single|set)\))?(?P<many>\[\])?"
)
_PLAIN = re.compile(r"[^,\r\n]*")
_QUOTED = re.compile(r'((?:[^"]|"")*)"(?!")')
_NEWLINE = re.compile(r"\r?\n")
_WHOLE = {"byte": 8, "short": 16, "int": 32, "long": 64}
_SYSTEM = {"vertex": {"~id", "~label"}, "edge": {"~id", "~from", "~to", "~label"}}
_REQUIRED = {"vertex": {"~id"}, "edge": {"~id", "~from", "~to"}}


class LoadError(Exception):
    """What the loader would say of a file: an error code, a message, and the record."""

    def __init__(self, code: str, message: str, record: int = 0) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.record = code, message, record


class Column(NamedTuple):
    """A header."""

    name: str
    type: str
    single: bool
    many: bool


@dataclass
class Record:
    """A row with its `single` and `sets` values."""

    id: str
    label: str
    ends: tuple[str, str] | None
    single: dict[str, Value] = field(default_factory=dict)
    sets: dict[str, list[Value]] = field(default_factory=dict)


def records(data: bytes, *, empty_strings: bool = False) -> Iterator[Record]:
    """The rows of a file, gzipped or not. Raises LoadError."""
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
    rows = iter(list(_rows(text)))
    header = next(rows, [])
    kind = "edge" if any(name in ("~from", "~to") for name, _ in header) else "vertex"
    columns = [_column(name, kind) for name, _ in header]
    names = [column.name for column in columns]
    if len(set(names)) != len(names) or not set(names) >= _REQUIRED[kind]:
        raise LoadError("PARSING_ERROR", f"headers {names}")
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise LoadError("PARSING_ERROR", f"expected {len(columns)} fields, found {len(row)}", number)
        yield _record(kind, columns, row, number, empty_strings)


def _rows(text: str) -> Iterator[list[tuple[str, bool]]]:
    """Each field, and whether it was quoted: RFC 4180, with line ends of either kind."""
    row: list[tuple[str, bool]] = []
    at, end = 0, len(text)
    while at < end:
        if text[at] == '"':
            at, field_text = _quoted(text, at + 1)
            row.append((field_text, True))
        else:
            stop = _PLAIN.match(text, at)
            assert stop is not None
            at = stop.end()
            if '"' in stop[0]:
                raise LoadError("PARSING_ERROR", f"a quotation mark within {stop[0]!r}")
            row.append((stop[0].strip(" "), False))  # spaces around it are ignored
        if text.startswith(",", at):
            at += 1
            if at < end:
                continue
            row.append(("", False))  # a file that ends with a comma
        newline = _NEWLINE.match(text, at)
        if newline is None and at < end:
            raise LoadError("PARSING_ERROR", f"{text[at : at + 20]!r} after a quoted field")
        at = newline.end() if newline else end
        yield row
        row = []


def _quoted(text: str, at: int) -> tuple[int, str]:
    found = _QUOTED.match(text, at)
    if found is None:
        raise LoadError("PARSING_ERROR", "a quoted field without its end")
    return found.end(), found[1].replace('""', '"')


def _column(header: str, kind: str) -> Column:
    if header.startswith("~"):
        if header not in _SYSTEM[kind]:
            raise LoadError("PARSING_ERROR", f"header {header} in a file of a {kind}")
        return Column(header, "string", single=True, many=False)
    found = _HEADER.fullmatch(header)
    if not found:
        raise LoadError("PARSING_ERROR", f"header {header!r}")
    many, single = bool(found["many"]), found["cardinality"] == "single"
    if many and (single or kind == "edge"):
        raise LoadError("PARSING_ERROR", f"header {header!r}: several values of one")
    if kind == "edge" and found["cardinality"] == "set":
        raise LoadError("PARSING_ERROR", f"header {header!r}: a set on an edge")
    return Column(found["name"].replace("\\:", ":"), found["type"].lower(), single or kind == "edge", many)


def _record(
    kind: str, columns: list[Column], row: list[tuple[str, bool]], number: int, empty_strings: bool
) -> Record:
    values = {column.name: text for column, (text, _) in zip(columns, row, strict=True)}
    if any(not values[name] for name in _REQUIRED[kind]) or values.get("~label") == "":
        raise LoadError("PARSING_ERROR", "a blank field in a required column", number)
    ends = (values["~from"], values["~to"]) if kind == "edge" else None
    record = Record(values["~id"], values.get("~label", kind), ends)
    for column, (text, quoted) in zip(columns, row, strict=True):
        if column.name.startswith("~") or (not text and not (quoted and empty_strings)):
            continue
        if column.single:
            record.single[column.name] = _value(column.type, text, number)
        else:
            members = _members(text) if column.many else [text]
            record.sets[column.name] = [_value(column.type, each, number) for each in members]
    return record


def _members(text: str) -> list[str]:
    return [each.replace("\\;", ";") for each in re.split(r"(?<!\\);", text)]


def _value(kind: str, text: str, number: int) -> Value:
    if kind == "string":
        return text
    try:
        if kind in _WHOLE:
            found = int(text)
            if -(2 ** (_WHOLE[kind] - 1)) <= found < 2 ** (_WHOLE[kind] - 1):
                return long(found) if kind == "long" else found
        if kind in ("float", "double"):
            return float(text)
    except ValueError:
        raise LoadError("PARSING_ERROR", f"{text!r} is no {kind}", number) from None
    if kind in ("bool", "boolean"):
        return text == "true"
    raise LoadError("PARSING_ERROR", f"{text!r} is no {kind}", number)


def put(g: GraphTraversalSource, record: Record, *, update_single: bool) -> None:
    """One record into the graph. Raises LoadError."""
    if record.ends is None:
        _put_vertex(g, record, update_single=update_single)
    else:
        _put_edge(g, record, record.ends, update_single=update_single)


def _put_vertex(g: GraphTraversalSource, record: Record, *, update_single: bool) -> None:
    present = g.V(record.id).label().to_list()
    if not present:
        g.add_v(record.label).property(T.id, record.id).to_list()
    elif present != [record.label]:
        raise LoadError("TWO_LABELS", f"{record.id} is {present[0]}, and would be {record.label} as well")
    _refuse_second(g.V(record.id), record, update_single=update_single)
    setting = g.V(record.id)
    for name, value in record.single.items():
        setting = setting.property(Cardinality.single, name, value)
    for name, values in record.sets.items():
        for value in values:
            setting = setting.property(Cardinality.set_, name, value)
    setting.to_list()


def _put_edge(g: GraphTraversalSource, record: Record, ends: tuple[str, str], *, update_single: bool) -> None:
    present = g.E(record.id).project("from", "to").by(__.out_v().id_()).by(__.in_v().id_()).to_list()
    if present and (present[0]["from"], present[0]["to"]) != ends:
        raise LoadError("ID_ASSIGNED_TO_MULTIPLE_EDGES", record.id)
    if not present:
        if g.V(*set(ends)).count().next() != len(set(ends)):
            message = f"Either from vertex, '{ends[0]}', or to vertex, '{ends[1]}', is not present."
            raise LoadError("FROM_OR_TO_VERTEX_ARE_MISSING", message)
        end = __.V(ends[1])
        g.V(ends[0]).add_e(record.label).to(end).property(T.id, record.id).to_list()
    _refuse_second(g.E(record.id), record, update_single=update_single)
    setting = g.E(record.id)
    for name, value in record.single.items():
        setting = setting.property(name, value)
    setting.to_list()


def _refuse_second(found: Any, record: Record, *, update_single: bool) -> None:
    if not update_single and record.single and found.properties(*record.single).count().next():
        raise LoadError("SINGLE_CARDINALITY_VIOLATION", record.id)
