"""Datasets and jobs with their complete lineage, fetched in batches.

Catalogs replace a dataset's lineage as a whole, so a dataset that two DAGs write is exported with the lineage
of both: `dag` selects datasets and jobs, not edges of a dataset. Only one batch is in memory.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from lineage_merge.graph_format.elements import JOB, Edge, Vertex, column_order
from lineage_merge.graph_format.schema import DATASET_LABELS, SEMANTIC_LABELS
from lineage_merge.infra.batches import batched, gather
from lineage_merge.model.elements import JobKey, dataset_of, structures_of
from lineage_merge.questions.graph import LineageGraph

EXPOSURE = "exposure"
# What no job writes: its incoming edges have the name of a job that never runs.
WITHOUT_JOB = (EXPOSURE, *SEMANTIC_LABELS)
STORED = tuple(label for label in DATASET_LABELS if label != EXPOSURE)

# What is read for so many elements is in memory at once.
BATCH = 200


@dataclass(frozen=True, slots=True)
class DatasetSchema:
    """A dataset and its columns, by position, each followed by its fields."""

    dataset: Vertex
    columns: tuple[Vertex, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """Incoming edges of a dataset (`feeds`, `influences`) and of its columns (`column_feeds`)."""

    target: str
    feeds: tuple[Edge, ...] = ()
    column_feeds: tuple[Edge, ...] = ()
    influences: tuple[Edge, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of the source datasets, sorted."""
        return tuple(sorted({feed.from_id for feed in self.feeds}))


