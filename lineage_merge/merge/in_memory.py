"""Records into nodes and edges without Spark: for what is small and must be there at once.

The same as `merge.join`, `merge.nodes` and `merge.edges` make of the same records; a test compares them.
Nothing is folded away.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.graph.schema import EDGE_PROPERTIES, NODE_PROPERTIES, Property
from lineage_merge.merge import meaning
from lineage_merge.merge.edge_texts import LONGEST_EXPRESSION, SEVERAL, TRANSFORMATIONS
from lineage_merge.model import Authority, JobKey, column_id, edge_id, encode, job_id, operation_id
from lineage_merge.records import RECORD_DDL, Record

_FIELDS = tuple(each.split()[0] for each in RECORD_DDL.split(", "))
_WITH_COLUMNS = frozenset({"feeds_column", "influences"})
_EDGES = frozenset({"feeds", "writes", "feeds_column", "influences", "follows"})

Row = dict[str, Any]
_Properties = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Merged:
    """The graph as rows of node and edge files, in order of id.

    `aliases` are the datasets that each other identity could mean, by its id; one that could mean
    several was not followed.
    """

    nodes: list[Row]
    edges: list[Row]
    aliases: dict[str, list[str]]


@dataclass(slots=True)
class _Node:
    """All that is said of one node, each with the rank of who says it."""

    labels: list[tuple[int, str]] = field(default_factory=list)
    said: list[tuple[int, _Properties]] = field(default_factory=list)
    sets: list[Mapping[str, list[str]]] = field(default_factory=list)


class _Ends(NamedTuple):
    label: str
    start: str
    end: str
    job: JobKey | None


_Said = list[tuple[_Properties, Mapping[str, list[str]]]]


def merge(records: Iterable[Record], environment: str, dag_name: str) -> Merged:
    """Join the records of a few thousand elements."""
    rows = [dict(zip(_FIELDS, record, strict=True)) for record in records]
    followed, told, candidates = _aliases(rows)
    nodes: dict[str, _Node] = defaultdict(_Node)
    edges: dict[_Ends, _Said] = defaultdict(list)
    for row in rows:
        is_other = row["target"] in followed
        for end in ("source", "target"):
            row[end] = followed.get(row[end], row[end])
        _of_nodes(row, is_other, environment, dag_name, nodes)
        for ends in _of_edges(row, environment, dag_name):
            own = ends.label != "has_column"
            edges[ends].append(((row["properties"] or {}) if own else {}, (row["sets"] or {}) if own else {}))
    for target, properties, names in told:
        nodes[target].said.append((Authority.PLATFORM, properties))
        nodes[target].sets.append({"aliases": names})
    whose = {"environment": environment, "dag_name": dag_name}
    return Merged(
        [_node(identifier, nodes[identifier], whose) for identifier in sorted(nodes)],
        sorted((_edge(ends, said, whose) for ends, said in edges.items()), key=lambda each: str(each["id"])),
        candidates,
    )


def _aliases(
    rows: Iterable[Row],
) -> tuple[dict[str, str], list[tuple[str, _Properties, list[str]]], dict[str, list[str]]]:
    """Which id means which, what that tells of the other, and all that each could mean."""
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["kind"] == "alias":
            by_source[row["source"]].append(row)
    candidates: dict[str, list[str]] = {}
    for source, found in sorted(by_source.items()):
        # What is only assumed yields to what somebody knows.
        best = max(row["authority"] for row in found)
        by_source[source] = [row for row in found if row["authority"] == best]
        candidates[source] = sorted({row["target"] for row in by_source[source]})
    steps = {source: targets[0] for source, targets in candidates.items() if len(targets) == 1}
    followed = meaning.ends(steps)
    told: list[tuple[str, _Properties, list[str]]] = []
    for source, target in followed.items():
        found = by_source[source]
        names = sorted({name for row in found for name in row["sets"].get("aliases", ())})
        # What was told of a name on the way is not true of what it means.
        told.append((target, (found[0]["properties"] or {}) if target == steps[source] else {}, names))
        candidates[source] = [target]
    for source in steps.keys() - followed.keys():
        del candidates[source]
    return followed, told, candidates


def _of_nodes(row: Row, is_other: bool, environment: str, dag_name: str, nodes: dict[str, _Node]) -> None:
    kind, properties = row["kind"], row["properties"] or {}
    # What the name of another identity tells is not true of the dataset itself.
    if kind == "dataset" and not (is_other and row["authority"] == Authority.PLATFORM):
        node = nodes[row["target"]]
        if row["label"] is not None:
            node.labels.append((row["authority"], row["label"]))
        node.said.append((row["authority"], properties))
        node.sets.append(row["sets"] or {})
    elif kind == "column":
        _describe(nodes[_end(row, "target")], "column", row["authority"], properties)
    elif kind in _WITH_COLUMNS:
        for end in ("source", "target"):
            if row[f"{end}_column"] is not None:
                _describe(nodes[_end(row, end)], "column", 0, {"name": row[f"{end}_column"]})
    elif kind in ("job", "operation"):
        key = JobKey(row["job_type"], row["job_name"])
        job = job_id(environment, dag_name, key)
        told = {**properties, "job_type": key.job_type}
        if kind == "job":
            _describe(nodes[job], kind, row["at"] or 0, {**told, "name": key.name})
        else:
            _describe(nodes[operation_id(job, row["source"])], kind, 0, {**told, "job_name": key.name})


def _describe(node: _Node, label: str, rank: int, properties: _Properties) -> None:
    node.labels.append((rank, label))
    node.said.append((rank, properties))


def _of_edges(row: Row, environment: str, dag_name: str) -> Iterator[_Ends]:
    kind = row["kind"]
    if kind in _EDGES:
        key = JobKey(row["job_type"], row["job_name"])
        job = job_id(environment, dag_name, key)
        start, end = _end(row, "source"), _end(row, "target")
        if kind == "writes":
            start = job
        elif kind == "follows":
            start, end = operation_id(job, row["source"]), operation_id(job, row["target"])
        yield _Ends(kind, start, end, key)
    if kind == "column" or kind in _WITH_COLUMNS:
        for which in ("source", "target"):
            if row[f"{which}_column"] is not None:
                yield _Ends("has_column", row[which], _end(row, which), None)


def _end(row: Row, end: str) -> str:
    """The id of a record's end: the dataset, or its column where the record names one."""
    column = row[f"{end}_column"]
    return str(row[end]) if column is None else column_id(row[end], column)


