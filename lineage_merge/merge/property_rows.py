"""Properties of nodes and edges: from records to one row per element. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.graph_format.schema import (
    EDGE_PROPERTIES,
    NODE_PROPERTIES,
    REPLACED_SETS,
    TABLE_FORMATS,
    Property,
    Row,
)
from lineage_merge.merge.alias_resolution import ResolvedAlias
from lineage_merge.model.elements import (
    FIELD,
    Assertion,
    Authority,
    Column,
    Dataset,
    Feeds,
    FeedsColumn,
    Follows,
    Influences,
    Job,
    JobKey,
    ObservedLog,
    Operation,
    Scalar,
    Writes,
    assertion_id,
    column_id,
    dot_path,
    edge_id,
    encode,
    job_id,
    operation_id,
    query_log_id,
)
from lineage_merge.model.records import ElementRecord, Record

# Set of an assumed edge in place of "transformation": if other records of the edge have that, it is known.
ASSUMED = "assumed_transformation"
# Before the number of a client in the names of sets.
_CLIENT = "~"
# Texts with several values on one edge, from several writes or branches.
SEVERAL = ("via", "operations", "expression")
MAX_EXPRESSION_LENGTH = 1000
# The order in which transformations are listed: direct ones first.
TRANSFORMATIONS = (
    *(transformation.name for transformation in Transformation),
    *(influence.value for influence in InfluenceKind),
)

_Sets = Mapping[str, Iterable[str]]

_ONE_OF_NODE = {
    node_property.name: node_property for node_property in NODE_PROPERTIES if not node_property.many
}
_OF_JOB = frozenset({"job_type", "job_name"})
_ONE_OF_EDGE = {
    edge_property.name: edge_property
    for edge_property in EDGE_PROPERTIES
    if edge_property.name not in {"transformation", *SEVERAL, *_OF_JOB}
}
# The default, which is not stored: of several reads, those of rows take precedence over those of metadata.
_READS_ROWS = {"reads": "rows"}
# A table format takes precedence over the format of files from any source.
_OF_TABLES = max(Authority) + 1
# Of several writes in one run, the first counts.
_SMALLEST = "sequence"


# By type of the elements that become nodes and edges, the fields that are ids of datasets.
DATASET_FIELDS: Mapping[type, tuple[str, ...]] = {
    kind: tuple(name for name in ("ref", "source", "target") if name in kind._fields)
    for kind in (
        *(Dataset, Column, Job, Assertion, ObservedLog, Operation),
        *(Feeds, FeedsColumn, Influences, Follows, Writes),
    )
}


class EdgeKey(NamedTuple):
    """Key of an edge within a DAG and environment. `has_column` edges belong to no job."""

    label: str
    start: str
    end: str
    job: JobKey | None = None


Key = str | EdgeKey


class Fact(NamedTuple):
    """Properties of an element from one record; values of a higher `rank` take precedence."""

    rank: int
    label: str | None
    properties: Mapping[str, Scalar]
    sets: _Sets


_NO_PROPERTIES = Fact(0, None, {}, {})


@dataclass(slots=True)
class Facts:
    """Combined properties of an element: the value with the highest rank, and all values of sets."""

    label: tuple[int, str] | None = None
    best: dict[str, tuple[int, Any]] = field(default_factory=dict)
    sets: dict[str, set[str]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        # Millions of these move between processes, and dataclasses with slots pickle slowly.
        return Facts, (self.label, self.best, self.sets)


def resolve_ids(canonical_ids: Mapping[str, str], record: Record) -> ElementRecord | None:
    """Return the record of an element with canonical dataset ids; None if no element follows from it."""
    names = DATASET_FIELDS.get(type(record))
    if names is None:
        return None
    changed: dict[str, Any] = {
        name: canonical_ids[old] for name in names if (old := getattr(record, name)) in canonical_ids
    }
    element: Any = record
    if not changed:
        return cast("ElementRecord", element)
    if isinstance(record, Dataset) and record.authority == Authority.PLATFORM:
        return None  # Properties derived from the name of an alias do not describe the dataset.
    return cast("ElementRecord", element._replace(**changed))


def facts(environment: str, dag_name: str, record: ElementRecord) -> Iterator[tuple[Key, Fact]]:
    """Yield the properties of nodes and edges in a resolved record."""
    match record:
        case FeedsColumn(job, source, source_column, target, target_column, how, expression, assumed, client):
            sets: _Sets = {
                _set_name(ASSUMED if assumed else "transformation", client): how,
                _set_name("expression", client): (expression,) if expression else (),
            }
            start, end = column_id(source, source_column), column_id(target, target_column)
            yield EdgeKey("feeds_column", start, end, job), Fact(0, None, {}, sets)
            # Columns that only lineage names need a vertex too, before their edges.
            yield from _name_column(source, source_column, start)
            yield from _name_column(target, target_column, end)
        case Influences(job, source, source_column, target, how, assumed, client):
            sets = {_set_name(ASSUMED if assumed else "transformation", client): how}
            start = column_id(source, source_column)
            yield EdgeKey("influences", start, target, job), Fact(0, None, {}, sets)
            yield from _name_column(source, source_column, start)
        case Column(dataset, column, authority, properties, sets):
            identifier = column_id(dataset, column)
            # A visual has a name beside its id.
            yield identifier, Fact(authority, "column", {**_names(column), **properties}, sets)
            yield from _containers(dataset, column, identifier)
        case Dataset(dataset, authority, label, properties, sets):
            yield dataset, Fact(authority, label, properties, sets)
        case Feeds(job, source, target, properties, sets):
            yield EdgeKey("feeds", source, target, job), Fact(0, None, {**_READS_ROWS, **properties}, sets)
        case Writes(job, target):
            yield EdgeKey("writes", job_id(environment, dag_name, job), target, job), _NO_PROPERTIES
        case Follows(job, operation, consumed):
            identifier = job_id(environment, dag_name, job)
            start, end = operation_id(identifier, operation), operation_id(identifier, consumed)
            yield EdgeKey("follows", start, end, job), _NO_PROPERTIES
        case Operation(job, key, properties):
            identifier = operation_id(job_id(environment, dag_name, job), key)
            properties = {**properties, "job_type": job.job_type, "job_name": job.name}
            yield identifier, Fact(0, "operation", properties, {})
        case ObservedLog(namespace, begin, end):
            log = {"name": namespace, "namespace": namespace}
            log |= {"observed_from": str(begin), "observed_until": str(end)}
            yield query_log_id(environment, namespace), Fact(0, "query_log", log, {})
        case Job(job, at, properties, sets):
            properties = {**properties, "job_type": job.job_type, "name": job.name}
            yield job_id(environment, dag_name, job), Fact(at, "job", properties, sets)
        case Assertion(job, target, column, key, at, edge, properties, sets):
            identifier = assertion_id(environment, dag_name, job, key)
            properties = {**properties, "job_type": job.job_type, "job_name": job.name}
            yield identifier, Fact(at, "assertion", properties, sets)
            end = column_id(target, column) if column else target
            yield EdgeKey(edge, identifier, end, job), _NO_PROPERTIES
            if column:
                yield from _name_column(target, column, end)


def _set_name(name: str, client: int) -> str:
    return f"{name}{_CLIENT}{client}" if client else name


def _select_client(sets: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the sets of the first client that reported an edge."""
    clients = {name.partition(_CLIENT)[2] for name in sets}
    if not any(clients):
        return sets
    first = min(clients)
    return {
        name.partition(_CLIENT)[0]: values
        for name, values in sets.items()
        if name.partition(_CLIENT)[2] == first
    }


