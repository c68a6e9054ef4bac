"""Answers about carried tags: counts by tag, the tags of one dataset or column, paths as a subgraph. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lineage_merge.graph_format.elements import COLUMN, Edge, Subgraph, Vertex, dataset_of
from lineage_merge.questions.lineage import ends
from lineage_merge.questions.tag_propagation import Carrier, PropagatedTags, Stop


@dataclass(slots=True)
class TagCounts:
    """Numbers of elements that carry a tag, and at which it stops. Columns of a tagged dataset have it."""

    tag: str
    own_datasets: int = 0
    own_columns: int = 0
    inherited_datasets: int = 0
    inherited_columns: int = 0
    stops: int = 0


def counts(found: PropagatedTags) -> list[TagCounts]:
    """Return the numbers of each tag, by tag."""
    by_tag: dict[str, TagCounts] = {}
    for each in found.carriers:
        of_tag = by_tag.setdefault(each.tag, TagCounts(each.tag))
        is_column = found.vertices[each.id].label == COLUMN
        if each.own:
            of_tag.own_columns += is_column
            of_tag.own_datasets += not is_column
        else:
            of_tag.inherited_columns += is_column
            of_tag.inherited_datasets += not is_column
    for stop in found.stops:
        by_tag.setdefault(stop.tag, TagCounts(stop.tag)).stops += 1
    return [by_tag[tag] for tag in sorted(by_tag)]


def selected(found: PropagatedTags, of: Vertex | None = None, *, own: bool = False) -> PropagatedTags:
    """Return the carriers and stops of a dataset and its columns, or of a column.

    `own`: without inherited tags.
    """

    def is_wanted(identifier: str) -> bool:
        return of is None or identifier == of.id or (of.is_dataset and dataset_of(identifier) == of.id)

    return PropagatedTags(
        tuple(each for each in found.carriers if is_wanted(each.id) and (each.own or not own)),
        () if own else tuple(each for each in found.stops if is_wanted(each.id)),
        found.vertices,
    )


def with_paths(found: PropagatedTags, carriers: Iterable[Carrier]) -> list[Carrier]:
    """Return carriers and all carriers on their paths, by tag and id."""
    known = {(each.tag, each.id): each for each in found.carriers}
    needed: dict[tuple[str, str], Carrier] = {}
    for carrier in carriers:
        current: Carrier | None = carrier
        while current is not None and (current.tag, current.id) not in needed:
            needed[current.tag, current.id] = current
            current = known.get((current.tag, current.previous))
    return [needed[key] for key in sorted(needed)]


def paths(found: PropagatedTags, of: Collection[Carrier | Stop]) -> Subgraph:
    """Return the elements of carriers and stops, and the edges of their paths, as a subgraph."""
    edges: dict[tuple[str, str], Edge] = {}
    for each in of:
        last = each.last
        # The same edge may end different paths of two tags.
        while last is not None and (each.tag, last.edge.id) not in edges:
            edges[each.tag, last.edge.id] = last.edge
            last = last.before
    distinct = {each.id: each for each in edges.values()}
    ids = {each.id for each in of} | {each.origin for each in of} | ends(distinct.values())
    vertices = {each: found.vertices[each] for each in sorted(ids) if each in found.vertices}
    ordered = sorted(distinct.values(), key=lambda each: (each.from_id, each.to_id, each.label, each.id))
    return Subgraph(vertices, tuple(ordered))
