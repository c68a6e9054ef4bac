"""The documented file of a query log: JSON lines, of any warehouse. Pure."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import SchemaError
from lineage_merge.model.elements import Problem
from lineage_merge.naming.identifiers import split_name
from lineage_merge.sources.query_log.statements.catalog import CatalogColumn, CatalogRow, ExternalTable
from lineage_merge.sources.query_log.statements.statement import LoggedStatement, microseconds


@cache
def _decoder(kind: Literal["statement", "table"]) -> DocumentDecoder:
    schema = json.loads(files(__package__).joinpath("statement_file.schema.json").read_text(encoding="utf-8"))
    return DocumentDecoder({"$defs": schema["$defs"], "$ref": f"#/$defs/{kind}"})


def read_line(line: bytes, location: str) -> Iterator[LoggedStatement | CatalogRow | Problem]:
    """Yield what a line says, or why it is rejected."""
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        yield Problem("rejected", location, "", f"not UTF-8 text (byte {error.start} of the line)")
        return
    if not text:
        return
    document = _decoder("statement").decode(text)
    if document is None:
        try:
            parsed = json.loads(text)
        except ValueError:
            yield Problem("rejected", location, "", "invalid JSON")
            return
        is_table = isinstance(parsed, dict) and "table" in parsed
        document = _decoder("table" if is_table else "statement").read(parsed)
    if isinstance(document, SchemaError):
        yield Problem("rejected", location, document.path, document.problem)
    elif "table" in document:
        yield from _table(document)
    else:
        yield from _statement(document, location)


def _table(document: Mapping[str, Any]) -> Iterator[CatalogRow]:
    parts = [part.value for part in split_name(document["table"])][-3:]
    database, schema, table = [*[""] * (3 - len(parts)), *parts]
    if document.get("location"):
        yield ExternalTable(database, schema, table, document["location"])
    for position, column in enumerate(document.get("columns", ()), 1):
        yield CatalogColumn(database, schema, table, column["name"], position, column.get("type", ""))


def _statement(document: Mapping[str, Any], location: str) -> Iterator[LoggedStatement | Problem]:
    times = []
    for name in ("started", "ended"):
        try:
            moment = datetime.fromisoformat(document.get(name) or document["started"])
        except ValueError:
            yield Problem("rejected", location, name, "expected a time such as 2026-11-01T06:00:00Z")
            return
        times.append(microseconds(moment))
    session = document["session"]
    yield LoggedStatement(
        id=document["id"],
        session=session,
        text=document["statement"],
        transaction=document.get("transaction", ""),
        database=document.get("database", ""),
        search_path=tuple(document.get("search_path", ())),
        user=document.get("user", ""),
        started=times[0],
        ended=times[1],
        rows=document.get("rows"),
        outcome=document.get("outcome", "open"),
        label=document.get("label", ""),
        procedure=document.get("procedure", ""),
        run=document.get("run", ""),
        files=tuple(document.get("files", ())),
    )
