"""The part of a graph that tags can reach, in few requests, without regard to where they stop."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lineage_merge.graph_format.elements import COLUMN, Edge, Vertex
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import dataset_of, is_field, structures_of
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.column_walk import pass_on


@dataclass(frozen=True, slots=True)
class TagReach:
    """Edges by their start, in a fixed order.

    `columns`: `feeds_column` and `influences` by column. `fields`: those of a column or field. `whole`:
    `feeds` without column lineage by dataset. `owned`: columns by dataset, of datasets that can carry a tag
    as a whole. `tagged`: all vertices with the requested tags.
    """

    tagged: tuple[Vertex, ...]
    columns: Mapping[str, tuple[Edge, ...]]
    fields: Mapping[str, tuple[str, ...]]
    whole: Mapping[str, tuple[Edge, ...]]
    owned: Mapping[str, tuple[str, ...]]
    datasets: Mapping[str, Vertex]

    def leaving(self, column: str) -> Iterator[Edge]:
        """Yield the edges of a column; of a field also those over which its structures pass it on."""
        yield from self.columns.get(column, ())
        if is_field(column):
            for structure in structures_of(column):
                for edge in self.columns.get(structure, ()):
                    yield pass_on(edge, column, "down")


def read_reach(
    graph: LineageGraph,
    tags: Collection[str] | None,
    environment: str | None,
    dag: str | None,
    read: Mapping[str, Vertex],
) -> TagReach:
    """Read everything that these tags (None: any) can reach. `read`: datasets that are read already."""
    wanted = None if tags is None else sorted(set(tags))
    vertices = graph.find_tagged((*DATASET_LABELS, COLUMN), environment, dag, wanted)
    tagged = tuple(sorted(vertices, key=lambda vertex: vertex.id))
    reading = _Reading(graph, dag)
    tagged_datasets = {vertex.id: vertex for vertex in tagged if vertex.is_dataset}
    reading.read({vertex.id for vertex in tagged if vertex.label == COLUMN}, set(tagged_datasets))
    ids = reading.datasets | {edge.to_id for edge in reading.edges.values() if edge.label == "influences"}
    known = {identifier: read[identifier] for identifier in ids if identifier in read} | tagged_datasets
    datasets = known | {vertex.id: vertex for vertex in graph.vertices(sorted(ids - known.keys()))}
    return TagReach(
        tagged,
        _group_by_start(reading.edges.values()),
        {column: tuple(sorted(fields)) for column, fields in reading.fields.items()},
        _group_by_start(reading.whole.values()),
        {dataset: tuple(sorted(columns)) for dataset, columns in reading.owned.items()},
        datasets,
    )


@dataclass(slots=True)
class _Reading:
    """What is read so far. Each round reads what the previous one found, until there is nothing new."""

    graph: LineageGraph
    dag: str | None
    edges: dict[str, Edge] = field(default_factory=dict)
    whole: dict[str, Edge] = field(default_factory=dict)
    owned: dict[str, set[str]] = field(default_factory=dict)
    fields: dict[str, set[str]] = field(default_factory=dict)
    datasets: set[str] = field(default_factory=set)
    _columns: set[str] = field(default_factory=set)

    def read(self, columns: set[str], whole: set[str]) -> None:
        """Read from tagged columns, and from datasets that carry a tag as a whole."""
        while columns or whole:
            columns |= self._columns_of(whole)
            self._follow(columns - self._columns)
            reached = {dataset_of(column) for column in self._columns} | whole | self.owned.keys()
            new = reached - self.datasets
            self.datasets |= new
            targets = self._add_feeds(new)
            columns, whole = set(), self._add_all_below(targets - self.owned.keys())

    def _columns_of(self, datasets: set[str]) -> set[str]:
        edges = self.graph.edges_from(sorted(datasets), ["has_column"], self.dag)
        columns: dict[str, set[str]] = {dataset: set() for dataset in datasets}
        for edge in edges:
            columns[edge.from_id].add(edge.to_id)
        self.owned.update(columns)
        return {edge.to_id for edge in edges}

    def _follow(self, columns: set[str]) -> None:
        while columns:
            labels = ["feeds_column", "has_column"]
            edges = self.graph.edges_below(sorted(columns), labels, self.dag, ["influences"])
            reached = columns | self._add(edges)
            self._columns |= reached
            # Structures pass their fields on, but are not reached themselves.
            above = {structure for id_ in reached if is_field(id_) for structure in structures_of(id_)}
            above -= self._columns
            passed = (
                self.graph.edges_from(sorted(above), ["feeds_column", "influences"], self.dag)
                if above
                else ()
            )
            columns = self._add(passed) - self._columns

    def _add(self, edges: Iterable[Edge]) -> set[str]:
        """Add edges; return the columns where they end."""
        ends = set()
        for edge in edges:
            if edge.label == "has_column":
                self.fields.setdefault(edge.from_id, set()).add(edge.to_id)
            else:
                self.edges[edge.id] = edge
            if edge.label != "influences":
                ends.add(edge.to_id)
        return ends

    def _add_feeds(self, datasets: set[str]) -> set[str]:
        """Add the feeds without column lineage from these datasets; return their targets.

        Nothing is known of the columns of a dataset that has none. Tags describe rows: those who only read
        metadata do not carry them.
        """
        empty = {dataset for dataset in datasets if self.owned.get(dataset) == set()}
        feeds = self.graph.edges_from(sorted(empty), ["feeds"], self.dag)
        feeds += self.graph.feeds_without_columns(sorted(datasets - empty), self.dag)
        feeds = [feed for feed in feeds if feed.properties.get("reads") != "metadata"]
        self.whole.update((feed.id, feed) for feed in feeds)
        return {feed.to_id for feed in feeds}

    def _add_all_below(self, targets: set[str]) -> set[str]:
        """Return these datasets and all below: many hops without columns take no more requests than one."""
        if not targets:
            return set()
        below = self.graph.reach(sorted(targets), ["feeds"], "down", None, self.dag)
        return (targets | below) - self.owned.keys()


def _group_by_start(edges: Iterable[Edge]) -> dict[str, tuple[Edge, ...]]:
    by_start: dict[str, list[Edge]] = defaultdict(list)
    for edge in sorted(edges, key=lambda edge: (edge.from_id, edge.to_id, edge.label, edge.id)):
        by_start[edge.from_id].append(edge)
    return {start: tuple(some) for start, some in by_start.items()}
