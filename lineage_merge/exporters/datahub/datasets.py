"""What DataHub is told of a dataset, and of an exposure."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from datahub.emitter import mce_builder
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    AuditStampClass,
    ChangeAuditStampsClass,
    DashboardInfoClass,
    DataPlatformInstanceClass,
    DatasetLineageTypeClass,
    DatasetPropertiesClass,
    MetadataChangeProposalClass,
    OtherSchemaClass,
    SchemaFieldClass,
    SchemaMetadataClass,
    StatusClass,
    SubTypesClass,
    TagAssociationClass,
    UpstreamClass,
    UpstreamLineageClass,
)
from datahub.specific.dataset import DatasetPatchBuilder

from lineage_merge.exporters.datahub.fields import aspects, fine_grained
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.datahub.types import data_type
from lineage_merge.exporters.graph_batches import CatalogRecord, Dataset, Flow
from lineage_merge.query.elements import Edge, Vertex, dataset_of, name_parts
from lineage_merge.sources.dbt.jobs import unique_id_of

_SUBTYPES = {
    "file": "File",
    "table": "Table",
    "view": "View",
    "topic": "Topic",
    "seed": "Seed",
    "snapshot": "Snapshot",
}
# Properties that DataHub has no place of its own for.
_CUSTOM = ("environment", "dag_name", "location", "format", "aliases")


def about(
    names: Names, described: CatalogRecord
) -> Iterator[MetadataChangeProposalWrapper | MetadataChangeProposalClass]:
    """What it is: properties, kind, columns where they are known, tags.

    Tags are added to those that it has: people give tags in DataHub too.
    """
    vertex = described.dataset
    urn = names.dataset(vertex.id)
    held = vertex.properties
    values: list[Any] = [
        DatasetPropertiesClass(
            name=vertex.name,
            qualifiedName=held.get("qualified_name"),
            description=held.get("description"),
            customProperties=_custom(vertex),
        ),
        SubTypesClass(typeNames=[_SUBTYPES.get(vertex.label, vertex.label.title())]),
    ]
    if described.columns:
        values.append(_schema(names, described))
    yield from aspects(urn, values)
    if held.get("tags"):
        patch = DatasetPatchBuilder(urn)
        for tag in held["tags"]:
            patch.add_tag(TagAssociationClass(mce_builder.make_tag_urn(tag)))
        yield from patch.build()


def lineage(
    names: Names, dataset: Dataset, columns: Mapping[str, Vertex]
) -> Iterator[MetadataChangeProposalWrapper]:
    """That it exists, its platform instance, and what feeds it and its columns, by whichever job.

    `columns`: those of other datasets that these are made of. A dataset that nothing feeds is told
    without upstreams: DataHub's other sources may know some.
    """
    vertex = dataset.described.dataset
    urn = names.dataset(vertex.id)
    values: list[Any] = [StatusClass(removed=False)]
    _, namespace, name = name_parts(vertex.id)
    found = names.of_dataset(namespace, name)
    if found.instance:
        platform = mce_builder.make_data_platform_urn(found.platform)
        instance = mce_builder.make_dataplatform_instance_urn(found.platform, found.instance)
        values.append(DataPlatformInstanceClass(platform=platform, instance=instance))
    if dataset.flow.feeds:
        known = {**columns, **{each.id: each for each in dataset.described.columns}}
        values.append(
            UpstreamLineageClass(
                upstreams=_upstreams(names, vertex, dataset.flow, known),
                fineGrainedLineages=fine_grained(names, dataset.flow.made_of, known) or None,
            )
        )
    yield from aspects(urn, values)


def exposure(names: Names, dataset: Dataset) -> Iterator[MetadataChangeProposalWrapper]:
    """What uses dbt's models, as a dashboard, which is what DataHub's dbt source makes of it."""
    vertex = dataset.described.dataset
    # Nothing else in the graph holds dbt's unique id.
    for unique_id in sorted({unique_id_of(each.job) for each in dataset.flow.feeds}):
        never = AuditStampClass(time=0, actor="urn:li:corpuser:unknown")
        yield from aspects(
            names.exposure(unique_id),
            [
                DashboardInfoClass(
                    title=vertex.name,
                    description=vertex.properties.get("description", ""),
                    customProperties=_custom(vertex),
                    lastModified=ChangeAuditStampsClass(created=never, lastModified=never),
                    datasets=[names.dataset(each) for each in dataset.flow.sources],
                ),
                StatusClass(removed=False),
            ],
        )


def _custom(vertex: Vertex) -> dict[str, str]:
    held = ((name, vertex.properties.get(name)) for name in _CUSTOM)
    return {
        name: ", ".join(value) if isinstance(value, tuple) else str(value) for name, value in held if value
    }


def _schema(names: Names, described: CatalogRecord) -> SchemaMetadataClass:
    _, namespace, name = name_parts(described.dataset.id)
    platform = names.of_dataset(namespace, name).platform
    return SchemaMetadataClass(
        schemaName=described.dataset.title,
        platform=mce_builder.make_data_platform_urn(platform),
        version=0,
        hash="",
        platformSchema=OtherSchemaClass(rawSchema=""),
        fields=[
            SchemaFieldClass(
                fieldPath=column.name,
                type=data_type(str(column.properties.get("data_type", ""))),
                nativeDataType=str(column.properties.get("data_type", "")),
                description=column.properties.get("description"),
                nullable=True,  # nobody said that it is not
            )
            for column in described.columns
        ],
    )


def _upstreams(
    names: Names, vertex: Vertex, flow: Flow, columns: Mapping[str, Vertex]
) -> list[UpstreamClass]:
    feeds: dict[str, list[Edge]] = defaultdict(list)
    for each in flow.feeds:
        feeds[each.from_id].append(each)
    deciding: dict[str, set[str]] = defaultdict(set)
    for each in flow.influences:
        if each.from_id in columns:
            said = f"{columns[each.from_id].name} ({each.properties.get('transformation', '')})"
            deciding[dataset_of(each.from_id)].add(said)
    kind = DatasetLineageTypeClass.VIEW if vertex.label == "view" else DatasetLineageTypeClass.TRANSFORMED
    return [
        UpstreamClass(
            dataset=names.dataset(source),
            type=kind,
            properties=_properties(feeds[source], deciding[source]),
        )
        for source in sorted(feeds)
    ]


def _properties(edges: list[Edge], deciding: set[str]) -> dict[str, str]:
    """What DataHub shows of an upstream. It has no lineage from a column to a whole dataset, so that
    which columns decide on rows (`influences`) is told here."""
    told = {
        "jobs": {each.job for each in edges},
        "via": {each.properties.get("via", "") for each in edges},
        "operations": {each.properties.get("operations", "") for each in edges},
        "rows decided by": deciding,
    }
    return {name: ", ".join(sorted(values - {""})) for name, values in told.items() if values - {""}}
