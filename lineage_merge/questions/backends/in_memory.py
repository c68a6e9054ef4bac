"""A graph in memory."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lineage_merge.graph_format.elements import (
    ALL_VERTEX_LABELS,
    EDGE_LABELS,
    VERTEX_LABELS,
    Edge,
    Vertex,
    values_of,
)
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.case_variants import case_variants
from lineage_merge.questions.graph import Direction

# Properties that identify a vertex by name, and properties that are searched.
NAMES = ("name", "qualified_name", "location")
SEARCHED = ("name", "qualified_name", "namespace")


def contains_text(vertex: Vertex, text: str) -> bool:
    """Return whether a name of the vertex contains `text`, as `LineageGraph.search` compares them."""
    names = [str(vertex.properties.get(key, "")) for key in SEARCHED]
    return any(spelling in name for name in names for spelling in case_variants(text))


class InMemory:
    """A `LineageGraph` of these vertices and edges; edges without both ends are omitted."""

    def __init__(self, vertices: Iterable[Vertex], edges: Iterable[Edge]) -> None:
        self._vertices = {vertex.id: vertex for vertex in vertices}
        self._edges: list[Edge] = []
        self._out: Mapping[str, list[Edge]] = defaultdict(list)
        self._in: Mapping[str, list[Edge]] = defaultdict(list)
        for edge in edges:
            if edge.from_id in self._vertices and edge.to_id in self._vertices:
                self._edges.append(edge)
                self._out[edge.from_id].append(edge)
                self._in[edge.to_id].append(edge)

    def environments(self) -> list[str]:
        """See `LineageGraph`."""
        return sorted({vertex.environment for vertex in self._vertices.values()})

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        """See `LineageGraph`."""
        return [
            self._vertices[identifier] for identifier in dict.fromkeys(ids) if identifier in self._vertices
        ]

    def named(
        self, text: str, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        return [
            each
            for each in self._of(labels, environment, dag)
            if each.id == text or any(each.properties.get(key) == text for key in NAMES)
        ]

    def search(
        self,
        text: str,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        limit: int | None = None,
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        found = [each for each in self._of(labels, environment, dag) if contains_text(each, text)]
        return sorted(found, key=lambda each: each.id)[:limit]

    def with_value(
        self,
        key: str,
        values: Sequence[str],
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """See `LineageGraph`."""
        return {
            each.id
            for each in self._of(labels, environment, dag)
            if not set(values).isdisjoint(values_of(each, key))
        }

    def edges_from(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        return [
            edge for identifier in dict.fromkeys(ids) for edge in self._next(identifier, labels, "down", dag)
        ]

    def edges_to(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        return [
            edge for identifier in dict.fromkeys(ids) for edge in self._next(identifier, labels, "up", dag)
        ]

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """See `LineageGraph`."""
        reached: set[str] = set()
        frontier = set(ids)
        hops = 0
        while frontier and (depth is None or hops < depth):
            edges = (
                edge for identifier in frontier for edge in self._next(identifier, labels, direction, dag)
            )
            frontier = {edge.to_id if direction == "down" else edge.from_id for edge in edges} - reached
            reached |= frontier
            hops += 1
        return reached

    def edges_below(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        starts = list(dict.fromkeys(ids))
        return self.edges_from([*starts, *self.reach(starts, labels, "down", None, dag)], labels, dag)

    def tagged(
        self,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> list[Vertex]:
        """See `LineageGraph`."""
        return [
            each
            for each in self._of(labels, environment, dag)
            if (held := each.properties.get("tags")) and (tags is None or not set(tags).isdisjoint(held))
        ]

    def feeds_without_columns(self, ids: Iterable[str], dag: str | None = None) -> list[Edge]:
        """See `LineageGraph`."""
        jobs: dict[str, set[str]] = {}
        feeds_without_columns = []
        for edge in self.edges_from(ids, ("feeds",), dag):
            if edge.properties.get("column_lineage") != "unavailable":
                if edge.to_id not in jobs:
                    jobs[edge.to_id] = self._jobs_with_columns(edge.to_id, dag)
                if edge.job in jobs[edge.to_id]:
                    continue
            feeds_without_columns.append(edge)
        return feeds_without_columns

    def ids(self, labels: Sequence[str], environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        return {each.id for each in self._of(labels, environment, dag)}

    def pairs(
        self, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> set[tuple[str, str]]:
        """See `LineageGraph`."""
        return {(edge.from_id, edge.to_id) for edge in self._edges_of(labels, environment, dag)}

    def without_consumer(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        return {
            each.id
            for each in self._of(DATASET_LABELS, environment, None)
            if any(self._next(each.id, ("writes",), "up", dag))
            and all(edge.to_id == each.id for edge in self._next(each.id, ("feeds",), "down", None))
        }

    def without_producer(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """See `LineageGraph`."""
        return {
            each.id
            for each in self._of(DATASET_LABELS, environment, None)
            if any(self._next(each.id, ("feeds",), "down", dag))
            and not any(self._next(each.id, ("feeds", "writes"), "up", None))
        }

    def everything(
        self, environment: str | None = None, dag: str | None = None, labels: Sequence[str] | None = None
    ) -> Iterator[Vertex | Edge]:
        """See `LineageGraph`."""
        wanted = (*VERTEX_LABELS, *EDGE_LABELS) if labels is None else labels
        yield from self._of([label for label in wanted if label in ALL_VERTEX_LABELS], environment, dag)
        yield from self._edges_of(
            [label for label in wanted if label not in ALL_VERTEX_LABELS], environment, dag
        )

    def _of(self, labels: Sequence[str], environment: str | None, dag: str | None) -> Iterator[Vertex]:
        for vertex in self._vertices.values():
            if (
                vertex.label in labels
                and (environment is None or vertex.properties.get("environment") == environment)
                and (dag is None or dag in vertex.dags)
            ):
                yield vertex

    def _edges_of(self, labels: Sequence[str], environment: str | None, dag: str | None) -> Iterator[Edge]:
        for edge in self._edges:
            if (
                edge.label in labels
                and (environment is None or edge.properties.get("environment") == environment)
                and (dag is None or edge.properties.get("dag_name") == dag)
            ):
                yield edge

    def _jobs_with_columns(self, dataset: str, dag: str | None) -> set[str]:
        """Return the jobs with known column lineage into a dataset."""
        columns = [each.to_id for each in self._next(dataset, ("has_column",), "down", None)]
        into = [edge for column in columns for edge in self._next(column, ("feeds_column",), "up", dag)]
        return {edge.job for edge in (*into, *self._next(dataset, ("influences",), "up", dag))}

    def _next(
        self, vertex: str, labels: Sequence[str], direction: Direction, dag: str | None
    ) -> Iterator[Edge]:
        edges = self._out if direction == "down" else self._in
        for each in edges.get(vertex, ()):
            if each.label in labels and (dag is None or each.properties.get("dag_name") == dag):
                yield each
