"""The graph as DataHub's metadata change proposals, one dataset and one job after another."""

from collections.abc import Iterable, Iterator
from typing import Any

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import MetadataChangeProposalClass

from lineage_merge.exporters.datahub import datasets as of_datasets
from lineage_merge.exporters.datahub import jobs as of_jobs
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.graph_batches import EXPOSURE, datasets, jobs

Proposal = MetadataChangeProposalWrapper | MetadataChangeProposalClass


def proposals(export: Export) -> Iterator[Proposal]:
    """All proposals. Raises `ConfigError` for an environment that DataHub does not know."""
    graph = export.graph
    names = Names.of(export.settings)
    names.distinct([export.environment] if export.environment else graph.environments())
    lineage_only = bool(export.settings.get("lineage_only"))
    for dataset in datasets(graph, export.environment, export.dag):
        # The names of columns elsewhere that this dataset's are made of.
        ends = {each.from_id for each in (*dataset.flow.made_of, *dataset.flow.influences)}
        columns = {each.id: each for each in graph.vertices(sorted(ends))}
        if not lineage_only:
            yield from of_datasets.about(names, dataset.described)
        yield from of_datasets.lineage(names, dataset, columns)
    for exposure in datasets(graph, export.environment, export.dag, labels=[EXPOSURE]):
        yield from of_datasets.exposure(names, exposure)
    known: set[str] = set()
    for job in jobs(graph, export.environment, export.dag):
        if job.vertex is None:
            continue  # an exposure: nothing runs
        dag = names.dag(job.environment, job.dag)
        if dag not in known:
            known.add(dag)
            yield from of_jobs.dag(names, job)
        edges = [edge for flow in job.flows for edge in flow.made_of]
        both = {end for each in edges for end in (each.from_id, each.to_id)}
        columns = {each.id: each for each in graph.vertices(sorted(both))}
        yield from of_jobs.job(names, job, job.vertex, columns)


def aspects(urn: str, values: Iterable[Any]) -> Iterator[MetadataChangeProposalWrapper]:
    """A proposal for each aspect."""
    return (MetadataChangeProposalWrapper(entityUrn=urn, aspect=each) for each in values)
