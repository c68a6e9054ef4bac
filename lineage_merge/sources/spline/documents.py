"""Documents of Spline's database that are read, and their validation.

Collections and fields are those of Spline 0.7 and 1.0 in ArangoDB (`spline.schema.json` in this folder). The
parts of a plan refer to it in ``_belongsTo``; the key of a vertex starts with the plan's.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lineage_merge.infra.document_decoder import DocumentDecoder, loads
from lineage_merge.infra.json_schema import SchemaError, load_schema
from lineage_merge.model.elements import Problem
from lineage_merge.naming import redact
from lineage_merge.sources.spline import database_state
from lineage_merge.sources.spline.database_state import Snapshot

REQUIRED = ("executionPlan", "operation")
# The parts of a plan.
PLAN_PARTS = (
    "executionPlan",
    "operation",
    "follows",
    "emits",
    "consistsOf",
    "produces",
    "attribute",
    "derivesFrom",
    "computedBy",
    "uses",
    "takes",
    "expression",
)
# Transaction state; Spline 0.7 has neither.
TRANSACTIONS = (database_state.COUNTER, database_state.OPEN)
COLLECTIONS = (*PLAN_PARTS, "progress", *TRANSACTIONS)

Document = dict[str, Any]

# How write operations change single rows of their target; `append` is false for them. Those of
# `spark_capture` have their assignments and conditions as expressions, those of Delta as text.
ROW_OPERATIONS = {"merge": "MergeIntoTable", "update": "UpdateTable", "delete": "DeleteFromTable"}
DELTA_ROW_OPERATIONS = {
    "MergeIntoCommand": "merge",
    "MergeIntoCommandEdge": "merge",
    "UpdateCommand": "update",
    "DeleteCommand": "delete",
}

ROW_LEVEL = {**DELTA_ROW_OPERATIONS, **{name: mode for mode, name in ROW_OPERATIONS.items()}}

_BELONGS_TO = re.compile(r'"_belongsTo"\s*:\s*"executionPlan/([^"\\]+)"')
_KEY = re.compile(r'"_key"\s*:\s*"([^"\\]+)"')


@dataclass(frozen=True, slots=True)
class Plan:
    """All validated documents of one execution plan. `header` None: its own document is missing.

    `is_open`: one of its transactions was not committed, so the plan is ignored.
    """

    key: str
    header: Document | None
    parts: Mapping[str, tuple[Document, ...]]
    is_open: bool = False

    @property
    def operations(self) -> tuple[Document, ...]:
        """Return the operations by key."""
        return self.parts.get("operation", ())

    @property
    def follows(self) -> tuple[Document, ...]:
        """Return the edges from an operation to what it consumes."""
        return self.parts.get("follows", ())

    @property
    def expressions(self) -> tuple[Document, ...]:
        """Return the expressions by key."""
        return self.parts.get("expression", ())


def row_level_mode(write: Mapping[str, Any]) -> str:
    """Return how a write changes single rows: ``merge``, ``update``, ``delete``; "" if it does not."""
    return ROW_LEVEL.get(str(write.get("name")), "")


def write_mode(write: Mapping[str, Any]) -> str:
    """Return how a write changes its target: as `row_level_mode`, else ``append`` or ``overwrite``."""
    return row_level_mode(write) or ("append" if write.get("append") else "overwrite")


@cache
def _decoder(collection: str) -> DocumentDecoder:
    schema = load_schema(__package__, "spline.schema.json")
    return DocumentDecoder(schema | {"$ref": f"#/$defs/{collection}"})


def decode(collection: str, text: str, database: str = "") -> Document | Problem:
    """Return the fields of a document that are read, or why it is rejected."""
    fields: Document | None = _decoder(collection).decode(text)
    if fields is not None:
        return fields
    document = parse(collection, text, database)
    return document if isinstance(document, Problem) else read(collection, document, database)


def decode_lines(collection: str, lines: str, database: str = "") -> Iterator[Document | Problem]:
    """Yield the same as `decode` for each line; a line is a JSON object without line feeds."""
    documents = _decoder(collection).decode_lines(lines, lines.count("\n") + 1)
    if documents is None:
        documents = [decode(collection, line, database) for line in lines.split("\n")]
    yield from documents


def parse(collection: str, text: str, database: str = "") -> Document | Problem:
    """Parse a document's text, or return why it is rejected."""
    try:
        document = loads(text)
    except (ValueError, RecursionError) as error:
        key = _KEY.search(text)
        name = redact(f"{collection}/{key[1] if key else '(no key)'}")
        reason = str(error.args[0]) if isinstance(error, ValueError) else "nested too deeply"
        return reject(name, "", f"not JSON: {reason}", database)
    if isinstance(document, dict) and "_key" not in document and "_from" not in document:
        document = document.get("data", document)  # a line of arangodump
    if not isinstance(document, dict):
        return reject(f"{collection}/(no key)", "", "not a JSON object", database)
    return document