def _name_column(dataset: str, column: str, identifier: str) -> Iterator[tuple[Key, Fact]]:
    yield identifier, Fact(0, "column", _names(column), {})
    yield from _containers(dataset, column, identifier)


def _names(column: str) -> Mapping[str, str]:
    """Return the name of a column; of a field the last of its path, with all of it as its qualified name."""
    _, separator, name = column.rpartition(FIELD)
    return {"name": name, "qualified_name": dot_path(column)} if separator else {"name": column}


def _containers(dataset: str, column: str, identifier: str) -> Iterator[tuple[Key, Fact]]:
    """Yield the edge to a column from its dataset; to a field from its structure, with its vertex."""
    structure, separator, _ = column.rpartition(FIELD)
    above = column_id(dataset, structure) if separator else dataset
    yield EdgeKey("has_column", above, identifier), _NO_PROPERTIES
    if separator:
        yield from _name_column(dataset, structure, above)


def describe_alias(alias: ResolvedAlias) -> tuple[Key, Fact]:
    """Return the properties that a resolved alias adds to its dataset."""
    return alias.canonical_id, Fact(Authority.PLATFORM, None, alias.properties, {"aliases": alias.aliases})


def create(fact: Fact) -> Facts:
    """Return the facts with one fact."""
    return add(Facts(), fact)


