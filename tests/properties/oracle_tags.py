"""What carries a tag, worked out slowly: every rule is applied to every edge until nothing changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.graph_format.elements import Edge, Vertex

# Steps from the nearest element with the tag.
Distances = Mapping[str, int]


@dataclass(frozen=True)
class Rules:
    """Where a tag stops: sets of transformations, of functions, of datasets, of columns that are cleared."""

    transformations: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    datasets: frozenset[str] = frozenset()
    cleared: frozenset[str] = frozenset()


def carried(
    tag: str, vertices: Iterable[Vertex], edges: Iterable[Edge], rules: Rules
) -> tuple[Distances, Distances]:
    """Return the distances of what carries a tag, and of datasets that carry it by their rows only."""
    vertices, edges = list(vertices), list(edges)
    columns = {each.id for each in vertices if each.label == "column"}
    owner = {edge.to_id: edge.from_id for edge in edges if edge.label == "has_column"}
    distances = {
        each.id: 0
        for each in vertices
        if tag in each.properties.get("tags", ()) and each.id not in rules.cleared
    }
    by_rows: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        steps: list[tuple[str, str, int, dict[str, int]]] = []
        for edge in edges:
            if edge.label == "has_column":
                steps.append((edge.from_id, edge.to_id, 0, distances))
            elif edge.label == "feeds_column" and not _stops(edge, owner[edge.to_id], rules):
                steps.append((edge.from_id, edge.to_id, 1, distances))
            elif edge.label == "influences" and not _stops(edge, edge.to_id, rules):
                steps.append((edge.from_id, edge.to_id, 1, by_rows))
            elif edge.label == "feeds" and edge.to_id not in rules.datasets and _is_whole(edge, edges, owner):
                own = (each for each, of in owner.items() if of == edge.from_id)
                steps += [(start, edge.to_id, 1, distances) for start in (edge.from_id, *own)]
        for start, end, length, found in steps:
            if start not in distances or end in rules.cleared:
                continue
            distance = distances[start] + length
            if distance < found.get(end, distance + 1):
                found[end] = distance
                changed = True
    assert not rules.cleared & distances.keys() & columns
    return distances, {each: distance for each, distance in by_rows.items() if each not in distances}


def _stops(edge: Edge, target: str, rules: Rules) -> bool:
    properties: Mapping[str, Any] = edge.properties
    chains = set(properties["transformation"].split(","))
    if target in rules.datasets or chains <= rules.transformations:
        return True
    if edge.label == "influences":
        return "influences" in rules.transformations
    return "IDENTITY" not in chains and properties.get("expression", "").partition("(")[0] in rules.functions


def _is_whole(feed: Edge, edges: Iterable[Edge], owner: Mapping[str, str]) -> bool:
    """Whether a feed has no column lineage: nothing is known of its source's columns, or of its job's."""
    if feed.properties.get("column_lineage") == "unavailable" or feed.from_id not in owner.values():
        return True
    return not any(
        edge.job == feed.job and owner.get(edge.to_id, edge.to_id) == feed.to_id
        for edge in edges
        if edge.label in ("feeds_column", "influences")
    )
