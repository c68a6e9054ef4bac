"""Rows to Gremlin requests: pure, no connection and no Spark.

A row becomes one upsert by id (`vertex_upserts`, `edge_upsert`), `batches` says which go
together, `bytecode` writes them as one chained traversal. What Neptune asks for is kept
here: string ids, single or set cardinality always said, limits on the size of a request.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, __
from gremlin_python.process.traversal import Bytecode, Cardinality, Direction, Merge, P, T
from gremlin_python.statics import long

from lineage_merge.graph_format.schema import EDGE_PROPERTIES, LONGS, NODE_PROPERTIES, Property
from lineage_merge.model.errors import IntermediateError

# Neptune counts a label, and each property, as a record. A record takes a step and an element
# one more, so 200 records stay far below the 1,500 steps at which servers run out of stack.
MAX_RECORDS = 200
# Of text, so that a few long descriptions do not make a request that a server refuses
# (10 MiB is usual). One record may be longer: it cannot be cut.
MAX_CHARACTERS = 1_000_000

_KEYS = (Property("environment", "dev, staging or prod"),)
_SINGLE = tuple(item for item in (*_KEYS, *NODE_PROPERTIES) if not item.many)
_SETS = (
    Property("dag_name", "the DAGs it belongs to"),
    *(item for item in NODE_PROPERTIES if item.many),
)
_ON_EDGES = (*_KEYS, Property("dag_name", "the DAG it belongs to"), *EDGE_PROPERTIES)


class Upsert(Protocol):
    """One element to write, and how much room it takes in a request."""

    @property
    def id(self) -> str:
        """Of the element."""

    @property
    def records(self) -> int:
        """As Neptune counts them: one for the label, one for each property."""

    @property
    def characters(self) -> int:
        """Characters of text."""

    def __str__(self) -> str:
        """What to call it in a message."""

    def steps(self) -> list[list[Any]]:
        """The Gremlin steps that write it: each a name and its arguments."""


@dataclass(frozen=True, slots=True)
class VertexUpsert:
    """A vertex, created or matched by its id, and values to set (`single`) or add (`sets`).

    With `unless_newer` (a property's name and value), single values are set only where the
    graph holds no greater value of it: a job may have run, and been merged, in between.
    """

    id: str
    label: str
    single: tuple[tuple[str, Any], ...]
    sets: tuple[tuple[str, Any], ...]
    unless_newer: tuple[str, Any] | None = None

    @property
    def records(self) -> int:
        """The label and each value."""
        return 1 + len(self.single) + len(self.sets)

    @property
    def characters(self) -> int:
        """Of the ids and values."""
        return 2 * len(self.id) + _length(self.single) + _length(self.sets)

    def __str__(self) -> str:
        return f"{self.label} {self.id}"

    def steps(self) -> list[list[Any]]:
        """`mergeV`, and a `property` step for every value, on create as on match.

        `option(onCreate)` takes the server's default cardinality, and saying one inside it
        stores rubbish on TinkerPop 3.7.1. Steps of their own say it, and are as fast.
        """
        return [
            ["mergeV", {T.id: self.id}],
            ["option", Merge.on_create, {T.id: self.id, T.label: self.label}],
            *self._singles(),
            *(["property", Cardinality.set_, key, value] for key, value in self.sets),
        ]

    def _singles(self) -> list[list[Any]]:
        if self.unless_newer is None:
            return [["property", Cardinality.single, key, value] for key, value in self.single]
        key, value = self.unless_newer
        setting: GraphTraversal = __.not_(__.has(key, P.gt(value)))
        for name, each in self.single:
            setting = setting.property(Cardinality.single, name, each)
        return [["sideEffect", setting.bytecode]]


@dataclass(frozen=True, slots=True)
class EdgeUpsert:
    """An edge, created or matched by its id; both ends must be in the graph.

    `only_if_missing`: one that is there is left as it is.
    """

    id: str
    label: str
    from_id: str
    to_id: str
    properties: tuple[tuple[str, Any], ...]
    only_if_missing: bool = False

    @property
    def records(self) -> int:
        """The label and each property."""
        return 1 + len(self.properties)

    @property
    def characters(self) -> int:
        """Of the ids and, twice, the values."""
        return 2 * len(self.id) + len(self.from_id) + len(self.to_id) + 2 * _length(self.properties)

    def __str__(self) -> str:
        return f"edge {self.id} ({self.from_id} -{self.label}-> {self.to_id})"

    def steps(self) -> list[list[Any]]:
        """`mergeE` and its options: edges know no cardinality, so those may hold the values."""
        values = dict(self.properties)
        ends = {Direction.OUT: self.from_id, Direction.IN: self.to_id}
        merge: list[list[Any]] = [
            ["mergeE", {T.id: self.id}],
            ["option", Merge.on_create, {T.id: self.id, T.label: self.label, **ends, **values}],
        ]
        return [*merge, ["option", Merge.on_match, values]] if values and not self.only_if_missing else merge


def _length(values: tuple[tuple[str, Any], ...]) -> int:
    return sum(len(value) for _, value in values if isinstance(value, str))


def _typed(declared: Property, value: Any) -> Any:
    # Without the wrapper a small number would be stored as a 32-bit one.
    return long(value) if declared.type == "long" else value


def _values(row: Mapping[str, Any], declared: Iterable[Property]) -> Iterator[tuple[str, Any]]:
    """What the row knows. Unknown (null) is never written: it would delete what is there."""
    for item in declared:
        value = row.get(item.name)
        if value is not None:
            yield item.name, _typed(item, value)


def _members(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for item in _SETS:
        given = row.get(item.name)
        members = given if item.many else [given]
        for value in members or ():
            if value is not None:
                yield item.name, _typed(item, value)


def _require(kind: str, row: Mapping[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        if not row.get(key):
            raise IntermediateError(f"{kind} {row.get('id') or 'without id'}: {key} is missing")


def vertex_upserts(row: Mapping[str, Any]) -> Iterator[VertexUpsert]:
    """A node row (`graph_format.schema.node_ddl`) as one upsert; as several if its sets are huge.

    Raises IntermediateError if the id, label, environment or DAG name is missing.
    """
    _require("node", row, ("id", "label", "environment", "dag_name"))
    single = tuple(_values(row, _SINGLE))
    members = tuple(_members(row))
    room = MAX_RECORDS - 1
    first = room - len(single)
    # A manifest decides which of two dbt merges is newer, a run which of two others.
    orders = [each for name in ("described_at", "last_run_at") for each in single if each[0] == name]
    newest = orders[0] if orders and row["label"] == "job" else None
    yield VertexUpsert(row["id"], row["label"], single, members[:first], newest)
    for start in range(first, len(members), room):
        yield VertexUpsert(row["id"], row["label"], (), members[start : start + room])


def edge_upsert(row: Mapping[str, Any]) -> EdgeUpsert:
    """An edge row (`graph_format.schema.edge_ddl`) as an upsert.

    Raises IntermediateError if the id, label, an end, environment or DAG name is missing.
    """
    _require("edge", row, ("id", "label", "from", "to", "environment", "dag_name"))
    properties = tuple(_values(row, _ON_EDGES))
    return EdgeUpsert(row["id"], row["label"], row["from"], row["to"], properties)


AnyUpsert = TypeVar("AnyUpsert", bound=Upsert)


def batches(
    upserts: Iterable[AnyUpsert],
    *,
    records: int = MAX_RECORDS,
    characters: int = MAX_CHARACTERS,
) -> Iterator[list[AnyUpsert]]:
    """What goes into each request, in the order given, none above the limits.

    Only a single upsert that is longer than `characters` by itself exceeds that limit.
    """
    batch: list[AnyUpsert] = []
    used_records, used_characters = 0, 0
    for upsert in upserts:
        full = used_records + upsert.records > records or used_characters + upsert.characters > characters
        if batch and full:
            yield batch
            batch, used_records, used_characters = [], 0, 0
        batch.append(upsert)
        used_records += upsert.records
        used_characters += upsert.characters
    if batch:
        yield batch


def typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as the graph gave them back, with their declared types: it tells no long from a short."""
    return {key: long(value) if key in LONGS else value for key, value in values.items()}


class _Request(Bytecode):  # type: ignore[misc] # gremlinpython has no types
    """A traversal as it is sent. The driver writes its text twice for a log that is off."""

    def __repr__(self) -> str:
        return f"[{len(self.step_instructions)} steps]"


def bytecode(batch: Iterable[Upsert]) -> Bytecode:
    """The batch as one chained traversal; `count()` keeps the server from sending it all back.

    Put together by hand: the fluent way copies every argument once more, which is a good
    part of what an element costs.
    """
    request = _Request()
    for upsert in batch:
        request.step_instructions += upsert.steps()
    request.step_instructions.append(["count"])
    return request
