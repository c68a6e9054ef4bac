"""Datasets and jobs, each with all that is known of it, some at a time.

A catalog takes a dataset's lineage as a whole, so that one whose lineage comes from two DAGs has to
be told with both: `dag` chooses datasets and jobs, not what is said of a dataset. Only as many are
held in memory as are fetched together.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import JobKey
from lineage_merge.query.elements import JOB, Edge, Vertex, dataset_of
from lineage_merge.query.graph import LineageGraph

EXPOSURE = "exposure"
STORED = tuple(label for label in DATASET_LABELS if label != EXPOSURE)

_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class CatalogRecord:
    """A dataset and its columns, in their order."""

    dataset: Vertex
    columns: tuple[Vertex, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """What comes into one dataset: edges that end at it (`feeds`, `influences`) or at its columns."""

    target: str
    feeds: tuple[Edge, ...] = ()
    made_of: tuple[Edge, ...] = ()
    influences: tuple[Edge, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of the datasets that feed it, sorted."""
        return tuple(sorted({each.from_id for each in self.feeds}))


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset with what comes into it, by jobs of whichever DAG."""

    described: CatalogRecord
    flow: Flow


@dataclass(frozen=True, slots=True)
class Job:
    """A job and what it writes, a flow for each dataset in order of ids.

    `vertex` is None where nothing runs: of an exposure, which is fed under a job's name.
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
) -> Iterator[Dataset]:
    """Datasets with these labels, in order of their ids."""
    for some in _batches(sorted(graph.ids(labels, environment, dag))):
        known = described(graph, some)
        flows = _flows(graph, known, None)
        for identifier in some:
            if identifier in known:  # it may be gone since
                edges = [each for by_job in flows[identifier].values() for each in by_job]
                yield Dataset(known[identifier], _flow(identifier, edges))


def jobs(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Iterator[Job]:
    """Jobs in order of their ids, then what feeds exposures, in order of theirs."""
    for some in _batches(sorted(graph.ids([JOB], environment, dag))):
        at = {each.id: each for each in graph.vertices(some)}
        written = graph.edges_from(at, ["writes"], dag)
        flows = _flows(graph, described(graph, {each.to_id for each in written}), dag)
        targets: dict[str, set[str]] = defaultdict(set)
        for each in written:
            targets[each.from_id].add(each.to_id)
        for identifier in (each for each in some if each in at):
            # A job belongs to one DAG: who tells of it is part of its id.
            mine = _key(at[identifier].dags[0], at[identifier].properties)
            of_job = (_flow(target, flows[target][mine]) for target in sorted(targets[identifier]))
            yield _job(at[identifier].environment, mine, at[identifier], of_job)
    for some in _batches(sorted(graph.ids([EXPOSURE], environment, dag))):
        known = described(graph, some)
        flows = _flows(graph, known, dag)
        for identifier in (each for each in some if each in known):
            for mine, edges in sorted(flows[identifier].items()):
                yield _job(known[identifier].dataset.environment, mine, None, [_flow(identifier, edges)])


def described(graph: LineageGraph, ids: Iterable[str]) -> dict[str, CatalogRecord]:
    """Datasets with their columns, by id; those that are not there are left out."""
    vertices = {each.id: each for each in graph.vertices(sorted(ids))}
    owned = {each.to_id for each in graph.edges_from(vertices, ["has_column"])}  # an edge for each DAG
    columns: dict[str, list[Vertex]] = defaultdict(list)
    for column in graph.vertices(sorted(owned)):
        columns[dataset_of(column.id)].append(column)
    for found in columns.values():
        found.sort(key=lambda each: (each.properties.get("position", 1 << 31), each.name))
    return {each: CatalogRecord(vertex, tuple(columns[each])) for each, vertex in vertices.items()}


_Key = tuple[str, str, str]  # DAG, type, name of a job


def _flows(
    graph: LineageGraph, known: Mapping[str, CatalogRecord], dag: str | None
) -> dict[str, dict[_Key, list[Edge]]]:
    """What comes into datasets, by dataset and job."""
    flows: dict[str, dict[_Key, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for each in graph.edges_to(known, ["feeds", "influences"], dag):
        flows[each.to_id][_key(each.properties.get("dag_name", ""), each.properties, "job_name")].append(each)
    columns = [column.id for each in known.values() for column in each.columns]
    for each in graph.edges_to(columns, ["feeds_column"], dag):
        key = _key(each.properties.get("dag_name", ""), each.properties, "job_name")
        flows[dataset_of(each.to_id)][key].append(each)
    return flows


def _key(dag: str, properties: Mapping[str, str], name: str = "name") -> _Key:
    return dag, properties.get("job_type", ""), properties.get(name, "")


def _flow(target: str, edges: Iterable[Edge]) -> Flow:
    by_label: dict[str, list[Edge]] = defaultdict(list)
    for each in sorted(edges, key=lambda each: (each.from_id, each.to_id, each.id)):
        by_label[each.label].append(each)
    labels = ("feeds", "feeds_column", "influences")
    return Flow(target, *(tuple(by_label[label]) for label in labels))


def _job(environment: str, key: _Key, vertex: Vertex | None, flows: Iterable[Flow]) -> Job:
    dag, job_type, name = key
    return Job(environment, dag, JobKey(job_type, name), vertex, tuple(flows))


def _batches(ids: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(ids)
    while some := list(islice(remaining, _AT_ONCE)):
        yield some