def plan_key(collection: str, text: str) -> str:
    """Return the key of the plan that a document's text belongs to, "" without one.

    A regular expression suffices for most, so that a document is parsed only once, where it is used.
    """
    if collection != "executionPlan":
        match = _BELONGS_TO.search(text)
        if match:
            return match[1]
    document = parse(collection, text)
    return "" if isinstance(document, Problem) else plan_key_of(collection, document)


def plan_key_of(collection: str, document: Document) -> str:
    """Return the key of the plan that a document belongs to, "" without one."""
    if collection == "executionPlan":
        return _text(document.get("_key"))
    owner = document.get("_belongsTo")
    if owner:
        return _text(owner).rpartition("/")[2]
    key, colon, _ = _text(document.get("_from") or document.get("_key")).rpartition("/")[2].partition(":")
    return key if colon else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def name_of(collection: str, document: object) -> str:
    """Return the document's name in messages: ``operation/0f7d:op-1``."""
    fields = document if isinstance(document, dict) else {}
    key, owner = fields.get("_key"), _text(fields.get("_belongsTo"))
    # Malformed documents may have anything in these fields, even a URL with a password.
    if key and isinstance(key, str | int):
        return redact(f"{collection}/{key}")
    return redact(f"{collection}/(no key) of {owner}") if owner else f"{collection}/(no key)"


def read(collection: str, document: object, database: str = "") -> Document | Problem:
    """Return the fields of a parsed document that are read, or why it is rejected."""
    outcome: Document | SchemaError = _decoder(collection).read(document)
    if isinstance(outcome, SchemaError):
        return reject(name_of(collection, document), outcome.path, outcome.problem, database)
    return outcome


def reject(document: str, field: str, problem: str, database: str = "") -> Problem:
    """Return a rejection that names the database if there are several."""
    name = f"{database}: {document}" if database else document
    return Problem("rejected", name, field, problem)


def assemble(
    key: str,
    documents: Mapping[str, Sequence[Document]],
    snapshot: Snapshot,
    database: str = "",
) -> tuple[Plan, list[Problem]]:
    """Build a plan from its parsed documents by collection, without malformed ones."""
    checked = {
        collection: [read(collection, document, database) for document in documents.get(collection, ())]
        for collection in PLAN_PARTS
    }
    problems = [item for outcomes in checked.values() for item in outcomes if isinstance(item, Problem)]
    valid = {
        name: [item for item in outcomes if not isinstance(item, Problem)]
        for name, outcomes in checked.items()
    }
    return plan_of(key, valid, snapshot), problems


def plan_of(key: str, documents: Mapping[str, Sequence[Document]], snapshot: Snapshot) -> Plan:
    """Build a plan from its valid documents by collection."""
    parts = {collection: _distinct(documents.get(collection, ())) for collection in PLAN_PARTS}
    header = parts["executionPlan"][0] if parts["executionPlan"] else None
    is_open = snapshot.hides_any(document for part in parts.values() for document in part)
    return Plan(key, header, parts, is_open)


def _distinct(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Return documents by key: duplicates count once, whichever version comes first."""
    by_key = {_identity(document): document for document in documents}
    if len(by_key) < len(documents):
        for document in documents:
            key = _identity(document)
            by_key[key] = max(document, by_key[key], key=_key_in_order)
    return tuple([by_key[key] for key in sorted(by_key)])


def _identity(document: Document) -> str:
    return document.get("_key") or f"{document['_from']}>{document['_to']}"


def _key_in_order(document: Document) -> str:
    return json.dumps(document, sort_keys=True)


# More digits do not fit 64 bits, and are slow to parse.
_DIGITS = 20


def duration_ns(event: Mapping[str, Any]) -> int | None:
    """Return the duration in a validated event or `progress` document; None without one.

    Producer API 1 has it in `extra`, as a number or as digits. Spline's server moves it out of `extra` only
    if its JSON parser read a 64-bit number, so databases may have it in `extra` alone.
    """
    duration = event.get("durationNs")
    return _whole((event.get("extra") or {}).get("durationNs")) if duration is None else int(duration)


def _whole(value: object) -> int | None:
    if isinstance(value, str) and len(value) < _DIGITS and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 63 else None
