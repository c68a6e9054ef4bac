"""Differences between two pictures of the same lineage, such as of two days. Pure.

Facts of runs (times, counts, status) are not compared: they differ after every run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from lineage_merge.graph_format.comparison import Action, compare, list_compared_values
from lineage_merge.graph_format.elements import (
    COLUMN,
    JOB,
    Edge,
    Vertex,
    column_title,
    title_of_id,
)
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import dataset_of
from lineage_merge.naming.jobs import DECLARED
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.column_walk import find_reached_columns

Kind = Literal["dataset", "job", "feed", "column", "expression"]
ACTIONS: tuple[Action, ...] = get_args(Action)
KINDS: tuple[Kind, ...] = get_args(Kind)


class Difference(NamedTuple):
    """A property with its values before and after; "": none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Change:
    """An element that only one picture has, or that differs.

    `id`: of the vertex, or of the target of an edge; `source`: of an edge, "" for a vertex.
    """

    kind: Kind
    action: Action
    id: str
    title: str
    source: str = ""
    differences: tuple[Difference, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return a JSON object for scripts."""
        ends = {"from": self.source, "to": self.id} if self.source else {"id": self.id}
        shown: dict[str, Any] = {"kind": self.kind, "action": self.action, **ends, "title": self.title}
        if self.differences:
            shown["differences"] = [difference._asdict() for difference in self.differences]
        return shown


@dataclass(frozen=True, slots=True)
class Limit:
    """The datasets to compare, by default all, and the columns if not those of the datasets."""

    datasets: frozenset[str] | None = None
    columns: frozenset[str] | None = None

    def has_dataset(self, identifier: str) -> bool:
        return self.datasets is None or identifier in self.datasets

    def has_column(self, identifier: str) -> bool:
        if self.columns is not None:
            return identifier in self.columns
        return self.has_dataset(dataset_of(identifier))


def compare_pictures(
    before: LineageGraph,
    after: LineageGraph,
    environment: str | None = None,
    dag: str | None = None,
    limit: Limit | None = None,
) -> list[Change]:
    """Return the changes from one picture to the other, by kind, action and title.

    Columns, and how they are computed, are compared for datasets that both have. With `limit`, jobs are those
    that write one of its datasets.
    """
    pictures = [_Picture.from_graph(graph, environment, dag, limit or Limit()) for graph in (before, after)]
    return sorted(
        _changes(*pictures),
        key=lambda change: (
            KINDS.index(change.kind),
            ACTIONS.index(change.action),
            change.title,
            change.source,
            change.id,
        ),
    )


def counts(changes: Iterable[Change]) -> dict[Kind, dict[Action, int]]:
    """Return the numbers of changes, of all kinds and actions."""
    counts: dict[Kind, dict[Action, int]] = {kind: dict.fromkeys(ACTIONS, 0) for kind in KINDS}
    for change in changes:
        counts[change.kind][change.action] += 1
    return counts


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return the properties that differ."""
    found = (Difference(name, old or "", new or "") for name, old, new in compare(before, after))
    return tuple(sorted(difference for difference in found if difference.before != difference.after))


_Ends = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Picture:
    vertices: Mapping[str, Vertex]
    feeds: Mapping[_Ends, dict[str, str]]
    expressions: Mapping[_Ends, dict[str, str]]

    @classmethod
    def from_graph(
        cls, graph: LineageGraph, environment: str | None, dag: str | None, limit: Limit
    ) -> "_Picture":
        labels = [*DATASET_LABELS, COLUMN, JOB, "feeds", "feeds_column", "writes"]
        elements = [*graph.everything(environment, dag, labels)]
        edges = [element for element in elements if isinstance(element, Edge)]
        writers = {element.from_id for element in edges if limit.has_dataset(element.to_id)}

        def counts(vertex: Vertex) -> bool:
            if vertex.label == JOB:
                return limit.datasets is None or vertex.id in writers
            return limit.has_column(vertex.id) if vertex.label == COLUMN else limit.has_dataset(vertex.id)

        def select_label(label: str, has: Callable[[str], bool]) -> dict[_Ends, dict[str, str]]:
            between = (edge for edge in edges if has(edge.from_id) and has(edge.to_id))
            return _group(edge for edge in between if edge.label == label)

        return cls(
            {element.id: element for element in elements if isinstance(element, Vertex) and counts(element)},
            select_label("feeds", limit.has_dataset),
            select_label("feeds_column", limit.has_column),
        )


def _group(edges: Iterable[Edge]) -> dict[_Ends, dict[str, str]]:
    """Return the values of the edges between two vertices, which several jobs may have."""
    values: dict[_Ends, dict[str, set[str]]] = {}
    for edge in edges:
        properties = values.setdefault((edge.from_id, edge.to_id), {})
        compared = {"job": edge.job, **list_compared_values(edge)}
        if edge.properties.get("job_type") == DECLARED:
            compared.setdefault("declared", "true")  # of columns, without who and why
        for name, value in compared.items():
            properties.setdefault(name, set()).add(value)
    return {
        ends: {name: ", ".join(sorted(texts)) for name, texts in properties.items()}
        for ends, properties in values.items()
    }


def _changes(before: _Picture, after: _Picture) -> Iterator[Change]:
    for identifier in before.vertices.keys() | after.vertices.keys():
        old, new = before.vertices.get(identifier), after.vertices.get(identifier)
        vertex = new or old
        if vertex is None or (vertex.label == COLUMN and not _has_dataset(identifier, before, after)):
            continue
        kind: Kind = "column" if vertex.label == COLUMN else "job" if vertex.label == JOB else "dataset"
        if old is None or new is None:
            yield Change(kind, "removed" if new is None else "added", identifier, vertex.title)
        elif differing := differences(list_compared_values(old), list_compared_values(new)):
            yield Change(kind, "changed", identifier, vertex.title, differences=differing)
    yield from _edge_changes("feed", before.feeds, after.feeds)
    both = (
        {ends: text for ends, text in picture.expressions.items() if _has_dataset(ends[1], before, after)}
        for picture in (before, after)
    )
    yield from _edge_changes("expression", *both)


def _has_dataset(column: str, before: _Picture, after: _Picture) -> bool:
    dataset = dataset_of(column)
    return dataset in before.vertices and dataset in after.vertices


def _edge_changes(
    kind: Kind, before: Mapping[_Ends, dict[str, str]], after: Mapping[_Ends, dict[str, str]]
) -> Iterator[Change]:
    title_of = title_of_id if kind == "feed" else column_title
    for change in compare(before, after):
        source, target = change.key
        if differing := differences(change.before or {}, change.after or {}):
            title = f"{title_of(source)} -> {title_of(target)}"
            yield Change(kind, change.action, target, title, source, differing)


def neighbors_of(
    start: Vertex, graphs: Iterable[LineageGraph], direction: Literal["up", "down"], dag: str | None = None
) -> Limit:
    """Return a dataset or column with everything upstream or downstream of it, in any of the pictures."""
    is_column = start.label == COLUMN
    ids = {start.id}
    for graph in graphs:
        ids |= (
            find_reached_columns(graph, [start.id], direction, dag=dag)
            if is_column
            else graph.reach([start.id], ["feeds"], direction, dag=dag)
        )
    if not is_column:
        return Limit(frozenset(ids))
    return Limit(frozenset(map(dataset_of, ids)), frozenset(ids))
