"""Facets of datasets, see https://openlineage.io/docs/spec/facets."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from openlineage.client.facet_v2 import (
    DatasetFacet,
    column_lineage_dataset,
    dataset_type_dataset,
    datasource_dataset,
    documentation_dataset,
    ownership_dataset,
    schema_dataset,
    symlinks_dataset,
    tags_dataset,
)

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.exporters.graph_batches import DatasetSchema, Flow
from lineage_merge.graph_format.elements import Edge, Vertex, name_parts
from lineage_merge.model.elements import FIELD, column_of, dataset_of, dot_path, structures_of
from lineage_merge.model.version import PRODUCER_URN, __version__

# The specification requires a URI.
PRODUCER = f"{PRODUCER_URN}{__version__}"

_DIRECT = {Transformation.IDENTITY.name, Transformation.TRANSFORMATION.name, Transformation.AGGREGATION.name}
# Kinds of dbt tables, which OpenLineage's types do not distinguish.
_KINDS = {"seed": ("TABLE", "SEED"), "snapshot": ("TABLE", "SNAPSHOT")}
_PATHS = frozenset({"s3", "gs", "abfss", "wasbs", "hdfs", "file", "dbfs", "viewfs"})
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"{}|\\^`]+")
# ``namespace|name (rule)``, the format of `aliases`.
_ALIAS = re.compile(r"(?P<namespace>[^|]+)\|(?P<name>.+) \([^()]*\)")


def make_dataset_facets(schema: DatasetSchema) -> dict[str, DatasetFacet]:
    """Return schema, type, description, other names, address, owners and tags, as far as they are known."""
    vertex = schema.dataset
    kind, subtype = _KINDS.get(vertex.label, (vertex.label.upper(), None))
    facets: dict[str, DatasetFacet] = {
        "datasetType": dataset_type_dataset.DatasetTypeDatasetFacet(
            datasetType=kind, subType=subtype, producer=PRODUCER
        )
    }
    if schema.columns:
        facets["schema"] = schema_dataset.SchemaDatasetFacet(
            fields=_fields(schema.columns), producer=PRODUCER
        )
    if vertex.properties.get("description"):
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(
            description=vertex.properties["description"], producer=PRODUCER
        )
    # Only tables behind a path. A path behind a warehouse table is a temporary directory, not a name.
    other_names = [
        symlinks_dataset.Identifier(match["namespace"], match["name"], "TABLE")
        for alias in vertex.properties.get("aliases", ())
        if (match := _ALIAS.fullmatch(alias)) and not _is_path(match["namespace"])
    ]
    if other_names:
        facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(identifiers=other_names, producer=PRODUCER)
    if _is_uri(url := vertex.properties.get("url", "")):  # of an exposure
        facets["dataSource"] = datasource_dataset.DatasourceDatasetFacet(
            name=vertex.name, uri=url, producer=PRODUCER
        )
    if vertex.properties.get("owners"):
        facets["ownership"] = ownership_dataset.OwnershipDatasetFacet(
            owners=[ownership_dataset.Owner(owner) for owner in vertex.properties["owners"]],
            producer=PRODUCER,
        )
    tags = [tags_dataset.TagsDatasetFacetFields(tag, "true") for tag in vertex.properties.get("tags", ())]
    tags += [
        tags_dataset.TagsDatasetFacetFields(tag, "true", field=name_field(column))
        for column in schema.columns
        for tag in column.properties.get("tags", ())
    ]
    if tags:
        facets["tags"] = tags_dataset.TagsDatasetFacet(tags=tags, producer=PRODUCER)
    return facets


def column_lineage(flow: Flow, columns: Mapping[str, Vertex]) -> DatasetFacet | None:
    """Return the source columns of each column, and those that determine rows (`dataset`); None: unknown.

    `columns`: the ends of the edges by id.
    """
    fields: dict[str, list[Any]] = defaultdict(list)
    for feed in flow.column_feeds:
        if feed.from_id in columns and feed.to_id in columns:
            fields[name_field(columns[feed.to_id])].append(_input(feed, columns[feed.from_id]))
    rows = [
        _input(influence, columns[influence.from_id])
        for influence in flow.influences
        if influence.from_id in columns
    ]
    if not fields and not rows:
        return None
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            name: column_lineage_dataset.Fields(inputFields=inputs) for name, inputs in sorted(fields.items())
        },
        dataset=rows,
        producer=PRODUCER,
    )


def name_field(column: Vertex) -> str:
    """Return the name of a column or field; of a part of a dashboard its id: titles need not be unique."""
    return dot_path(column_of(column.id)) if _is_shown(column) else column.qualified_name


def _is_shown(column: Vertex) -> bool:
    """Return whether a column is a visual of a dashboard, or a field of one."""
    return bool({"visual_id", "field_id"} & column.properties.keys())


def ends(flows: Iterable[Flow]) -> set[str]:
    """Return the ids of the columns that `column_lineage` needs."""
    fed = {end for flow in flows for feed in flow.column_feeds for end in (feed.from_id, feed.to_id)}
    return fed | {influence.from_id for flow in flows for influence in flow.influences}


def _input(edge: Edge, column: Vertex) -> Any:
    _, namespace, name = name_parts(dataset_of(column.id))
    return column_lineage_dataset.InputField(
        namespace=namespace,
        name=name,
        field=name_field(column),
        transformations=[
            column_lineage_dataset.Transformation(
                type="DIRECT" if subtype in _DIRECT else "INDIRECT",
                subtype=subtype,
                description=edge.properties.get("expression"),
            )
            for subtype in edge.properties.get("transformation", "").split(",")
            if subtype
        ],
    )


def _fields(columns: Iterable[Vertex]) -> list[Any]:
    """Return the columns, each with its fields (`fields`), which follow it."""
    top: list[Any] = []
    by_id: dict[str, Any] = {}
    for column in columns:
        structure = next(
            (by_id[identifier] for identifier in reversed(structures_of(column.id)) if identifier in by_id),
            None,
        )
        if structure is not None and structure.fields is None:
            structure.fields = []
        siblings = top if structure is None else structure.fields
        by_id[column.id] = schema_dataset.SchemaDatasetFacetFields(
            name=column_of(column.id).rpartition(FIELD)[2] if _is_shown(column) else column.name,
            type=column.properties.get("data_type"),
            description=column.name if _is_shown(column) else column.properties.get("description"),
            ordinal_position=len(siblings) + 1,
        )
        siblings.append(by_id[column.id])
    return top


def _is_uri(text: str) -> bool:
    """Return whether a text is a URI, which the specification requires of an address."""
    return _URI.fullmatch(text) is not None


def _is_path(namespace: str) -> bool:
    return namespace.partition("://")[0] in _PATHS


def moment(at: datetime) -> str:
    """Return the time of an event."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
