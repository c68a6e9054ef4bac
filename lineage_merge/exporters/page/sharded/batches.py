"""Orders datasets, and reads them with columns, jobs, tests and incoming edges, one batch in memory."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from lineage_merge.exporters.page.data import Places, columns_of, place_columns
from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import JobKey, dataset_of, job_id
from lineage_merge.questions.graph import LineageGraph

_FIRST_BATCH = 200
_ELEMENTS = 60_000
_BY_COLUMNS = ("feeds_column", "influences")


@dataclass(frozen=True, slots=True)
class DatasetBatch:
    """Datasets with consecutive numbers.

    `columns`: of each dataset, also of sources of other batches. `others`: jobs, tests and what these are
    compared with, by id. `edges`: those into a dataset, into its columns, and its checks. `compared`: the
    edges of a test. `written`: the number of datasets that a job writes.
    """

    datasets: Sequence[Vertex]
    columns: Mapping[str, list[Vertex]]
    others: Mapping[str, Vertex]
    edges: Mapping[str, list[Edge]]
    compared: Mapping[str, list[Edge]]
    written: Mapping[str, int]
    places: Places

    def part(self, datasets: Iterable[Vertex]) -> Subgraph:
        """Return some of the datasets with their edges, jobs and tests; the ends of edges may be missing."""
        own = list(datasets)
        edges = [edge for dataset in own for edge in self.edges.get(dataset.id, ())]
        tests = {edge.from_id for edge in edges if edge.label == "checks"}
        edges += chain.from_iterable(self.compared.get(test, ()) for test in sorted(tests))
        ends = {end for edge in edges if edge.label not in _BY_COLUMNS for end in (edge.from_id, edge.to_id)}
        ends |= {_job_of(edge) for edge in edges if edge.label == "feeds"}
        others = (self.others[end] for end in ends if end in self.others)
        vertices = {vertex.id: vertex for vertex in sorted([*own, *others], key=lambda vertex: vertex.id)}
        edges.sort(key=lambda edge: (edge.from_id, edge.to_id, edge.label, edge.id))
        return Subgraph(vertices, tuple(edges))


def order_by_lineage(ids: Collection[str], feeds: Iterable[tuple[str, str]]) -> list[str]:
    """Return the ids, each followed by what is connected to it, depth first.

    What feeds each other is together, so that a trace needs few shards. Pure.
    """
    by_name = sorted(ids)
    place = {identifier: number for number, identifier in enumerate(by_name)}
    near: list[list[int]] = [[] for _ in by_name]
    for source, target in feeds:
        if source in place and target in place and source != target:
            near[place[source]].append(place[target])
            near[place[target]].append(place[source])
    seen = bytearray(len(by_name))
    order: list[int] = []
    for start in range(len(by_name)):
        waiting = [start]
        while waiting:
            at = waiting.pop()
            if seen[at]:
                continue
            seen[at] = 1
            order.append(at)
            waiting += sorted((other for other in near[at] if not seen[other]), reverse=True)
    return [by_name[number] for number in order]


def read_batches(
    graph: LineageGraph, ids: Sequence[str], place: Mapping[str, int], dag: str | None
) -> Iterator[DatasetBatch]:
    """Yield the datasets in this order. `place`: the number of each dataset by id."""
    start, size = 0, _FIRST_BATCH
    while start < len(ids):
        batch = _read(graph, ids[start : start + size], place, dag)
        yield batch
        start += size
        # Tables may have a few columns or thousands.
        elements = len(batch.places.columns) + sum(map(len, batch.edges.values())) + 1
        size = max(1, min(size * 4, size * _ELEMENTS // elements))


def _read(graph: LineageGraph, ids: Sequence[str], place: Mapping[str, int], dag: str | None) -> DatasetBatch:
    datasets = sorted(graph.vertices(ids), key=lambda vertex: place[vertex.id])
    columns = _read_columns(graph, datasets, dag)
    column_ids = [column.id for held in columns.values() for column in held]
    edges = graph.edges_to(ids, ["feeds", "influences", "writes"], dag)
    edges += graph.edges_to(column_ids, ["feeds_column"], dag)
    edges += graph.edges_to([*ids, *column_ids], ["checks"], dag)
    sources = {dataset_of(edge.from_id) for edge in edges if edge.label in _BY_COLUMNS}
    outside = graph.vertices(sorted(source for source in sources - set(ids) if source in place))
    all_columns = {**columns, **_read_columns(graph, outside, dag)}
    tests = {edge.from_id for edge in edges if edge.label == "checks"}
    jobs = {edge.from_id for edge in edges if edge.label == "writes"}
    jobs |= {_job_of(edge) for edge in edges if edge.label == "feeds"}
    compared = graph.edges_from(sorted(tests), ["references"], dag)
    others = graph.vertices(sorted(tests | jobs | {edge.to_id for edge in compared}))
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for edge in graph.edges_from(sorted(jobs), ["writes"], dag):
        targets[edge.from_id].add(edge.to_id)
    known = {vertex.id: vertex for vertex in others}
    return DatasetBatch(
        datasets,
        all_columns,
        known,
        gather((dataset_of(edge.to_id), edge) for edge in edges),
        gather((edge.from_id, edge) for edge in compared if edge.to_id in known),
        {job: len(written) for job, written in targets.items()},
        Places(place, place_columns(all_columns, place)),
    )


def _job_of(edge: Edge) -> str:
    """Return the id of the job of an edge."""
    environment, dag, kind = (
        str(edge.properties.get(key, "")) for key in ("environment", "dag_name", "job_type")
    )
    return job_id(environment, dag, JobKey(kind, edge.job))


def _read_columns(
    graph: LineageGraph, datasets: Sequence[Vertex], dag: str | None
) -> dict[str, list[Vertex]]:
    """Return the columns of datasets with their fields, in their order."""
    held = {edge.to_id for edge in graph.edges_below([each.id for each in datasets], ["has_column"], dag)}
    columns = graph.vertices(sorted(held))
    return columns_of({vertex.id: vertex for vertex in chain(datasets, columns)})
