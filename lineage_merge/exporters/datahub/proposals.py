"""The graph as DataHub's metadata change proposals, dataset by dataset and job by job."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import MetadataChangeProposalClass, StatusClass, UpstreamLineageClass
from datahub.specific.datajob import DataJobPatchBuilder
from datahub.specific.dataset import DatasetPatchBuilder
from datahub.utilities.urns.urn import guess_entity_type

from lineage_merge.exporters.changed_elements import ChangedElements, find_changed_elements
from lineage_merge.exporters.datahub import entities
from lineage_merge.exporters.datahub.assertions import assertions
from lineage_merge.exporters.datahub.dashboards import chart_urns, dashboard_urns, export_dashboard
from lineage_merge.exporters.datahub.fields import FieldPaths, tag_of
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.graph_batches import (
    EXPOSURE,
    STORED,
    DatasetSchema,
    JobLineage,
    datasets,
    jobs,
    list_checked_datasets,
    read_schemas,
    with_structures,
)
from lineage_merge.graph_format.elements import JOB, Vertex, values_of
from lineage_merge.questions.graph import LineageGraph

Proposal = MetadataChangeProposalWrapper | MetadataChangeProposalClass

_ENTITY_NAMES = {
    "dataset": "datasets",
    "dataFlow": "DAGs",
    "dataJob": "jobs",
    "dataProcessInstance": "runs",
    "dashboard": "dashboards",
    "chart": "charts",
    "assertion": "assertions",
}


def proposals(export: Export) -> Iterator[Proposal]:
    """Yield all proposals, or those of what changed since `before`, without checks, which are not compared.

    Raises `ConfigError` for an environment without a fabric in DataHub.
    """
    graph, environment, dag, before = export.graph, export.environment, export.dag, export.before
    names = Names.from_settings(export.settings)
    names.check_distinct_fabrics([environment] if environment else graph.environments())
    lineage_only = bool(export.settings.get("lineage_only"))
    changes = find_changed_elements(before, graph, environment, dag) if before is not None else None
    only = changes.datasets | changes.fed if changes else None
    for dataset in datasets(graph, environment, dag, only=only):
        identifier = dataset.schema.dataset.id
        if not lineage_only and (changes is None or identifier in changes.datasets):
            yield from entities.description(names, dataset.schema)
            if before is not None:
                yield from _withdrawn_of_dataset(names, dataset.schema, before)
            yield from entities.last_write(names, dataset)
        sources = {feed.from_id for feed in (*dataset.flow.column_feeds, *dataset.flow.influences)}
        columns = with_structures(graph, sources)
        yield from entities.lineage(names, dataset, columns)
        if changes and identifier in changes.fed and not dataset.flow.feeds:
            nothing = UpstreamLineageClass(upstreams=[])
            yield MetadataChangeProposalWrapper(entityUrn=names.dataset(identifier), aspect=nothing)
    for dashboard in datasets(graph, environment, dag, [EXPOSURE], only=only):
        columns = with_structures(graph, {feed.from_id for feed in dashboard.flow.column_feeds})
        yield from export_dashboard(names, dashboard, columns)
    known_dags: set[str] = set()
    for job in jobs(graph, environment, dag, only=changes.jobs if changes else None):
        if job.vertex is None:
            continue  # of an exposure, which no job runs
        yield from _job_with_dag(graph, names, job, job.vertex, known_dags)
        if before is not None:
            patch = DataJobPatchBuilder(names.job(job))
            for old in before.vertices([job.vertex.id]):
                _withdraw(names, patch, old, job.vertex)
            yield from patch.build()
        yield from entities.last_run(names, job, job.vertex)
    if changes and before is not None:
        yield from _removals(export, before, names, changes)
    elif not lineage_only:
        for checked in list_checked_datasets(graph, environment, dag):
            yield from assertions(names, checked)


def _job_with_dag(
    graph: LineageGraph, names: Names, job: JobLineage, vertex: Vertex, known_dags: set[str]
) -> Iterator[Proposal]:
    """Yield the proposals of a job, and before them those of its DAG unless it is one of `known_dags`."""
    dag = names.dag(job.environment, job.dag)
    if dag not in known_dags:
        known_dags.add(dag)
        yield from entities.dag(names, job)
    edges = [edge for flow in job.flows for edge in flow.column_feeds]
    ends = {end for edge in edges for end in (edge.from_id, edge.to_id)}
    columns = with_structures(graph, ends)
    yield from entities.job(names, job, vertex, columns)


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


def _withdrawn_of_dataset(names: Names, schema: DatasetSchema, before: LineageGraph) -> Iterator[Proposal]:
    """Yield the removal of owners and tags that the dataset or its columns had before."""
    patch = DatasetPatchBuilder(names.dataset(schema.dataset.id))
    columns = {column.id: column for column in schema.columns}
    paths = FieldPaths(schema.columns)
    for old in read_schemas(before, [schema.dataset.id]).values():
        _withdraw(names, patch, old.dataset, schema.dataset)
        for column in old.columns:
            if column.id in columns:
                field = patch.for_field(paths.build_path(columns[column.id]))
                for tag in _missing("tags", column, columns[column.id]):
                    field.remove_tag(tag_of(tag).tag)
    yield from patch.build()


def _withdraw(
    names: Names, patch: DatasetPatchBuilder | DataJobPatchBuilder, old: Vertex, new: Vertex
) -> None:
    for owner in _missing("owners", old, new):
        patch.remove_owner(names.owner(owner), names.owner_type)
    for tag in _missing("tags", old, new):
        patch.remove_tag(tag_of(tag).tag)


def _missing(key: str, old: Vertex, new: Vertex) -> list[str]:
    return sorted({*values_of(old, key)} - {*values_of(new, key)})


def _dashboards(names: Names, graph: LineageGraph, export: Export, only: frozenset[str] | None) -> set[str]:
    """Return the URNs of exposures and their charts.

    Without `only` those of all environments, which have the same URNs.
    """
    environment, dag = (None, None) if only is None else (export.environment, export.dag)
    exposures = datasets(graph, environment, dag, [EXPOSURE], only=only)
    return {
        urn
        for exposure in exposures
        for urn in (*dashboard_urns(names, exposure), *chart_urns(names, exposure))
    }


def _removals(
    export: Export, before: LineageGraph, names: Names, changes: ChangedElements
) -> Iterator[Proposal]:
    """Yield the removed status of entities, except those that another element of the graph still is."""
    graph, removed_datasets = export.graph, changes.removed_datasets
    removed: list[str] = []
    if removed_datasets:
        # Two ids may have one name in DataHub, such as spellings.
        existing = {names.dataset(identifier) for identifier in graph.ids(list(STORED), export.environment)}
        earlier = datasets(before, export.environment, export.dag, only=removed_datasets)
        urns = (names.dataset(dataset.schema.dataset.id) for dataset in earlier)
        removed += [urn for urn in urns if urn not in existing]
    dashboards = _dashboards(names, before, export, removed_datasets | changes.datasets)
    removed += sorted(dashboards - _dashboards(names, graph, export, None) if dashboards else ())
    removed_dags: dict[str, None] = {}
    for job in jobs(before, export.environment, export.dag, only=changes.removed_jobs):
        if job.vertex is not None:
            removed.append(names.job(job))
            if not graph.ids([JOB], job.environment, job.dag):
                removed_dags[names.dag(job.environment, job.dag)] = None
    for urn in (*sorted(removed), *removed_dags):
        yield MetadataChangeProposalWrapper(entityUrn=urn, aspect=StatusClass(removed=True))
