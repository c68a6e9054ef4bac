"""What a change does to the lineage in the graph, as elements: those that only one of two versions has."""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.infra.batches import gather
from lineage_merge.questions.graph import LineageGraph

_LABELS = ("feeds", "feeds_column", "has_column")


class EdgeKey(NamedTuple):
    """An edge, independent of its job: label and ids of its ends."""

    label: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class GraphChange:
    """The graph in which a change is reviewed, and what the change adds to and removes from it.

    `vertices` and `edges`: only after the change; `removed`: the jobs of edges that are only before it.
    Ids are those of the graph; `id_of` returns them for ids of the two versions.
    """

    graph: LineageGraph
    vertices: tuple[Vertex, ...] = ()
    edges: tuple[Edge, ...] = ()
    removed: Mapping[EdgeKey, Set[str]] = field(default_factory=dict)
    id_of: Callable[[str], str] = str


Elements = tuple[Iterable[Vertex], Iterable[Edge]]


def graph_change(
    graph: LineageGraph, before: Elements, after: Elements, id_of: Callable[[str], str] = str
) -> GraphChange:
    """Return the difference of two versions of the same jobs."""
    known = {id_of(vertex.id) for vertex in before[0]}
    old, new = (_edges(version[1], id_of) for version in (before, after))
    added = {
        identifier: replace(vertex, id=identifier)
        for vertex in after[0]
        if (identifier := id_of(vertex.id)) not in known
    }
    known |= {vertex.id for vertex in graph.vertices(added)}
    return GraphChange(
        graph,
        tuple(vertex for identifier, vertex in added.items() if identifier not in known),
        tuple(edge for key, edges in new.items() if key not in old for edge in edges),
        {key: {edge.job for edge in edges} for key, edges in old.items() if key not in new},
        id_of,
    )


def _edges(edges: Iterable[Edge], id_of: Callable[[str], str]) -> dict[EdgeKey, list[Edge]]:
    compared = (edge for edge in edges if edge.label in _LABELS)
    moved = (replace(edge, from_id=id_of(edge.from_id), to_id=id_of(edge.to_id)) for edge in compared)
    return gather((EdgeKey(edge.label, edge.from_id, edge.to_id), edge) for edge in moved)