def add(facts: Facts, fact: Fact) -> Facts:
    """Add a fact."""
    rank, label, properties, sets = fact
    if label is not None and (facts.label is None or facts.label < (rank, label)):
        facts.label = (rank, label)
    best = facts.best
    for name, text in properties.items():
        value = _value(name, text)
        if value is None:
            continue
        known = best.get(name)
        is_of_table = name == "format" and value in TABLE_FORMATS
        ranked = (rank + _OF_TABLES if is_of_table else rank, value)
        # Of equal rank the greatest value, so that the result does not depend on order.
        if known is None or known < ranked:
            best[name] = ranked
    for name, values in sets.items():
        if values or name in REPLACED_SETS:
            facts.sets.setdefault(name, set()).update(values)
    return facts


def merge(one: Facts, other: Facts) -> Facts:
    """Merge two sets of facts."""
    if other.label is not None and (one.label is None or one.label < other.label):
        one.label = other.label
    for name, value in other.best.items():
        known = one.best.get(name)
        if known is None or known < value:
            one.best[name] = value
    for name, values in other.sets.items():
        one.sets.setdefault(name, set()).update(values)
    return one


def _value(name: str, text: Any) -> str | int | None:
    """Return the value of a property, of which the greatest counts; None for an unknown property."""
    declared = _ONE_OF_NODE.get(name) or _ONE_OF_EDGE.get(name)
    if declared is None or text is None:
        return None
    if declared.type != "long":
        return str(text)
    try:
        number = int(text)
    except ValueError:
        return None
    return -number if name == _SMALLEST else number


def node_row(identifier: str, facts: Facts, environment: str, dag_name: str) -> Row:
    """Return the row of a node (`graph_format.schema.node_ddl`), without unknown values."""
    label = facts.label[1] if facts.label else None
    row: Row = {"id": identifier, "label": label, "environment": environment, "dag_name": dag_name}
    for item in NODE_PROPERTIES:
        if item.many:
            values = facts.sets.get(item.name)
            if values is None or (not values and item.name not in REPLACED_SETS):
                continue
            if item.name == "resolved_names":  # each with the DAG whose configuration resolves it
                row[item.name] = [f"{encode(dag_name)}|{value}" for value in sorted(values)]
            else:
                row[item.name] = sorted(values)
        elif (fact := facts.best.get(item.name)) is not None and not (
            item.name == "location" and label == "file"  # the name of a file is its path
        ):
            row[item.name] = fact[1]
    return row


def edge_row(key: EdgeKey, facts: Facts, environment: str, dag_name: str) -> Row:
    """Return the row of an edge (`graph_format.schema.edge_ddl`), without unknown values."""
    label, start, end, job = key
    identifier = edge_id(environment, dag_name, job, start, label, end)
    row: Row = {"id": identifier, "label": label, "from": start, "to": end}
    row |= {"environment": environment, "dag_name": dag_name}
    if job is not None:
        row |= {"job_type": job.job_type, "job_name": job.name}
    sets = _select_client(facts.sets)
    for item in EDGE_PROPERTIES:
        if item.name not in _OF_JOB and (value := _find_edge_value(item, facts, sets)) is not None:
            row[item.name] = value
    return row


def _find_edge_value(item: Property, facts: Facts, sets: Mapping[str, set[str]]) -> str | int | None:
    if item.name == "transformation":
        transformations = {*sets.get(item.name, ()), *sets.get(ASSUMED, ())}
        return (
            ",".join(
                transformation for transformation in TRANSFORMATIONS if transformation in transformations
            )
            or None
        )
    if item.name == "assumed":
        return "true" if ASSUMED in sets and "transformation" not in sets else None
    if item.name in SEVERAL:
        text = " | ".join(sorted(sets.get(item.name, ())))
        return (text[:MAX_EXPRESSION_LENGTH] if item.name == "expression" else text) or None
    value: str | int | None = facts.best.get(item.name, (0, None))[1]
    if _READS_ROWS.get(item.name) == value:
        return None
    return -value if item.name == _SMALLEST and isinstance(value, int) else value


def is_edge(row: Row) -> bool:
    """Whether a row is an edge's."""
    return "from" in row
