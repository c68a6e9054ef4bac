"""Conversion of rows to Gremlin requests. Pure: no connection, no Spark.

A row becomes one upsert by id (`vertex_upserts`, `edge_upsert`), `batches` groups upserts into requests, and
`bytecode` builds one chained traversal. Implements Neptune's rules: string ids, explicit single or set
cardinality, limited request size.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, __
from gremlin_python.process.traversal import Bytecode, Cardinality, Direction, Merge, P, T
from gremlin_python.statics import long

from lineage_merge.graph_format.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    FIRST_SEEN,
    LONGS,
    NODE_KEYS,
    NODE_PROPERTIES,
    RUN_LABELS,
    Property,
)
from lineage_merge.load.element_rows import require_keys
from lineage_merge.model.times import latest_credible

# Neptune counts a label, and each property, as a record. A record takes one step and an element one more, so
# 200 records stay far below the 1,500 steps at which servers run out of stack.
MAX_RECORDS = 200
# Keeps a few long descriptions below the server's limit (usually 10 MiB). A single record may exceed it.
MAX_CHARACTERS = 1_000_000

_ENVIRONMENT = Property("environment", "dev, staging or prod")
_DAG = Property("dag_name", "the DAG it belongs to")
# `first_seen` and the tag of a vertex are written separately.
_ON_VERTICES = {item.name: item for item in (_ENVIRONMENT, *NODE_PROPERTIES) if item.name != FIRST_SEEN}
_ON_EDGES = {item.name: item for item in (_ENVIRONMENT, _DAG, *EDGE_PROPERTIES) if item.name != FIRST_SEEN}


def has_later(name: str, at: int) -> GraphTraversal:
    """Return the filter of elements with a property that is later (`times.is_later`) than `at`."""
    later: GraphTraversal = __.has(name, P.gt(long(at))).has(name, P.lte(long(latest_credible())))
    return later


@dataclass(frozen=True, slots=True)
class VertexUpsert:
    """A vertex, created or matched by its id, with values to set (`single`) or add (`sets`).

    With `unless_newer` (a property's name and value), single values are only set if the stored value of that
    property is not later (`times.is_later`): a later run of the job may have been merged since the
    comparison. `created`: single values that only a new vertex gets.
    """

    id: str
    label: str
    single: tuple[tuple[str, Any], ...]
    sets: tuple[tuple[str, Any], ...]
    unless_newer: tuple[str, Any] | None = None
    created: tuple[tuple[str, Any], ...] = ()

    @property
    def records(self) -> int:
        """Return the number of records as Neptune counts them: the label and each value."""
        return 1 + len(self.single) + len(self.sets) + len(self.created)

    @property
    def characters(self) -> int:
        """Return the number of characters of ids and values."""
        return 2 * len(self.id) + _length(self.single) + _length(self.sets) + _length(self.created)

    def __str__(self) -> str:
        return f"{self.label} {self.id}"

    def steps(self) -> list[list[Any]]:
        """Return `mergeV`, and a `property` step for every value that is also set on match.

        `option(onCreate)` uses the server's default cardinality, and an explicit one inside it stores wrong
        values on TinkerPop 3.7.1; separate steps have an explicit cardinality. A value of `created` is the
        only one of its property with any cardinality, and costs a server a fraction of a step.
        """
        return [
            ["mergeV", {T.id: self.id}],
            ["option", Merge.on_create, {T.id: self.id, T.label: self.label, **dict(self.created)}],
            *self._singles(),
            *(["property", Cardinality.set_, key, value] for key, value in self.sets),
        ]

    def _singles(self) -> list[list[Any]]:
        if self.unless_newer is None:
            return [["property", Cardinality.single, key, value] for key, value in self.single]
        key, value = self.unless_newer
        traversal: GraphTraversal = __.not_(has_later(key, value))
        for key, value in self.single:
            traversal = traversal.property(Cardinality.single, key, value)
        return [["sideEffect", traversal.bytecode]]


@dataclass(frozen=True, slots=True)
class EdgeUpsert:
    """An edge, created or matched by its id; both ends must be in the graph.

    `only_if_missing`: an existing edge stays unchanged. `created`: values that only a new edge gets.
    """

    id: str
    label: str
    from_id: str
    to_id: str
    properties: tuple[tuple[str, Any], ...]
    only_if_missing: bool = False
    created: tuple[tuple[str, Any], ...] = ()

    @property
    def records(self) -> int:
        """Return the number of records as Neptune counts them: the label and each property."""
        return 1 + len(self.properties) + len(self.created)

    @property
    def characters(self) -> int:
        """Return the number of characters of ids and, twice, of values."""
        values = 2 * _length(self.properties) + _length(self.created)
        return 2 * len(self.id) + len(self.from_id) + len(self.to_id) + values

    def __str__(self) -> str:
        return f"edge {self.id} ({self.from_id} -{self.label}-> {self.to_id})"

    def steps(self) -> list[list[Any]]:
        """Return `mergeE` with values in its options, since edges have no cardinality."""
        values = dict(self.properties)
        create = {
            T.id: self.id,
            T.label: self.label,
            Direction.OUT: self.from_id,
            Direction.IN: self.to_id,
            **values,
            **dict(self.created),
        }
        merge: list[list[Any]] = [["mergeE", {T.id: self.id}], ["option", Merge.on_create, create]]
        return [*merge, ["option", Merge.on_match, values]] if values and not self.only_if_missing else merge


Upsert = VertexUpsert | EdgeUpsert


def _length(values: tuple[tuple[str, Any], ...]) -> int:
    return sum(len(value) for _, value in values if isinstance(value, str))


def _convert_type(declared: Property, value: Any) -> Any:
    # Without the wrapper a small number would be stored as a 32-bit integer.
    return long(value) if declared.type == "long" else value


def vertex_upserts(row: Mapping[str, Any]) -> Iterator[VertexUpsert]:
    """Yield the upserts of a node row (`graph_format.schema.node_ddl`): one, or several for huge sets.

    A row with `first_seen` is new to the graph. Its single values are only written on creation: if another
    merge creates the vertex in the meantime, the values are that merge's until the next load, which compares
    in full. Jobs and assertions are always ordered by their runs instead.

    Raises IntermediateError if the id, label, environment or DAG name is missing.
    """
    require_keys("node", row, NODE_KEYS)
    single: list[tuple[str, Any]] = []
    members: list[tuple[str, Any]] = [("dag_name", row["dag_name"])]
    for name, value in row.items():
        # Null is never written: it would delete the stored value.
        if value is None or not (declared := _ON_VERTICES.get(name)):
            continue
        if declared.many:
            members += [(name, _convert_type(declared, member)) for member in value if member is not None]
        else:
            single.append((name, _convert_type(declared, value)))
    created = _list_created(row)
    newest = None
    if row["label"] in RUN_LABELS:
        values = dict(single)
        # dbt merges are ordered by the time of the manifest, others by the time of the run.
        order = next((name for name in ("described_at", "last_run_at") if name in values), None)
        newest = (order, values[order]) if order else None
    elif created:
        single, created = [], [*single, *created]
    most = MAX_RECORDS - 1
    first = most - len(single) - len(created)
    yield VertexUpsert(row["id"], row["label"], tuple(single), tuple(members[:first]), newest, tuple(created))
    for start in range(first, len(members), most):
        yield VertexUpsert(row["id"], row["label"], (), tuple(members[start : start + most]))


def edge_upsert(row: Mapping[str, Any]) -> EdgeUpsert:
    """Return the upsert of an edge row (`graph_format.schema.edge_ddl`).

    A row with `first_seen` is new to the graph, and only written if it is missing.

    Raises IntermediateError if the id, label, an end, environment or DAG name is missing.
    """
    require_keys("edge", row, EDGE_KEYS)
    properties = tuple(
        (name, _convert_type(declared, value))
        for name, value in row.items()
        if value is not None and (declared := _ON_EDGES.get(name))
    )
    created = _list_created(row)
    ends = row["from"], row["to"]
    return EdgeUpsert(row["id"], row["label"], *ends, properties, bool(created), tuple(created))


def _list_created(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    at = row.get(FIRST_SEEN)
    return [] if at is None else [(FIRST_SEEN, long(at))]


AnyUpsert = TypeVar("AnyUpsert", bound=Upsert)


def batches(
    upserts: Iterable[AnyUpsert], *, records: int = MAX_RECORDS, characters: int = MAX_CHARACTERS
) -> Iterator[list[AnyUpsert]]:
    """Yield the upserts of each request, in order and within the limits.

    Only a single upsert longer than `characters` exceeds that limit.
    """
    batch: list[AnyUpsert] = []
    used_records, used_characters = 0, 0
    for upsert in upserts:
        used_records += upsert.records
        used_characters += upsert.characters
        if batch and (used_records > records or used_characters > characters):
            yield batch
            batch, used_records, used_characters = [], upsert.records, upsert.characters
        batch.append(upsert)
    if batch:
        yield batch


def convert_types(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored values with their declared types: results do not distinguish long from int."""
    return {key: long(value) if key in LONGS else value for key, value in values.items()}


class _Request(Bytecode):  # type: ignore[misc] # gremlinpython has no types
    """A traversal to send. Its short text avoids the driver's formatting of disabled log messages."""

    def __repr__(self) -> str:
        return f"[{len(self.step_instructions)} steps]"


def bytecode(batch: Iterable[Upsert]) -> Bytecode:
    """Return the batch as one chained traversal, ending in `count()` for a small response.

    Built from instructions, because the fluent API copies every argument once more, a large part of the cost
    per element.
    """
    request = _Request()
    for upsert in batch:
        request.step_instructions += upsert.steps()
    request.step_instructions.append(["count"])
    return request
