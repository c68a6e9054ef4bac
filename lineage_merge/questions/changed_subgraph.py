"""The changed part of the lineage between two moments as a subgraph, for a drawing."""

from collections.abc import Iterable

from lineage_merge.graph_format.elements import JOB, Edge, Subgraph, dataset_of, subgraph
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.lineage_changes import Action, Change

_EDGES = {"feed": "feeds", "expression": "feeds_column"}


def changed_subgraph(
    changes: Iterable[Change], before: LineageGraph, after: LineageGraph
) -> tuple[Subgraph, dict[str, Action]]:
    """Return the changed elements with unchanged feeds and writes between them, and the actions by id."""
    marks: dict[str, Action] = {}
    ids: set[str] = set()
    edges: list[Edge] = []
    for each in changes:
        if each.source:
            edge = _edge(each)
            edges.append(edge)
            marks[edge.id] = each.action
            ends = {each.source, each.id}
        else:
            marks[each.id] = each.action
            ends = {each.id}
        ids |= ends if each.kind not in ("column", "expression") else ends | set(map(dataset_of, ends))
    vertices = list(after.vertices(sorted(ids)))
    vertices += before.vertices(sorted(ids - {each.id for each in vertices}))
    changed = {(each.from_id, each.to_id) for each in edges}
    starts = sorted(each.id for each in vertices if each.label in (JOB, *DATASET_LABELS))
    unchanged = after.edges_from(starts, ["feeds", "writes"])
    edges += [each for each in unchanged if (each.from_id, each.to_id) not in changed]
    return subgraph(vertices, edges), marks


def _edge(change: Change) -> Edge:
    """Return the edge of a change, with the newest values of what differs."""
    values = {name: after or before for name, before, after in change.differences}
    if "job" in values:
        values["job_name"] = values.pop("job")
    identifier = f"{change.kind} {change.source} {change.id}"
    return Edge(identifier, _EDGES[change.kind], change.source, change.id, values)
