"""DataHub aspects of DAGs and jobs, of the newest run of a job, and of the newest write of a dataset."""

from collections.abc import Iterator, Mapping
from typing import Any

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata import schema_classes as classes
from datahub.specific.datajob import DataJobPatchBuilder

from lineage_merge.exporters.datahub.fields import NO_USER, add_owners_and_tags, aspects, fine_grained
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.graph_batches import DatasetLineage, JobLineage
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.last_updates import LastUpdate

_CUSTOM = tuple(
    "environment job_type framework project last_run_id last_run_at duration_ms rows_written status".split()
)


def dag(names: Names, job: JobLineage) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the DAG of a job."""
    info = classes.DataFlowInfoClass(
        name=job.dag, customProperties={"environment": job.environment}, env=names.fabric(job.environment)
    )
    yield from aspects(names.dag(job.environment, job.dag), [info, classes.StatusClass(removed=False)])


def job(
    names: Names, job: JobLineage, vertex: Vertex, columns: Mapping[str, Vertex]
) -> Iterator[MetadataChangeProposalWrapper | classes.MetadataChangeProposalClass]:
    """Yield a job: its newest run, inputs and outputs. `columns`: the ends of its column edges by id."""
    properties = vertex.properties
    info = classes.DataJobInfoClass(
        name=job.key.name,
        type=job.key.job_type.upper(),
        flowUrn=names.dag(job.environment, job.dag),
        customProperties={name: str(properties[name]) for name in _CUSTOM if name in properties},
        env=names.fabric(job.environment),
    )
    edges = [edge for flow in job.flows for edge in flow.column_feeds]
    moves = classes.DataJobInputOutputClass(
        inputDatasets=sorted({names.dataset(source) for flow in job.flows for source in flow.sources}),
        outputDatasets=sorted({names.dataset(flow.target) for flow in job.flows}),
        fineGrainedLineages=fine_grained(names, edges, columns) or None,
    )
    urn = names.job(job)
    yield from aspects(urn, [info, moves, classes.StatusClass(removed=False)])
    patch = DataJobPatchBuilder(urn)
    add_owners_and_tags(names, patch, vertex)
    yield from patch.build()


_RESULTS = {"succeeded": classes.RunResultTypeClass.SUCCESS, "failed": classes.RunResultTypeClass.FAILURE}


def last_run(names: Names, job: JobLineage, vertex: Vertex) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the newest run of a job with its result, if it is known."""
    properties = vertex.properties
    at, result = properties.get("last_run_at"), _RESULTS.get(properties.get("status", ""))
    if at is None or result is None:
        return
    run_id = str(properties.get("last_run_id", at))
    values: list[Any] = [
        classes.DataProcessInstancePropertiesClass(
            name=run_id, created=classes.AuditStampClass(time=at, actor=NO_USER)
        ),
        classes.DataProcessInstanceRelationshipsClass(upstreamInstances=[], parentTemplate=names.job(job)),
        classes.DataProcessInstanceRunEventClass(
            timestampMillis=at,
            status=classes.DataProcessRunStatusClass.COMPLETE,
            result=classes.DataProcessInstanceRunResultClass(type=result, nativeResultType=job.key.job_type),
            durationMillis=properties.get("duration_ms"),
        ),
        classes.StatusClass(removed=False),
    ]
    yield from aspects(names.run(vertex.id, run_id), values)


def last_write(names: Names, dataset: DatasetLineage) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the newest successful write of a dataset, from which DataHub shows its freshness.

    A view holds no rows: building it does not make its data newer.
    """
    vertex = dataset.schema.dataset
    written_at = LastUpdate(vertex, dataset.writers).written_at
    if vertex.label == "view" or written_at is None:
        return
    appends = {feed.properties.get("write_mode") for feed in dataset.flow.feeds} == {"append"}
    yield from aspects(
        names.dataset(vertex.id),
        [
            classes.OperationClass(
                timestampMillis=written_at,
                lastUpdatedTimestamp=written_at,
                operationType=classes.OperationTypeClass.INSERT
                if appends
                else classes.OperationTypeClass.UPDATE,
                sourceType=classes.OperationSourceTypeClass.DATA_PROCESS,
            )
        ],
    )
