"""Aspects of DataHub that datasets and jobs share: column lineage, types, owners and tags."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from datahub.emitter import mce_builder
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata import schema_classes as classes
from datahub.specific.dashboard import DashboardPatchBuilder
from datahub.specific.datajob import DataJobPatchBuilder
from datahub.specific.dataset import DatasetPatchBuilder

from lineage_merge.exporters.datahub.names import Names
from lineage_merge.graph_format.elements import Edge, Vertex

# The graph does not contain who made a change; DataHub requires a user.
NO_USER = "urn:li:corpuser:unknown"


def aspects(urn: str, values: Iterable[Any]) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield a proposal per aspect."""
    return (MetadataChangeProposalWrapper(entityUrn=urn, aspect=value) for value in values)


def fine_grained(
    names: Names, edges: Iterable[Edge], columns: Mapping[str, Vertex]
) -> list[classes.FineGrainedLineageClass]:
    """Return the source columns per column and operation.

    `columns`: the ends of the edges by id; edges without both are omitted.
    """
    sources_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for edge in edges:
        if edge.from_id in columns and edge.to_id in columns:
            target = names.column(columns[edge.to_id])
            sources_of[target, _operation(edge)].add(names.column(columns[edge.from_id]))
    return [
        classes.FineGrainedLineageClass(
            upstreamType=classes.FineGrainedLineageUpstreamTypeClass.FIELD_SET,
            downstreamType=classes.FineGrainedLineageDownstreamTypeClass.FIELD,
            upstreams=sorted(sources),
            downstreams=[target],
            transformOperation=operation or None,
        )
        for (target, operation), sources in sorted(sources_of.items())
    ]


def _operation(edge: Edge) -> str:
    """``AGGREGATION: sum(pricepaid)``."""
    parts = (edge.properties.get("transformation", ""), edge.properties.get("expression", ""))
    return ": ".join(part for part in parts if part)


# The library has one table of SQL types for all platforms, in which `timestamp` is bytes as in SQL Server.
_WORDS = {
    classes.ArrayTypeClass: "array list",
    classes.BooleanTypeClass: "bool boolean bit",
    classes.BytesTypeClass: "binary varbinary varbyte bytea bytes blob raw image",
    classes.DateTypeClass: "date",
    classes.MapTypeClass: "map",
    classes.NumberTypeClass: "tinyint byte smallint short int integer bigint long hugeint int2 int4 "
    "int8 int64 float float4 float8 float64 real double decimal numeric number money smallmoney "
    "bignumeric serial bigserial",
    classes.RecordTypeClass: "struct record row object variant super json jsonb",
    classes.StringTypeClass: "string char character varchar nchar nvarchar bpchar text ntext clob uuid "
    "varchar2 nvarchar2 enum xml geometry geography",
    classes.TimeTypeClass: "time timetz timestamp timestamptz timestamp_ltz timestamp_ntz timestamp_tz "
    "datetime datetime2 smalldatetime datetimeoffset interval",
}
_CLASSES = {word: kind for kind, words in _WORDS.items() for word in words.split()}


def data_type(written: str) -> classes.SchemaFieldDataTypeClass:
    """Return the type of ``decimal(8,2)``, ``array<string>``, ``TIMESTAMP WITH TIME ZONE``; or NullType."""
    word = re.match(r"\w*", written.strip().lower())
    kind = _CLASSES.get(word[0] if word else "", classes.NullTypeClass)
    return classes.SchemaFieldDataTypeClass(type=kind())


def add_owners_and_tags(
    names: Names, patch: DatasetPatchBuilder | DashboardPatchBuilder | DataJobPatchBuilder, vertex: Vertex
) -> None:
    """Add the owners and tags of a vertex to a patch of its entity."""
    for owner in vertex.properties.get("owners", ()):
        patch.add_owner(classes.OwnerClass(owner=names.owner(owner), type=names.owner_type))
    for tag in vertex.properties.get("tags", ()):
        patch.add_tag(tag_of(tag))


def tag_of(name: str) -> classes.TagAssociationClass:
    """Return DataHub's reference to a tag."""
    return classes.TagAssociationClass(mce_builder.make_tag_urn(name))
