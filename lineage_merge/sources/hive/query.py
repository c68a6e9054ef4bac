"""Validation and parsing of a hook's document: the query and its column edges. Pure."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, NamedTuple

from lineage_merge.infra.batches import gather
from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import load_schema
from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.model.elements import Problem, field_path
from lineage_merge.naming.identifiers import split_name
from lineage_merge.sources.hive.log import Found
from lineage_merge.sources.hive.set_operations import right_only
from lineage_merge.sources.hive.statement import Statement, Table, read_statement

Kind = Literal["PROJECTION", "PREDICATE"]

# The placeholder tables of queries that read none: constants, and the rows of VALUES.
_NO_TABLE = re.compile(r"_dummy_(?:database|table)|values__tmp__table__\d+")
# Larger values are milliseconds, which some hooks write.
_LATEST_SECOND = 100_000_000_000


class Field(NamedTuple):
    """A column of a table, or a field of one (`field_path`); `column` "" is the table itself."""

    table: Table
    column: str


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of Hive's logger: each source leads to each target."""

    kind: Kind
    sources: tuple[Field, ...]
    targets: tuple[Field, ...]
    expression: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """One query that succeeded.

    `key` is independent of the document's form and of how often it was logged. `at` is the end time in ms
    since 1970 (None: unknown). `columns_lost`: target tables whose written columns the document does not
    name.
    """

    key: str
    at: int | None
    duration_ms: int | None
    user: str
    engine: str
    run_id: str
    statement: Statement
    edges: tuple[Edge, ...]
    columns_lost: frozenset[Table] = frozenset()

    @property
    def targets(self) -> tuple[Table, ...]:
        """Return the tables that the query writes, sorted; empty if it only reads."""
        return tuple(sorted({field.table for edge in self.edges for field in edge.targets}))

    def shape(self) -> str:
        """Return a hash (12 hex digits) of the column edges, the same for every date a query runs for.

        Statements with the same shape have the same lineage except for expressions.
        """
        edges = sorted(
            (edge.kind, sorted(map(_text, edge.sources)), sorted(map(_text, edge.targets)))
            for edge in self.edges
        )
        return hashlib.sha256(json.dumps(edges).encode()).hexdigest()[:12]


def _text(field: Field) -> str:
    return json.dumps([*field.table, field.column.lower()])


@cache
def _decoder() -> DocumentDecoder:
    return DocumentDecoder(load_schema(__package__, "hive.schema.json"))


def uses_ids(document: Mapping[str, Any]) -> bool:
    """Return whether the document's edges refer to vertices by id, as Hive's own logger writes them."""
    ends = (end for edge in document["edges"] for end in (*edge["sources"], *edge["targets"]))
    return not any(isinstance(end, str) for end in ends)


def read_query(logged: Found) -> Query | Problem:
    """Parse a document, or return why it is rejected."""
    error = _decoder().error(logged.document)
    if error:
        return Problem("rejected", logged.location, error.path, error.problem)
    return read_checked(logged)


def read_checked(logged: Found) -> Query | Problem:
    """Parse a document that fits the schema, or return why it is rejected."""
    document = logged.document
    database = redact(str(document.get("database") or "default")).lower()
    vertices = _Vertices(document, database)
    statement = read_statement(document.get("queryText") or "", database)
    edges: list[Edge] = []
    unnamed: list[tuple[int, str]] = []
    for index, edge in enumerate(document["edges"]):
        ends: dict[str, list[Field]] = {"sources": [], "targets": []}
        for side, fields in ends.items():
            for location, end in enumerate(edge[side]):
                field = vertices.field(end, is_target=side == "targets")
                if field is None:
                    where = f"edges[{index}].{side}[{location}]"
                    return Problem("rejected", logged.location, where, f"no vertex {end}")
                if field.table.name:
                    fields.append(field)
                elif side == "targets":
                    unnamed.append((index, field.column))
        expression = str(edge.get("expression") or "")
        edges.append(Edge(edge["edgeType"], tuple(ends["sources"]), tuple(ends["targets"]), expression))
    lost: frozenset[Table] = frozenset()
    if unnamed:
        edges, lost = _name_targets(edges, unnamed, statement)
    edges = _mark_predicates(edges, right_only(document.get("queryText") or "", database))
    started = _milliseconds(document.get("timestamp"))
    duration = document.get("duration")
    at = started if started is None else started + int(duration or 0)
    return Query(
        key=_key(document),
        at=_parse_log_time(logged.logged_at) if at is None else at,
        duration_ms=None if duration is None else int(duration),
        user=str(document.get("user") or ""),
        engine=str(document.get("engine") or ""),
        run_id=next(iter(document.get("jobIds") or ()), ""),
        statement=statement,
        edges=tuple(edge for edge in edges if edge.targets),
        columns_lost=lost,
    )


