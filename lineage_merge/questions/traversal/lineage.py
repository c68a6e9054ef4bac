"""Lineage upstream and downstream of a dataset or column as a subgraph, distances, paths, and cycles."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from lineage_merge.graph_format.elements import COLUMN, Edge, Subgraph, Vertex, subgraph
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import dataset_of, is_field
from lineage_merge.questions.graph import Direction, LineageGraph
from lineage_merge.questions.traversal.column_walk import column_edges, with_derived

# Influences in a result of columns: on the datasets of its columns, by its columns, or by its columns on
# these datasets.
Influences = Literal["into", "by", "within"]


def lineage(
    graph: LineageGraph,
    start: Vertex,
    direction: Direction,
    *,
    depth: int | None = None,
    dag: str | None = None,
    columns: bool = False,
    influences: bool = False,
) -> Subgraph:
    """Return the upstream (`up`) or downstream (`down`) of `start` within `depth` hops (None: unlimited).

    Only traversed edges are included: not those between datasets at the maximum depth. `columns` adds the
    columns of the datasets and the edges between them, `influences` the columns that determine their rows;
    neither is followed further.
    """
    if start.label == COLUMN:
        edges = column_edges(graph, {start.id}, direction, depth=depth, dag=dag)
    else:
        inner = find_within_depth(graph, {start.id}, direction, depth, dag)
        ask = graph.edges_from if direction == "down" else graph.edges_to
        edges = ask(sorted(inner), ["feeds"], dag)
    which: Influences = "by" if direction == "down" else "into"
    return complete_subgraph(
        graph,
        {start.id, *ends(edges)},
        edges,
        dag,
        columns=columns,
        influences=which if influences else None,
    )


def find_within_depth(
    graph: LineageGraph,
    starts: set[str],
    direction: Direction,
    depth: int | None,
    dag: str | None,
) -> set[str]:
    """Return the datasets whose edges are within the depth: those at the maximum are only ends of edges."""
    less = None if depth is None else max(depth - 1, 0)
    return starts | graph.reach(sorted(starts), ["feeds"], direction, less, dag)


def complete_subgraph(
    graph: LineageGraph,
    ids: Iterable[str],
    edges: Iterable[Edge],
    dag: str | None = None,
    *,
    columns: bool = False,
    influences: Influences | None = None,
) -> Subgraph:
    """Return the subgraph of these ids and edges, with columns and influences if requested."""
    vertices = with_derived(graph, set(ids))
    all_edges = list(edges)
    if columns:
        all_edges += _columns(graph, vertices, dag)
    if influences:
        all_edges += _influences(graph, vertices, dag, influences)
    known = {vertex.id for vertex in vertices}
    return subgraph([*vertices, *with_derived(graph, ends(all_edges) - known)], all_edges)


def ends(edges: Iterable[Edge]) -> set[str]:
    """Return the ids of the ends of edges."""
    return {end for edge in edges for end in (edge.from_id, edge.to_id)}


def distances(
    starts: Iterable[str],
    edges: Iterable[Edge],
    direction: Direction = "down",
    *,
    from_fields: bool = False,
) -> dict[str, int]:
    """Return the hops of the shortest paths from the starts (0) over these edges, by id.

    A field is as near as its column; with `from_fields` the column as its field.
    """
    leaving: Mapping[str, list[str]] = defaultdict(list)
    fields: Mapping[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge.label == "has_column":
            if is_field(edge.to_id):
                part, whole = (edge.from_id, edge.to_id) if from_fields else (edge.to_id, edge.from_id)
                fields[whole].append(part)
            continue
        here, there = (edge.from_id, edge.to_id) if direction == "down" else (edge.to_id, edge.from_id)
        leaving[here].append(there)
    return _walk(starts, leaving, fields)[0]


def _walk(
    starts: Iterable[str],
    neighbors: Mapping[str, Iterable[str]],
    parts: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> tuple[dict[str, int], dict[str, str]]:
    """Return the hops from the nearest start, and the vertex before each on a shortest path.

    `parts`: vertices that are as near as the one that they are a part of.
    """
    hops = dict.fromkeys(starts, 0)
    previous: dict[str, str] = {}
    waiting = deque(hops)
    while waiting:
        here = waiting.popleft()
        for part in parts.get(here, ()):
            if hops.get(part, hops[here] + 1) > hops[here]:
                hops[part] = hops[here]
                waiting.appendleft(part)
        for neighbor in neighbors.get(here, ()):
            if neighbor not in hops:
                hops[neighbor] = hops[here] + 1
                previous[neighbor] = here
                waiting.append(neighbor)
    return hops, previous


def strongly_connected_components(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return strongly connected components (Tarjan's algorithm, iterative) by size, then name."""
    following = gather((source, target) for source, target in sorted(set(pairs)))
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    groups: list[tuple[str, ...]] = []
    for root in sorted(following):
        if root in index:
            continue
        walk = [(root, iter(following[root]))]
        index[root] = lowest[root] = len(index)
        waiting.append(root)
        is_waiting.add(root)
        while walk:
            here, left = walk[-1]
            for neighbor in left:
                if neighbor not in index:
                    index[neighbor] = lowest[neighbor] = len(index)
                    waiting.append(neighbor)
                    is_waiting.add(neighbor)
                    walk.append((neighbor, iter(following.get(neighbor, ()))))
                    break
                if neighbor in is_waiting:
                    lowest[here] = min(lowest[here], index[neighbor])
            else:
                walk.pop()
                if walk:
                    above = walk[-1][0]
                    lowest[above] = min(lowest[above], lowest[here])
                if lowest[here] == index[here]:
                    group = [waiting.pop()]
                    while group[-1] != here:
                        group.append(waiting.pop())
                    is_waiting.difference_update(group)
                    if len(group) > 1 or here in following.get(here, ()):
                        groups.append(tuple(sorted(group)))
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))


