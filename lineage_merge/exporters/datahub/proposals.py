"""The graph as DataHub's metadata change proposals, dataset by dataset and job by job."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import MetadataChangeProposalClass
from datahub.utilities.urns.urn import guess_entity_type

from lineage_merge.exporters.datahub import datasets as of_datasets
from lineage_merge.exporters.datahub import jobs as of_jobs
from lineage_merge.exporters.datahub import runs as of_runs
from lineage_merge.exporters.datahub.assertions import assertions
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.graph_batches import EXPOSURE, Dataset, Job, checked_datasets, datasets, jobs
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.graph import LineageGraph

Proposal = MetadataChangeProposalWrapper | MetadataChangeProposalClass

_ENTITY_NAMES = {
    "dataset": "datasets",
    "dataFlow": "DAGs",
    "dataJob": "jobs",
    "dataProcessInstance": "runs",
    "dashboard": "dashboards",
    "assertion": "assertions",
}


def proposals(export: Export) -> Iterator[Proposal]:
    """Yield all proposals. Raises `ConfigError` for an environment without a fabric in DataHub."""
    graph = export.graph
    names = Names.of(export.settings)
    names.check_distinct_fabrics([export.environment] if export.environment else graph.environments())
    lineage_only = bool(export.settings.get("lineage_only"))
    for dataset in datasets(graph, export.environment, export.dag):
        if not lineage_only:
            yield from of_datasets.description(names, dataset.schema)
            yield from of_runs.last_write(names, dataset)
        yield from dataset_lineage(graph, names, dataset)
    for exposure in datasets(graph, export.environment, export.dag, labels=[EXPOSURE]):
        yield from of_datasets.exposure(names, exposure)
    known_dags: set[str] = set()
    for job in jobs(graph, export.environment, export.dag):
        if job.vertex is None:
            continue  # of an exposure, which no job runs
        yield from job_with_dag(graph, names, job, job.vertex, known_dags)
        yield from of_runs.last_run(names, job, job.vertex)
    if not lineage_only:
        for checked in checked_datasets(graph, export.environment, export.dag):
            yield from assertions(names, checked)


def dataset_lineage(graph: LineageGraph, names: Names, dataset: Dataset) -> Iterator[Proposal]:
    """Yield the lineage of a dataset and its columns."""
    sources = {each.from_id for each in (*dataset.flow.column_feeds, *dataset.flow.influences)}
    columns = {each.id: each for each in graph.vertices(sorted(sources))}
    yield from of_datasets.lineage(names, dataset, columns)


def job_with_dag(
    graph: LineageGraph, names: Names, job: Job, vertex: Vertex, known_dags: set[str]
) -> Iterator[Proposal]:
    """Yield the proposals of a job, and before them those of its DAG unless it is one of `known_dags`."""
    dag = names.dag(job.environment, job.dag)
    if dag not in known_dags:
        known_dags.add(dag)
        yield from of_jobs.dag(names, job)
    edges = [edge for flow in job.flows for edge in flow.column_feeds]
    ends = {end for each in edges for end in (each.from_id, each.to_id)}
    columns = {each.id: each for each in graph.vertices(sorted(ends))}
    yield from of_jobs.job(names, job, vertex, columns)


@dataclass
class ProposalCounter:
    """Counts proposals (aspects) and entities. Proposals of one entity must be consecutive."""

    _aspects: int = 0
    _entities: Counter[str] = field(default_factory=Counter)
    _last_urn: str = ""

    def add(self, proposal: Proposal) -> None:
        """Count a proposal."""
        urn = proposal.entityUrn or ""
        if urn != self._last_urn:
            self._entities[_ENTITY_NAMES.get(guess_entity_type(urn), "others")] += 1
        self._last_urn = urn
        self._aspects += 1

    @property
    def counts(self) -> dict[str, int]:
        """``{"datasets": 12, "jobs": 5, "aspects": 70}``."""
        return {**self._entities, "aspects": self._aspects}
