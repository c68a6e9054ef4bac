"""DataHub aspects of datasets, of DAGs, jobs, their newest run, and of newest writes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from datahub.emitter import mce_builder
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata import schema_classes as classes
from datahub.specific.datajob import DataJobPatchBuilder
from datahub.specific.dataset import DatasetPatchBuilder

from lineage_merge.exporters.datahub.fields import (
    NO_USER,
    FieldPaths,
    add_owners_and_tags,
    aspects,
    custom_properties,
    data_type,
    fine_grained,
    tag_of,
)
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.graph_batches import DatasetLineage, DatasetSchema, Flow, JobLineage
from lineage_merge.graph_format.elements import Edge, Vertex, name_parts
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import dataset_of
from lineage_merge.questions.formats.describe import declaration, declarations
from lineage_merge.questions.traversal.last_updates import LastUpdate

_SUBTYPES = {
    "file": "File",
    "table": "Table",
    "view": "View",
    "topic": "Topic",
    "seed": "Seed",
    "snapshot": "Snapshot",
    "semantic_model": "Semantic Model",
    "metric": "Metric",
    "saved_query": "Saved Query",
}
_CUSTOM_OF_JOBS = tuple(
    "environment job_type framework project last_run_id last_run_at duration_ms rows_written status".split()
)
_RESULTS = {"succeeded": classes.RunResultTypeClass.SUCCESS, "failed": classes.RunResultTypeClass.FAILURE}


def description(
    names: Names, schema: DatasetSchema
) -> Iterator[MetadataChangeProposalWrapper | classes.MetadataChangeProposalClass]:
    """Yield properties, sub type, columns if known, deprecation, owners, and tags.

    Owners and tags are added to those in DataHub, where users may have set others.
    """
    vertex = schema.dataset
    urn = names.dataset(vertex.id)
    properties = vertex.properties
    paths = FieldPaths(schema.columns)
    values: list[Any] = [
        classes.DatasetPropertiesClass(
            name=vertex.name,
            qualifiedName=properties.get("qualified_name"),
            description=properties.get("description"),
            customProperties=custom_properties(vertex),
        ),
        classes.SubTypesClass(typeNames=[_SUBTYPES.get(vertex.label, vertex.label.title())]),
    ]
    if schema.columns:
        values.append(_schema(names, schema, paths))
    if "deprecation_date" in properties:
        values.append(_deprecation(str(properties["deprecation_date"])))
    yield from aspects(urn, values)
    patch = DatasetPatchBuilder(urn)
    add_owners_and_tags(names, patch, vertex)
    for column in schema.columns:
        for tag in column.properties.get("tags", ()):
            patch.for_field(paths.build_path(column)).add_tag(tag_of(tag))
    yield from patch.build()


def lineage(
    names: Names, dataset: DatasetLineage, columns: Mapping[str, Vertex]
) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield status, platform instance, and upstream lineage of the dataset and its columns, of all jobs.

    `columns`: the source columns by id. A dataset without sources gets no upstream aspect: DataHub's
    other sources may know some.
    """
    vertex = dataset.schema.dataset
    urn = names.dataset(vertex.id)
    values: list[Any] = [classes.StatusClass(removed=False)]
    _, namespace, name = name_parts(vertex.id)
    in_datahub = names.name_dataset(namespace, name)
    if in_datahub.instance:
        platform = mce_builder.make_data_platform_urn(in_datahub.platform)
        instance = mce_builder.make_dataplatform_instance_urn(in_datahub.platform, in_datahub.instance)
        values.append(classes.DataPlatformInstanceClass(platform=platform, instance=instance))
    if dataset.flow.feeds:
        known = {**columns, **{column.id: column for column in dataset.schema.columns}}
        values.append(
            classes.UpstreamLineageClass(
                upstreams=_upstreams(names, vertex, dataset.flow, known),
                fineGrainedLineages=fine_grained(names, dataset.flow.column_feeds, known) or None,
            )
        )
    yield from aspects(urn, values)


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
    custom = {name: str(properties[name]) for name in _CUSTOM_OF_JOBS if name in properties}
    if declared := declarations(edge for flow in job.flows for edge in (*flow.feeds, *flow.column_feeds)):
        custom["declared"] = declared
    info = classes.DataJobInfoClass(
        name=job.key.name,
        type=job.key.job_type.upper(),
        flowUrn=names.dag(job.environment, job.dag),
        customProperties=custom,
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
    kinds = classes.OperationTypeClass
    appends = {feed.properties.get("write_mode") for feed in dataset.flow.feeds} == {"append"}
    yield from aspects(
        names.dataset(vertex.id),
        [
            classes.OperationClass(
                timestampMillis=written_at,
                lastUpdatedTimestamp=written_at,
                operationType=kinds.INSERT if appends else kinds.UPDATE,
                sourceType=classes.OperationSourceTypeClass.DATA_PROCESS,
            )
        ],
    )


def _deprecation(date: str) -> classes.DeprecationClass:
    """Return the deprecation of a dbt model, which dbt will remove at this date."""
    try:
        at = datetime.fromisoformat(date)
    except ValueError:
        moment = None
    else:
        moment = int(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000)
    return classes.DeprecationClass(
        deprecated=True, note=f"dbt: deprecation_date {date}", actor=NO_USER, decommissionTime=moment
    )


def _schema(names: Names, schema: DatasetSchema, paths: FieldPaths) -> classes.SchemaMetadataClass:
    _, namespace, name = name_parts(schema.dataset.id)
    platform = names.name_dataset(namespace, name).platform
    return classes.SchemaMetadataClass(
        schemaName=schema.dataset.title,
        platform=mce_builder.make_data_platform_urn(platform),
        version=0,
        hash="",
        platformSchema=classes.OtherSchemaClass(rawSchema=""),
        fields=[
            classes.SchemaFieldClass(
                fieldPath=paths.build_path(column),
                type=data_type(str(column.properties.get("data_type", ""))),
                nativeDataType=str(column.properties.get("data_type", "")),
                description=column.properties.get("description"),
                nullable=True,  # unknown
            )
            for column in schema.columns
        ],
    )


def _upstreams(
    names: Names, vertex: Vertex, flow: Flow, columns: Mapping[str, Vertex]
) -> list[classes.UpstreamClass]:
    feeds = gather((feed.from_id, feed) for feed in flow.feeds)
    deciding: dict[str, set[str]] = defaultdict(set)
    for influence in flow.influences:
        if influence.from_id in columns:
            column, how = columns[influence.from_id], influence.properties.get("transformation", "")
            text = f"{column.qualified_name} ({how})"
            deciding[dataset_of(influence.from_id)].add(text)
    kinds = classes.DatasetLineageTypeClass
    kind = kinds.VIEW if vertex.label == "view" else kinds.TRANSFORMED
    return [
        classes.UpstreamClass(
            dataset=names.dataset(source), type=kind, properties=_properties(feeds[source], deciding[source])
        )
        for source in sorted(feeds)
    ]


def _properties(edges: list[Edge], deciding: set[str]) -> dict[str, str]:
    """Return the properties of an upstream.

    They include the columns that determine rows: DataHub has no lineage from a column to a whole dataset.
    """
    facts = {
        "jobs": {edge.job for edge in edges},
        "via": {edge.properties.get("via", "") for edge in edges},
        "operations": {edge.properties.get("operations", "") for edge in edges},
        "declared": {declaration(edge) for edge in edges},
        "rows decided by": deciding,
    }
    return {name: ", ".join(sorted(values - {""})) for name, values in facts.items() if values - {""}}
