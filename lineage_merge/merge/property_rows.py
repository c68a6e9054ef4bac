"""Properties of nodes and edges: from records to one row per element. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.graph_format.schema import EDGE_PROPERTIES, NODE_PROPERTIES, REPLACED_SETS, Property, Row
from lineage_merge.merge.alias_resolution import ResolvedAlias
from lineage_merge.model.elements import (
    Authority,
    JobKey,
    assertion_id,
    column_id,
    edge_id,
    encode,
    job_id,
    operation_id,
)
from lineage_merge.model.records import ASSUMED, Record

# Texts with several values on one edge, from several writes or branches.
SEVERAL = ("via", "operations", "expression")
MAX_EXPRESSION_LENGTH = 1000
# The order in which transformations are listed: direct ones first.
TRANSFORMATIONS = (*(each.name for each in Transformation), *(each.value for each in InfluenceKind))

_Sets = Mapping[str, Iterable[str]]

_WITH_COLUMNS = frozenset({"feeds_column", "influences"})
_EDGES = frozenset({"feeds", "writes", "feeds_column", "influences", "follows"})

_ONE_OF_NODE = {each.name: each for each in NODE_PROPERTIES if not each.many}
_OF_JOB = frozenset({"job_type", "job_name"})
_ONE_OF_EDGE = {
    each.name: each for each in EDGE_PROPERTIES if each.name not in {"transformation", *SEVERAL, *_OF_JOB}
}
# The default, which is not stored: of several reads, those of rows take precedence over those of metadata.
_READS_ROWS = {"reads": "rows"}
# Of several writes in one run, the first counts.
_SMALLEST = "sequence"


class EdgeKey(NamedTuple):
    """Key of an edge within a DAG and environment. `has_column` edges belong to no job."""

    label: str
    start: str
    end: str
    job_type: str | None = None
    job_name: str | None = None


Key = str | EdgeKey


class Fact(NamedTuple):
    """Properties of an element from one record; values of a higher `rank` take precedence."""

    rank: int
    label: str | None
    properties: Mapping[str, str]
    sets: _Sets


@dataclass(slots=True)
class Facts:
    """Combined properties of an element: the value with the highest rank, and all values of sets."""

    label: tuple[int, str] | None = None
    best: dict[str, tuple[int, Any]] = field(default_factory=dict)
    sets: dict[str, set[str]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        # Millions of these move between processes, and dataclasses with slots pickle slowly.
        return Facts, (self.label, self.best, self.sets)


def resolved(canonical_ids: Mapping[str, str], record: Record) -> Iterator[Record]:
    """Yield the record with canonical dataset ids."""
    canonical_id = canonical_ids.get(record.target or "")
    if canonical_id is not None and record.kind == "dataset" and record.authority == Authority.PLATFORM:
        return  # properties derived from the name of an alias do not describe the dataset
    starts = canonical_ids.get(record.source or "")
    if canonical_id is not None:
        record = record._replace(target=canonical_id)
    if starts is not None:
        record = record._replace(source=starts)
    yield record


def facts(environment: str, dag_name: str, record: Record) -> Iterator[tuple[Key, Fact]]:
    """Yield the properties of nodes and edges in a resolved record."""
    kind = record.kind
    if kind == "dataset":
        yield str(record.target), Fact(record.authority or 0, record.label, record.properties, record.sets)
        return
    if kind == "column":
        rank, properties = record.authority or 0, record.properties
        yield _end(record.target, record.target_column), Fact(rank, "column", properties, record.sets)
        yield _has_column(record.target, record.target_column)
        return
    if kind in _EDGES:
        properties = {**_READS_ROWS, **record.properties} if kind == "feeds" else record.properties
        yield _edge(environment, dag_name, record), Fact(0, None, properties, record.sets)
        if kind in _WITH_COLUMNS:
            # Columns that only lineage names need a vertex too, before their edges.
            for dataset, column in (
                (record.source, record.source_column),
                (record.target, record.target_column),
            ):
                if column is not None:
                    yield from _named_column(dataset, column)
        return
    if kind == "assertion":
        yield from _assertion(environment, dag_name, record)
        return
    if kind in ("job", "operation"):
        key = JobKey(record.job_type or "", record.job_name or "")
        job = job_id(environment, dag_name, key)
        properties = {**record.properties, "job_type": key.job_type}
        if kind == "job":
            yield job, Fact(record.at or 0, kind, {**properties, "name": key.name}, record.sets)
        else:
            operation = operation_id(job, record.source or "")
            yield operation, Fact(0, kind, {**properties, "job_name": key.name}, {})


def _assertion(environment: str, dag_name: str, record: Record) -> Iterator[tuple[Key, Fact]]:
    key = JobKey(record.job_type or "", record.job_name or "")
    identifier = assertion_id(environment, dag_name, key, record.source or "")
    properties = {**record.properties, "job_type": key.job_type, "job_name": key.name}
    yield identifier, Fact(record.at or 0, record.kind, properties, record.sets)
    end = _end(record.target, record.target_column)
    yield EdgeKey(record.label or "checks", identifier, end, *key), Fact(0, None, {}, {})
    if record.target_column is not None:
        yield from _named_column(record.target, record.target_column)


def _named_column(dataset: str | None, column: str) -> Iterator[tuple[Key, Fact]]:
    yield _end(dataset, column), Fact(0, "column", {"name": column}, {})
    yield _has_column(dataset, column)


def of_alias(alias: ResolvedAlias) -> tuple[Key, Fact]:
    """Return the properties that a resolved alias adds to its dataset."""
    return alias.canonical_id, Fact(Authority.PLATFORM, None, alias.properties, {"aliases": alias.aliases})


def _end(dataset: str | None, column: str | None) -> str:
    """Return the id at one end of a record: the column if the record names one, else the dataset."""
    return str(dataset) if column is None else column_id(str(dataset), column)


def _has_column(dataset: str | None, column: str | None) -> tuple[Key, Fact]:
    return EdgeKey("has_column", str(dataset), _end(dataset, column)), Fact(0, None, {}, {})


def _edge(environment: str, dag_name: str, record: Record) -> EdgeKey:
    key = JobKey(record.job_type or "", record.job_name or "")
    job = job_id(environment, dag_name, key)
    start = _end(record.source, record.source_column)
    end = _end(record.target, record.target_column)
    if record.kind == "writes":
        start = job
    elif record.kind == "follows":
        start, end = operation_id(job, record.source or ""), operation_id(job, record.target or "")
    return EdgeKey(record.kind, start, end, *key)


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
        # Of equal rank the greatest value, so that the result does not depend on order.
        if known is None or known < (rank, value):
            best[name] = (rank, value)
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
                row[item.name] = [f"{encode(dag_name)}|{each}" for each in sorted(values)]
            else:
                row[item.name] = sorted(values)
        elif (found := facts.best.get(item.name)) is not None and not (
            item.name == "location" and label == "file"  # the name of a file is its path
        ):
            row[item.name] = found[1]
    return row


def edge_row(key: EdgeKey, facts: Facts, environment: str, dag_name: str) -> Row:
    """Return the row of an edge (`graph_format.schema.edge_ddl`), without unknown values."""
    job = None if key.job_type is None else JobKey(key.job_type, key.job_name or "")
    row: Row = {
        "id": edge_id(environment, dag_name, job, key.start, key.label, key.end),
        "label": key.label,
        "from": key.start,
        "to": key.end,
        "environment": environment,
        "dag_name": dag_name,
    }
    if job is not None:
        row |= {"job_type": job.job_type, "job_name": job.name}
    for item in EDGE_PROPERTIES:
        if item.name not in _OF_JOB and (value := _of_edge(item, facts)) is not None:
            row[item.name] = value
    return row


def _of_edge(item: Property, facts: Facts) -> str | int | None:
    if item.name == "transformation":
        found = {*facts.sets.get(item.name, ()), *facts.sets.get(ASSUMED, ())}
        return ",".join(each for each in TRANSFORMATIONS if each in found) or None
    if item.name == "assumed":
        return "true" if ASSUMED in facts.sets and "transformation" not in facts.sets else None
    if item.name in SEVERAL:
        text = " | ".join(sorted(facts.sets.get(item.name, ())))
        return (text[:MAX_EXPRESSION_LENGTH] if item.name == "expression" else text) or None
    value: str | int | None = facts.best.get(item.name, (0, None))[1]
    if _READS_ROWS.get(item.name) == value:
        return None
    return -value if item.name == _SMALLEST and isinstance(value, int) else value


def is_edge(row: Row) -> bool:
    """Whether a row is an edge's."""
    return "from" in row