def _key(document: Mapping[str, Any]) -> str:
    """Return the key of one execution of a query. The times of two hooks may be equal."""
    written = (document.get("queryText") or "").encode(errors="replace")
    text = document.get("hash") or hashlib.md5(written).hexdigest()  # noqa: S324
    what = [text, document.get("timestamp")]
    if not (document.get("hash") or document.get("queryText")):
        what += [document["edges"], document.get("vertices")]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:20]


def _milliseconds(timestamp: float | None) -> int | None:
    if timestamp is None:
        return None
    return int(timestamp if timestamp > _LATEST_SECOND else timestamp * 1000)


def _parse_log_time(text: str) -> int | None:
    """Parse the time of a line's prefix; logs have no time zone, so it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(moment.replace(tzinfo=UTC).timestamp() * 1000)


def _name_targets(
    edges: list[Edge], unnamed: list[tuple[int, str]], statement: Statement
) -> tuple[list[Edge], frozenset[Table]]:
    """Return the edges, with targets whose table only the statement names.

    Such targets have read-only queries, INSERT OVERWRITE DIRECTORY, and Hive 1's INSERT, which lists the
    selected columns instead of the written ones.
    """
    has_targets = any(edge.targets for edge in edges)
    writes = statement.directories if has_targets or statement.directories else statement.tables
    if len(writes) != 1:
        return edges, frozenset()
    [write] = writes
    is_lost = write.is_insert and bool(write.table.database)
    added = gather((index, Field(write.table, "" if is_lost else column)) for index, column in unnamed)
    named = [
        Edge(edge.kind, edge.sources, (*edge.targets, *dict.fromkeys(added.get(index, ()))), edge.expression)
        for index, edge in enumerate(edges)
    ]
    return named, frozenset({write.table} if is_lost else ())


def _mark_predicates(edges: list[Edge], tables: frozenset[Table]) -> list[Edge]:
    """Return the edges; columns of `tables`, which only decide on rows, become predicates."""
    if not tables:
        return edges
    parsed: list[Edge] = []
    for edge in edges:
        values = tuple(field for field in edge.sources if field.table not in tables)
        others = tuple(field for field in edge.sources if field.table in tables)
        if edge.kind == "PREDICATE" or not values or not others:
            parsed.append(edge)
            continue
        parsed += [Edge(edge.kind, values, edge.targets, edge.expression)]
        parsed += [Edge("PREDICATE", others, edge.targets)]
    return parsed


class _Vertices:
    """The vertices that edges refer to. A field without a table name is a column of no table."""

    def __init__(self, document: Mapping[str, Any], database: str) -> None:
        self._database = database
        self._by_id: dict[float, tuple[str, str]] = {}
        self._kinds: dict[str, str] = {}
        for vertex in document.get("vertices") or ():
            # Redacted before the name is split at dots: a part may not be recognizable as a secret.
            name, kind = redact_sql(vertex["vertexId"]), vertex.get("vertexType") or ""
            self._kinds[name] = kind
            if vertex.get("id") is not None:
                self._by_id[vertex["id"]] = (name, kind)

    def field(self, end: float | str, *, is_target: bool) -> Field | None:
        """Return the column or table of an edge's end; None if no vertex has the id."""
        if not isinstance(end, str):  # JSON may write an integer as 1.0
            vertex = self._by_id.get(end)
            if vertex is None:
                return None
            name, kind = vertex
        else:
            name, kind = end, self._kinds.get(end, "")
        parts = list(_parts(name))
        if not kind:
            kind = "COLUMN" if len(parts) > 2 or (is_target and "@" not in name) else "TABLE"
        if _NO_TABLE.fullmatch(parts[0].lower()) or _NO_TABLE.fullmatch(parts[-1].lower()):
            return Field(Table("", ""), "")
        if kind == "TABLE":
            names = parts if len(parts) > 1 else [self._database, *parts]
            return Field(Table(names[0].lower(), names[1].lower()), "")
        if len(parts) > 2:
            # Further parts are fields of the column.
            table_name = parts[1].lower()
            table = Table("", "") if _NO_TABLE.fullmatch(table_name) else Table(parts[0].lower(), table_name)
            return Field(table, field_path(*parts[2:]))
        if len(parts) == 2 and not is_target:
            return Field(Table(self._database, parts[0].lower()), parts[1])
        return Field(Table("", ""), parts[-1])


def _parts(name: str) -> Iterator[str]:
    """Split ``db.table.column``, with or without backticks; Hive's own hooks write ``db@table``."""
    if "@" in name and "`" not in name and "." not in name.partition("@")[0]:
        database, _, rest = name.partition("@")
        yield from (database, rest.partition("@")[0])
        return
    yield from (part.value for part in split_name(name))
