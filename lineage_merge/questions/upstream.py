"""The datasets upstream of a dataset or column, with distances and paths."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lineage_merge.graph_format.elements import COLUMN, Vertex, dataset_of
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.lineage import ends, lineage


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
        found = [dataset]
        while found[-1] in self.following:
            found.append(self.following[found[-1]])
        return tuple(found)


def upstream(
    graph: LineageGraph, start: Vertex, *, depth: int | None = None, dag: str | None = None
) -> Upstream:
    """Return the datasets upstream of `start` within `depth` hops (None: unlimited), with the start.

    For a column: the datasets of the columns from which it is computed.
    """
    found = lineage(graph, start, "up", depth=depth, dag=dag)
    if start.label != COLUMN:
        pairs = {(edge.from_id, edge.to_id) for edge in found.edges}
        distances, following = _walk(start.id, inputs_of(pairs))
        return Upstream(
            {dataset.id: dataset for dataset in found.datasets}, inputs_of(pairs), distances, following
        )
    columns = frozenset({start.id, *ends(found.edges)})
    pairs = {(dataset_of(edge.from_id), dataset_of(edge.to_id)) for edge in found.edges}
    distances, following = _walk(dataset_of(start.id), inputs_of(pairs))
    datasets = graph.vertices(sorted(map(dataset_of, columns)))
    return Upstream(
        {dataset.id: dataset for dataset in datasets}, inputs_of(pairs), distances, following, columns
    )


def inputs_of(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the other datasets that feed each dataset, sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        if source != target:
            found[target].add(source)
    return {target: tuple(sorted(sources)) for target, sources in found.items()}


def _walk(start: str, inputs: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, int], dict[str, str]]:
    """Return distances to the start, and the next dataset on a shortest path to it."""
    distances = {start: 0}
    following: dict[str, str] = {}
    frontier = [start]
    while frontier:
        reached = []
        for here in frontier:
            for each in inputs.get(here, ()):
                if each not in distances:
                    distances[each] = distances[here] + 1
                    following[each] = here
                    reached.append(each)
        frontier = reached
    return distances, following