def _node(identifier: str, node: _Node, whose: Row) -> Row:
    label = max(node.labels)[1] if node.labels else None
    row: Row = {"id": identifier, "label": label, **whose}
    for item in NODE_PROPERTIES:
        value = _all_of(item.name, node.sets) if item.many else _best_of(item, node.said)
        if item.name == "resolved_names" and isinstance(value, list):
            value = [f"{encode(whose['dag_name'])}|{each}" for each in value]
        # A file's path is its name already.
        if value is not None and not (item.name == "location" and label == "file"):
            row[item.name] = value
    return row


def _edge(ends: _Ends, said: _Said, whose: Row) -> Row:
    identifier = edge_id(whose["environment"], whose["dag_name"], ends.job, ends.start, ends.label, ends.end)
    row: Row = {"id": identifier, "label": ends.label, "from": ends.start, "to": ends.end, **whose}
    if ends.job is not None:
        row |= {"job_type": ends.job.job_type, "job_name": ends.job.name}
    for item in EDGE_PROPERTIES:
        if item.name not in ("job_type", "job_name") and (value := _of_edge(item, said)) is not None:
            row[item.name] = value
    return row


def _of_edge(item: Property, said: _Said) -> str | int | None:
    sets = [each for _, each in said]
    if item.name == "transformation":
        found = {value for each in sets for value in each.get(item.name) or ()}
        return ",".join(each for each in TRANSFORMATIONS if each in found) or None
    if item.name in SEVERAL:
        text = " | ".join(_all_of(item.name, sets) or ())
        return (text[:LONGEST_EXPRESSION] if item.name == "expression" else text) or None
    properties = [properties for properties, _ in said]
    if item.name == "sequence":
        return min((int(each[item.name]) for each in properties if item.name in each), default=None)
    return _best_of(item, [(0, each) for each in properties])


def _best_of(item: Property, said: Iterable[tuple[int, _Properties]]) -> str | int | None:
    """The value with the highest rank; of equals the greatest, so that order never counts."""
    values = [
        (rank, int(properties[item.name]) if item.type == "long" else properties[item.name])
        for rank, properties in said
        if properties.get(item.name) is not None
    ]
    return max(values)[1] if values else None


def _all_of(name: str, sets: Iterable[Mapping[str, list[str]]]) -> list[str] | None:
    """All values of a set, sorted; None where there is none."""
    return sorted({value for each in sets for value in each.get(name) or ()}) or None