def _columns(graph: LineageGraph, vertices: Iterable[Vertex], dag: str | None) -> list[Edge]:
    owned = graph.edges_below([vertex.id for vertex in vertices if vertex.is_dataset], ["has_column"], dag)
    columns = sorted({edge.to_id for edge in owned})
    there = set(columns)
    return owned + [edge for edge in graph.edges_from(columns, ["feeds_column"], dag) if edge.to_id in there]


def _influences(
    graph: LineageGraph, vertices: Iterable[Vertex], dag: str | None, which: Influences
) -> list[Edge]:
    """Return influences between the datasets; if there are only columns, those selected by `which`."""
    datasets = {vertex.id for vertex in vertices if vertex.is_dataset}
    if datasets:
        into = graph.edges_to(sorted(datasets), ["influences"], dag)
        return [edge for edge in into if dataset_of(edge.from_id) in datasets]
    columns = {vertex.id for vertex in vertices if vertex.label == COLUMN}
    owners = {dataset_of(column) for column in columns}
    if which == "into":
        return graph.edges_to(sorted(owners), ["influences"], dag)
    by = graph.edges_from(sorted(columns), ["influences"], dag)
    return [edge for edge in by if which == "by" or edge.to_id in owners]


@dataclass(frozen=True, slots=True)
class Upstream:
    """Datasets by id and their direct inputs among them; the start has distance 0.

    `columns`: of a column, the column and its upstream columns; empty for a dataset. `distances` are numbers
    of hops, `following` the next dataset on a shortest path to the start.
    """

    datasets: Mapping[str, Vertex]
    inputs: Mapping[str, tuple[str, ...]]
    distances: Mapping[str, int]
    following: Mapping[str, str] = field(default_factory=dict)
    columns: frozenset[str] = frozenset()

    def path(self, dataset: str) -> tuple[str, ...]:
        """Return the ids of a shortest path from a dataset to the start."""
        path = [dataset]
        while path[-1] in self.following:
            path.append(self.following[path[-1]])
        return tuple(path)


def upstream(
    graph: LineageGraph, start: Vertex, *, depth: int | None = None, dag: str | None = None
) -> Upstream:
    """Return the datasets upstream of `start` within `depth` hops (None: unlimited), with the start.

    For a column: the datasets of the columns from which it is computed.
    """
    answer = lineage(graph, start, "up", depth=depth, dag=dag)
    columns: frozenset[str] = frozenset()
    datasets: Iterable[Vertex] = answer.datasets
    pairs = [(edge.from_id, edge.to_id) for edge in answer.edges]
    first = start.id
    if start.label == COLUMN:
        columns = frozenset({start.id, *ends(answer.edges)})
        datasets = graph.vertices(sorted(map(dataset_of, columns)))
        pairs = [(dataset_of(source), dataset_of(target)) for source, target in pairs]
        first = dataset_of(start.id)
    inputs = inputs_of(pairs)
    distances, following = _walk([first], inputs)
    return Upstream({dataset.id: dataset for dataset in datasets}, inputs, distances, following, columns)


def inputs_of(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the other datasets that feed each dataset, sorted."""
    by_target: dict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        if source != target:
            by_target[target].add(source)
    return {target: tuple(sorted(sources)) for target, sources in by_target.items()}