@dataclass(frozen=True, slots=True)
class DatasetLineage:
    """A dataset with its incoming edges and its jobs (`writers`) of all DAGs."""

    schema: DatasetSchema
    flow: Flow
    writers: tuple[Vertex, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """A check of a dataset, or of a column of it."""

    assertion: Vertex
    column: Vertex | None = None


@dataclass(frozen=True, slots=True)
class CheckedDataset:
    """A dataset and its checks, by id."""

    schema: DatasetSchema
    checks: tuple[DatasetCheck, ...]


@dataclass(frozen=True, slots=True)
class JobLineage:
    """A job and its flows, one per dataset that it writes, by id.

    `vertex` is None for exposures, metrics and so on: their incoming edges have a job name, but no job runs.
    """

    environment: str
    dag: str
    key: JobKey
    vertex: Vertex | None
    flows: tuple[Flow, ...]


def datasets(
    graph: LineageGraph,
    environment: str | None = None,
    dag: str | None = None,
    labels: Sequence[str] = STORED,
    *,
    only: Collection[str] | None = None,
) -> Iterator[DatasetLineage]:
    """Yield datasets with these labels, by id (`only`: of these ids)."""
    for batch in batched(_select(graph.ids(labels, environment, dag), only), BATCH):
        known = read_schemas(graph, batch)
        flows = _flows(graph, known, None)
        writers = _writers(graph, batch)
        for identifier in filter(known.__contains__, batch):  # others have been deleted meanwhile
            edges = chain.from_iterable(flows[identifier].values())
            yield DatasetLineage(known[identifier], _flow(identifier, edges), writers[identifier])


def list_checked_datasets(
    graph: LineageGraph, environment: str | None = None, dag: str | None = None
) -> Iterator[CheckedDataset]:
    """Yield the datasets that assertions (of `dag`) check, by id."""
    checks = sorted(graph.pairs(["checks"], environment, dag))
    targets = gather((dataset_of(target), (assertion, target)) for assertion, target in checks)
    for batch in batched(sorted(targets), BATCH):
        known = read_schemas(graph, batch)
        ids = {assertion for dataset in batch for assertion, _ in targets[dataset]}
        assertions = {vertex.id: vertex for vertex in graph.vertices(sorted(ids))}
        for dataset in filter(known.__contains__, batch):
            columns = {column.id: column for column in known[dataset].columns}
            dataset_checks = [
                DatasetCheck(assertions[assertion], columns.get(target))
                for assertion, target in targets[dataset]
                if assertion in assertions
            ]
            yield CheckedDataset(known[dataset], tuple(dataset_checks))


def _writers(graph: LineageGraph, datasets: Sequence[str]) -> Mapping[str, tuple[Vertex, ...]]:
    edges = graph.edges_to(datasets, ["writes"])
    jobs = {vertex.id: vertex for vertex in graph.vertices(sorted({edge.from_id for edge in edges}))}
    job_ids: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        job_ids[edge.to_id].add(edge.from_id)
    return {
        dataset: tuple(jobs[job] for job in sorted(job_ids[dataset]) if job in jobs) for dataset in datasets
    }


def jobs(
    graph: LineageGraph,
    environment: str | None = None,
    dag: str | None = None,
    *,
    only: Collection[str] | None = None,
) -> Iterator[JobLineage]:
    """Yield jobs by id, then the jobs of exposures, by id of the exposure (`only`: of these ids)."""
    for batch in batched(_select(graph.ids([JOB], environment, dag), only), BATCH):
        at = {vertex.id: vertex for vertex in graph.vertices(batch)}
        written = graph.edges_from(at, ["writes"], dag)
        flows = _flows(graph, read_schemas(graph, {edge.to_id for edge in written}), dag)
        targets: dict[str, set[str]] = defaultdict(set)
        for edge in written:
            targets[edge.from_id].add(edge.to_id)
        for identifier in filter(at.__contains__, batch):
            # A job belongs to one DAG, which is part of its id.
            job_key = _key(at[identifier].dags[0], at[identifier].properties)
            of_job = (_flow(target, flows[target][job_key]) for target in sorted(targets[identifier]))
            yield _job(at[identifier].environment, job_key, at[identifier], of_job)
    for batch in batched(_select(graph.ids(WITHOUT_JOB, environment, dag), only), BATCH):
        known = read_schemas(graph, batch)
        flows = _flows(graph, known, dag)
        for identifier in filter(known.__contains__, batch):
            for job_key, edges in sorted(flows[identifier].items()):
                yield _job(known[identifier].dataset.environment, job_key, None, [_flow(identifier, edges)])


def read_schemas(graph: LineageGraph, ids: Iterable[str]) -> dict[str, DatasetSchema]:
    """Return datasets with their columns, by id; missing ones are omitted."""
    vertices = {vertex.id: vertex for vertex in graph.vertices(sorted(ids))}
    owned = {edge.to_id for edge in graph.edges_below(vertices, ["has_column"])}  # an edge for each DAG
    columns = gather((dataset_of(column.id), column) for column in graph.vertices(sorted(owned)))
    for of_dataset in columns.values():
        of_dataset.sort(key=partial(column_order, {column.id: column for column in of_dataset}))
    return {dataset: DatasetSchema(vertex, tuple(columns[dataset])) for dataset, vertex in vertices.items()}


def with_structures(graph: LineageGraph, ids: Collection[str]) -> dict[str, Vertex]:
    """Return columns with their fields and the structures that they are part of, by id."""
    above = {structure for column in ids for structure in structures_of(column)}
    fields = {edge.to_id for edge in graph.edges_below(sorted(ids), ["has_column"])}
    return {vertex.id: vertex for vertex in graph.vertices(sorted({*ids, *above, *fields}))}


_Key = tuple[str, str, str]  # DAG, type, name of a job


def _flows(
    graph: LineageGraph, known: Mapping[str, DatasetSchema], dag: str | None
) -> dict[str, dict[_Key, list[Edge]]]:
    """Return the incoming edges of datasets, by dataset and job."""
    flows: dict[str, dict[_Key, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    columns = [column.id for schema in known.values() for column in schema.columns]
    of_columns = graph.edges_to(columns, ["feeds_column"], dag)
    for edge in chain(graph.edges_to(known, ["feeds", "influences"], dag), of_columns):
        key = _key(edge.properties.get("dag_name", ""), edge.properties, "job_name")
        flows[dataset_of(edge.to_id)][key].append(edge)
    return flows


def _key(dag: str, properties: Mapping[str, str], name: str = "name") -> _Key:
    return dag, properties.get("job_type", ""), properties.get(name, "")


def _flow(target: str, edges: Iterable[Edge]) -> Flow:
    in_order = sorted(edges, key=lambda edge: (edge.from_id, edge.to_id, edge.id))
    by_label = gather((edge.label, edge) for edge in in_order)
    labels = ("feeds", "feeds_column", "influences")
    return Flow(target, *(tuple(by_label[label]) for label in labels))


def _job(environment: str, key: _Key, vertex: Vertex | None, flows: Iterable[Flow]) -> JobLineage:
    dag, job_type, name = key
    return JobLineage(environment, dag, JobKey(job_type, name), vertex, tuple(flows))


def _select(ids: Iterable[str], only: Collection[str] | None) -> list[str]:
    return sorted(ids if only is None else (identifier for identifier in ids if identifier in only))
