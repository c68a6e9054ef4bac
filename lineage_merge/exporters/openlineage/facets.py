"""Facets of datasets: what OpenLineage can be told of one. https://openlineage.io/docs/spec/facets"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from openlineage.client.facet_v2 import (
    DatasetFacet,
    column_lineage_dataset,
    dataset_type_dataset,
    documentation_dataset,
    schema_dataset,
    symlinks_dataset,
    tags_dataset,
)

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.exporters.graph_batches import CatalogRecord, Flow
from lineage_merge.model.version import __version__
from lineage_merge.query.elements import Edge, Vertex, dataset_of, name_parts

# A URI, as the specification wants it, that is nobody's address.
PRODUCER = f"urn:lineage-merge:{__version__}"

_DIRECT = {Transformation.IDENTITY.name, Transformation.TRANSFORMATION.name, Transformation.AGGREGATION.name}
# What dbt makes of a table, which OpenLineage's types do not tell apart.
_KINDS = {"seed": ("TABLE", "SEED"), "snapshot": ("TABLE", "SNAPSHOT")}
_PATHS = frozenset({"s3", "gs", "abfss", "wasbs", "hdfs", "file", "dbfs", "viewfs"})
# ``namespace|name (rule)``, as `aliases` has them.
_ALIAS = re.compile(r"(?P<namespace>[^|]+)\|(?P<name>.+) \([^()]*\)")


def of_dataset(described: CatalogRecord) -> dict[str, DatasetFacet]:
    """Schema, type, description, other names and tags, of those that are known."""
    vertex = described.dataset
    kind, subtype = _KINDS.get(vertex.label, (vertex.label.upper(), None))
    facets: dict[str, DatasetFacet] = {
        "datasetType": dataset_type_dataset.DatasetTypeDatasetFacet(
            datasetType=kind, subType=subtype, producer=PRODUCER
        )
    }
    if described.columns:
        facets["schema"] = schema_dataset.SchemaDatasetFacet(
            fields=[_field(each, place) for place, each in enumerate(described.columns, 1)],
            producer=PRODUCER,
        )
    if vertex.properties.get("description"):
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(
            description=vertex.properties["description"], producer=PRODUCER
        )
    # Tables behind a path. A path behind a table of a warehouse was on the way only, and is nobody's name.
    other_names = [
        symlinks_dataset.Identifier(found["namespace"], found["name"], "TABLE")
        for alias in vertex.properties.get("aliases", ())
        if (found := _ALIAS.fullmatch(alias)) and not _is_path(found["namespace"])
    ]
    if other_names:
        facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(identifiers=other_names, producer=PRODUCER)
    if vertex.properties.get("tags"):
        facets["tags"] = tags_dataset.TagsDatasetFacet(
            tags=[tags_dataset.TagsDatasetFacetFields(tag, "true") for tag in vertex.properties["tags"]],
            producer=PRODUCER,
        )
    return facets


def column_lineage(flow: Flow, columns: Mapping[str, Vertex]) -> DatasetFacet | None:
    """Which columns a dataset's are made of, and which decide on its rows (`dataset`); None: not known.

    `columns` has the ends of the edges by id.
    """
    fields: dict[str, list[Any]] = defaultdict(list)
    for each in flow.made_of:
        if each.from_id in columns and each.to_id in columns:
            fields[columns[each.to_id].name].append(_input(each, columns[each.from_id]))
    rows = [_input(each, columns[each.from_id]) for each in flow.influences if each.from_id in columns]
    if not fields and not rows:
        return None
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            name: column_lineage_dataset.Fields(inputFields=inputs) for name, inputs in sorted(fields.items())
        },
        dataset=rows,
        producer=PRODUCER,
    )


def ends(flows: Iterable[Flow]) -> set[str]:
    """The ids of the columns that `column_lineage` wants to know."""
    made = {end for flow in flows for each in flow.made_of for end in (each.from_id, each.to_id)}
    return made | {each.from_id for flow in flows for each in flow.influences}


def _input(edge: Edge, column: Vertex) -> Any:
    _, namespace, name = name_parts(dataset_of(column.id))
    return column_lineage_dataset.InputField(
        namespace=namespace,
        name=name,
        field=column.name,
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


def _field(column: Vertex, place: int) -> Any:
    return schema_dataset.SchemaDatasetFacetFields(
        name=column.name,
        type=column.properties.get("data_type"),
        description=column.properties.get("description"),
        ordinal_position=place,
    )


def _is_path(namespace: str) -> bool:
    return namespace.partition("://")[0] in _PATHS
