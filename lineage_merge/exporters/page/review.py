"""The review of a change in the page's data (pure)::

    review
        base      the version before the change, "" if it is the graph's
        findings  [{severity, kind, action, title, message, before, after, at, file, owners, affected,
                    columns, tests}]
                  at: the changed element; affected: [[dataset's id, effect]], columns: those that break,
                  tests: [[name, effect]]
        added     the elements that only the change has
        edges     [[added or removed, element, element]]
        notes     [text]

An element is [dataset's id, column's name], with "" for the dataset itself. `datasets` and the other lists
have, beside the graph before the change with its last runs, tests, freshness and usage, what the change adds.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from lineage_merge.exporters.page.data import page_data, safe, safe_id
from lineage_merge.exporters.page.selection import limit_datasets
from lineage_merge.graph_format.elements import COLUMN, Subgraph, Vertex, subgraph
from lineage_merge.infra.redaction import redact_sql
from lineage_merge.model.elements import dataset_of
from lineage_merge.questions.traversal.staleness import Expectations, freshness_within
from lineage_merge.questions.traversal.usage import usages
from lineage_merge.review.consequences import downstream
from lineage_merge.review.findings import Assessed, ReviewResult
from lineage_merge.review.graph_change import EdgeKey, GraphChange

# A dataset's id and a column's name, "" for the dataset itself; two "" for what the graph does not have.
Place = tuple[str, str]
# Parts of a dataset, and names of it: without them it is changed, not removed.
_PARTS = frozenset({"test", "input", "source"})
_ACTIONS = {"added": "added", "removed": "removed", "dropped": "removed"}


def review_data(
    result: ReviewResult, base: str = "", expectations: Expectations | None = None
) -> dict[str, Any]:
    """Return the data of a review: what changed, everything downstream, and what those read.

    Freshness is by the expectations; without them, there is none. Raises `ConfigError` if the datasets exceed
    the maximum of a page.
    """
    change = result.change
    places = [_place(assessed, change) for assessed in result.findings]
    added = _additions(result, change, places) if change else []
    graph = _select_shown(change, {dataset for dataset, _ in places}, added) if change else Subgraph()
    return {
        **_add_facts(graph, change, expectations),
        "review": {
            "base": safe(base),
            "findings": [*map(_finding, result.findings, places)],
            "added": [_element(vertex) for vertex in added if vertex.is_dataset or vertex.label == COLUMN],
            "edges": [*_edges(graph, change)] if change else [],
            "notes": [*map(safe, result.notes)],
        },
    }


def _place(assessed: Assessed, change: GraphChange | None) -> Place:
    finding = assessed.finding
    if assessed.dependents:
        return dataset_of(assessed.dependents.changed.id), finding.column
    return (change.id_of(finding.dataset), finding.column) if change and finding.dataset else ("", "")


def _additions(result: ReviewResult, change: GraphChange, places: Sequence[Place]) -> list[Vertex]:
    """Return the new vertices, without columns of other datasets that only became known."""
    new = {vertex.id for vertex in change.vertices if vertex.is_dataset}
    named = {
        (dataset, name.lower())
        for assessed, (dataset, column) in zip(result.findings, places, strict=True)
        for name in (column, assessed.finding.after)
        if column
    }
    return [
        vertex
        for vertex in change.vertices
        if vertex.label != COLUMN
        or dataset_of(vertex.id) in new
        or (dataset_of(vertex.id), vertex.qualified_name.lower()) in named
    ]


def _select_shown(change: GraphChange, starts: set[str], added: Sequence[Vertex]) -> Subgraph:
    graph = change.graph
    vertices, edges = downstream(graph, sorted(vertex.id for vertex in graph.vertices(sorted(starts))))
    ids = {vertex.id for vertex in (*vertices, *added)}
    ends = {end for edge in change.edges for end in (edge.from_id, edge.to_id)}
    inputs = graph.vertices(sorted((ends | {dataset_of(end) for end in ends}) - ids))
    owned = graph.edges_to([vertex.id for vertex in inputs], ["has_column"])
    elements = limit_datasets([*vertices, *added, *inputs], "use another format")
    return subgraph(elements, chain(edges, owned, change.edges))


def _add_facts(
    shown: Subgraph, change: GraphChange | None, expectations: Expectations | None
) -> dict[str, Any]:
    """Return the data of the graph, with what the graph before the change knows of the elements."""
    if change is None:
        return page_data(shown)
    graph = change.graph
    edges = graph.edges_to(sorted(shown.vertices), ["writes", "checks"])
    sources = graph.vertices(sorted({edge.from_id for edge in edges} - shown.vertices.keys()))
    complete = subgraph([*shown.vertices.values(), *sources], chain(shown.edges, edges))
    datasets = [vertex.id for vertex in shown.datasets]
    assessed = freshness_within(graph, datasets, expectations) if expectations else []
    # A graph of one version's files has never been updated, which says nothing.
    fresh = [freshness for freshness in assessed if freshness.reasons != ("no_known_update",)]
    read = [vertex for vertex in shown.vertices.values() if vertex.is_dataset or vertex.label == COLUMN]
    return page_data(complete, fresh, usages(graph, read))


def _element(vertex: Vertex) -> list[str]:
    column = redact_sql(vertex.qualified_name) if vertex.label == COLUMN else ""
    return [safe_id(dataset_of(vertex.id)), column]


def _edges(graph: Subgraph, change: GraphChange) -> Iterator[list[Any]]:
    """Yield the feeds that are new or no longer there; those that another job has, too, are neither."""
    new = {edge.id for edge in change.edges}
    jobs: dict[EdgeKey, set[str]] = {}
    for edge in graph.edges:
        if edge.label in ("feeds", "feeds_column") and edge.id not in new:
            jobs.setdefault(EdgeKey(edge.label, edge.from_id, edge.to_id), set()).add(edge.job)
    added = {EdgeKey(edge.label, edge.from_id, edge.to_id) for edge in change.edges} - jobs.keys()
    removed = {key for key, before in change.removed.items() if jobs.get(key, set()) <= before}
    for action, keys in (("added", added), ("removed", removed)):
        for label, source, target in sorted(keys):
            if label != "has_column" and source in graph.vertices and target in graph.vertices:
                yield [action, _element(graph.vertices[source]), _element(graph.vertices[target])]


def _finding(assessed: Assessed, place: Place) -> dict[str, Any]:
    finding = assessed.finding
    part, _, verb = finding.kind.rpartition(" ")
    return {
        "severity": finding.severity.value,
        "kind": finding.kind,
        "action": "changed" if part in _PARTS else _ACTIONS.get(verb, "changed"),
        "title": safe(finding.title),
        "message": redact_sql(finding.message),
        "before": redact_sql(finding.before),
        "after": redact_sql(finding.after),
        "at": [safe_id(place[0]), redact_sql(place[1])],
        "file": safe(finding.file_path),
        "owners": [*map(safe, assessed.owners)],
        "affected": [
            [safe_id(element.vertex.id), element.effect.value if element.effect else ""]
            for element in assessed.affected
        ],
        "columns": [_element(element.vertex) for element in assessed.broken if element.kind == "column"],
        "tests": [
            [safe(test.vertex.name), test.effect.value if test.effect else ""] for test in assessed.tests
        ],
    }
