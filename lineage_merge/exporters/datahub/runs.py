"""DataHub's newest run of a job, and newest write of a dataset."""

from collections.abc import Iterator
from typing import Any

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    AuditStampClass,
    DataProcessInstancePropertiesClass,
    DataProcessInstanceRelationshipsClass,
    DataProcessInstanceRunEventClass,
    DataProcessInstanceRunResultClass,
    DataProcessRunStatusClass,
    OperationClass,
    OperationSourceTypeClass,
    OperationTypeClass,
    RunResultTypeClass,
    StatusClass,
)

from lineage_merge.exporters.datahub.fields import NO_USER, aspects
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.graph_batches import Dataset, Job
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.last_updates import LastUpdate

_RESULTS = {"succeeded": RunResultTypeClass.SUCCESS, "failed": RunResultTypeClass.FAILURE}


def last_run(names: Names, job: Job, vertex: Vertex) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the newest run of a job with its result, if it is known."""
    properties = vertex.properties
    at, result = properties.get("last_run_at"), _RESULTS.get(properties.get("status", ""))
    if at is None or result is None:
        return
    run_id = str(properties.get("last_run_id", at))
    values: list[Any] = [
        DataProcessInstancePropertiesClass(name=run_id, created=AuditStampClass(time=at, actor=NO_USER)),
        DataProcessInstanceRelationshipsClass(upstreamInstances=[], parentTemplate=names.job(job)),
        DataProcessInstanceRunEventClass(
            timestampMillis=at,
            status=DataProcessRunStatusClass.COMPLETE,
            result=DataProcessInstanceRunResultClass(type=result, nativeResultType=job.key.job_type),
            durationMillis=properties.get("duration_ms"),
        ),
        StatusClass(removed=False),
    ]
    yield from aspects(names.run(vertex.id, run_id), values)


def last_write(names: Names, dataset: Dataset) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the newest successful write of a dataset, from which DataHub shows its freshness.

    A view holds no rows: building it does not make its data newer.
    """
    vertex = dataset.schema.dataset
    written_at = LastUpdate(vertex, dataset.writers).written_at
    if vertex.label == "view" or written_at is None:
        return
    appends = {each.properties.get("write_mode") for each in dataset.flow.feeds} == {"append"}
    yield from aspects(
        names.dataset(vertex.id),
        [
            OperationClass(
                timestampMillis=written_at,
                lastUpdatedTimestamp=written_at,
                operationType=OperationTypeClass.INSERT if appends else OperationTypeClass.UPDATE,
                sourceType=OperationSourceTypeClass.DATA_PROCESS,
            )
        ],
    )
