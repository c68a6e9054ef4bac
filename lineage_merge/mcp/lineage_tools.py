"""Tools on lineage: upstream, downstream, path, impact, owners."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from lineage_merge.graph_format.elements import Edge, dataset_of
from lineage_merge.mcp.answer_values import SHORT, text, texts
from lineage_merge.mcp.answers import AffectedRow, EdgeRow, OwnerRow
from lineage_merge.mcp.arguments import ImpactArguments, LineageArguments, OwnersArguments, PathArguments
from lineage_merge.mcp.paging import Found
from lineage_merge.mcp.scoped_graph import ScopedGraph
from lineage_merge.mcp.untrusted_text import escape
from lineage_merge.query.lineage_results import LineageResult, PathResult
from lineage_merge.questions.impact import distances

# Of a dataset to its own columns: no flow.
_OWN = "has_column"


def upstream(scoped: ScopedGraph, given: LineageArguments) -> Found:
    """Return what feeds a dataset or column."""
    found = scoped.lineage.upstream(given.name, depth=given.depth, influences=given.influences)
    return _edges(found, found.start.id, is_up=True)


def downstream(scoped: ScopedGraph, given: LineageArguments) -> Found:
    """Return what a dataset or column feeds."""
    found = scoped.lineage.downstream(given.name, depth=given.depth, influences=given.influences)
    return _edges(found, found.start.id)


def path(scoped: ScopedGraph, given: PathArguments) -> Found:
    """Return the paths from one dataset or column to another."""
    found = scoped.lineage.path(given.start, given.end, depth=given.depth)
    return _edges(found, found.start.id, end=escape(found.end.id))


def impact(scoped: ScopedGraph, given: ImpactArguments) -> Found:
    """Return what depends on an element."""
    found = scoped.lineage.impact(given.name, change=given.change, depth=given.depth)
    records = list(found.records())
    counts: dict[str, int] = {}
    for each in records:
        counts[each["kind"]] = counts.get(each["kind"], 0) + 1
    effects = {effect.value: number for effect, number in found.dependents.effects.items() if number}
    header = {"of": escape(found.changed.id), "change": given.change, "note": text(found.note)}
    return Found(records, _affected, {**header, "counts": counts, "effects": effects})


def owners(scoped: ScopedGraph, given: OwnersArguments) -> Found:
    """Return the owners of what depends on an element."""
    found = scoped.lineage.owners(given.name, depth=given.depth)
    header = {"of": escape(found.changed.id), "note": text(found.note)}
    return Found(list(found.records()), _owner, header)


def _edges(found: LineageResult | PathResult, start: str, *, is_up: bool = False, **header: str) -> Found:
    edges = [each for each in found.graph.edges if each.label != _OWN]
    hops = _hops(start, edges, is_up=is_up)
    ordered = sorted(edges, key=lambda each: (hops[each.id], each.from_id, each.to_id, each.label, each.id))
    header = {"of": escape(start), "note": text(found.note), **header}
    return Found(ordered, partial(_edge, hops), header)


def _hops(start: str, edges: Iterable[Edge], *, is_up: bool) -> dict[str, int]:
    """Return the distance of the farther end of each edge, by id.

    Influences end at datasets and begin at columns: they count from the datasets of the columns.
    """
    edges = list(edges)
    flows = [each for each in edges if each.label != "influences"]
    if is_up:
        flows = [Edge(each.id, each.label, each.to_id, each.from_id) for each in flows]
    found = distances([start], flows)
    for identifier, hops in list(found.items()):
        owner = dataset_of(identifier)
        found[owner] = min(hops, found.get(owner, hops))
    last = max(found.values(), default=0) + 1
    near = {each.id: found.get(each.to_id if is_up else each.from_id, last) for each in edges}
    return {identifier: hops + 1 for identifier, hops in near.items()}


def _edge(hops: dict[str, int], edge: Edge) -> EdgeRow:
    held = edge.properties
    return EdgeRow(
        distance=hops[edge.id],
        source=escape(edge.from_id),
        target=escape(edge.to_id),
        kind=edge.label,
        job=escape(edge.job),
        transformation=text(held.get("transformation"), SHORT),
        expression=text(held.get("expression")),
        assumed=held.get("assumed") == "true",
        via=text(held.get("via")),
    )


def _affected(record: dict[str, Any]) -> AffectedRow:
    return AffectedRow(
        id=escape(record["id"]),
        kind=record["kind"],
        distance=record["distance"],
        effect=record["effect"] or "",
        owners=texts(record["owners"]),
        dags=texts(record["dags"]),
    )


def _owner(record: dict[str, Any]) -> OwnerRow:
    return OwnerRow(
        owner=text(record["owner"], SHORT),
        nearest=texts(record["nearest"]),
        dags=texts(record["dags"]),
        **{key: record[key] for key in ("distance", "datasets", "columns", "jobs", "exposures")},
    )
