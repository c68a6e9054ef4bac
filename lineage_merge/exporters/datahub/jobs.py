"""DataHub aspects of DAGs and jobs."""

from collections.abc import Iterator, Mapping

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    DataFlowInfoClass,
    DataJobInfoClass,
    DataJobInputOutputClass,
    MetadataChangeProposalClass,
    StatusClass,
)
from datahub.specific.datajob import DataJobPatchBuilder

from lineage_merge.exporters.datahub.fields import aspects, fine_grained
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.datahub.owners import add_owners_and_tags
from lineage_merge.exporters.graph_batches import Job
from lineage_merge.graph_format.elements import Vertex

_CUSTOM = (
    "environment",
    "job_type",
    "framework",
    "project",
    "last_run_id",
    "last_run_at",
    "duration_ms",
    "rows_written",
    "status",
)


def dag(names: Names, job: Job) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the DAG of a job."""
    info = DataFlowInfoClass(
        name=job.dag,
        customProperties={"environment": job.environment},
        env=names.fabric(job.environment),
    )
    yield from aspects(names.dag(job.environment, job.dag), [info, StatusClass(removed=False)])


def job(
    names: Names, job: Job, vertex: Vertex, columns: Mapping[str, Vertex]
) -> Iterator[MetadataChangeProposalWrapper | MetadataChangeProposalClass]:
    """Yield a job: its newest run, inputs and outputs. `columns`: the ends of its column edges by id."""
    properties = vertex.properties
    info = DataJobInfoClass(
        name=job.key.name,
        type=job.key.job_type.upper(),
        flowUrn=names.dag(job.environment, job.dag),
        customProperties={name: str(properties[name]) for name in _CUSTOM if name in properties},
        env=names.fabric(job.environment),
    )
    edges = [edge for flow in job.flows for edge in flow.column_feeds]
    moves = DataJobInputOutputClass(
        inputDatasets=sorted({names.dataset(each) for flow in job.flows for each in flow.sources}),
        outputDatasets=sorted({names.dataset(flow.target) for flow in job.flows}),
        fineGrainedLineages=fine_grained(names, edges, columns) or None,
    )
    urn = names.job(job)
    yield from aspects(urn, [info, moves, StatusClass(removed=False)])
    patch = DataJobPatchBuilder(urn)
    add_owners_and_tags(names, patch, vertex)
    yield from patch.build()
