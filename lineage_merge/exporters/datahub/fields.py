"""Aspects of DataHub that entities share: column lineage, types, custom properties, owners and tags."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from datahub.emitter import mce_builder
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata import schema_classes as classes
from datahub.specific.chart import ChartPatchBuilder
from datahub.specific.dashboard import DashboardPatchBuilder
from datahub.specific.datajob import DataJobPatchBuilder
from datahub.specific.dataset import DatasetPatchBuilder

from lineage_merge.exporters.datahub.names import Names
from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.model.elements import decode, structures_of
from lineage_merge.questions.formats.describe import declaration

# The graph does not contain who made a change; DataHub requires a user.
NO_USER = "urn:li:corpuser:unknown"

# Properties without an aspect in DataHub.
_CUSTOM_OF_DATASETS = tuple(
    """
    environment dag_name location format aliases group access contract version latest_version
    deprecation_date materialization file_path exposure_type maturity metric_type meta
    """.split()
)


def aspects(urn: str, values: Iterable[Any]) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield a proposal per aspect."""
    return (MetadataChangeProposalWrapper(entityUrn=urn, aspect=value) for value in values)


def custom_properties(vertex: Vertex) -> dict[str, str]:
    """Return the properties of a dataset that have no aspect in DataHub."""
    properties = ((name, vertex.properties.get(name)) for name in _CUSTOM_OF_DATASETS)
    return {
        name: ", ".join(value) if isinstance(value, tuple) else str(value)
        for name, value in properties
        if value
    }


def fine_grained(
    names: Names, edges: Iterable[Edge], columns: Mapping[str, Vertex]
) -> list[classes.FineGrainedLineageClass]:
    """Return the source columns per column and operation.

    `columns`: the ends of the edges by id, with their structures and fields; edges without both ends are
    omitted.
    """
    paths = FieldPaths(columns.values())
    sources_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for edge in edges:
        if edge.from_id in columns and edge.to_id in columns:
            source, target = (
                names.column(columns[end], paths.build_path(columns[end]))
                for end in (edge.from_id, edge.to_id)
            )
            sources_of[target, _operation(edge)].add(source)
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
    held = edge.properties
    parts = (held.get("transformation", ""), held.get("expression", ""), declaration(edge))
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


# DataHub's names of types in paths, by its classes.
_TOKENS = {
    classes.BooleanTypeClass: "boolean",
    classes.BytesTypeClass: "bytes",
    classes.DateTypeClass: "int",
    classes.NullTypeClass: "null",
    classes.NumberTypeClass: "double",
    classes.StringTypeClass: "string",
    classes.TimeTypeClass: "long",
}
_NUMBERS = {"bigint": "long", "long": "long", "float": "float", "real": "float", "decimal": "bytes"}
_INTEGERS = frozenset({"tinyint", "byte", "smallint", "short", "int", "integer", "int2", "int4"})
_NESTED = re.compile(r"(array|map)\s*<(?:[^<>,]*,)?\s*")


class FieldPaths:
    """Paths of columns in DataHub (version 2), as its sources of Hive and Glue have them.

    Only fields and the columns that have fields have types in their paths; others are plain names.
    """

    def __init__(self, columns: Iterable[Vertex]) -> None:
        self._columns = {column.id: column for column in columns}
        self._structures = {structure for column in self._columns for structure in structures_of(column)}

    def build_path(self, column: Vertex) -> str:
        """Return ``[version=2.0].[type=struct].[type=struct].address.[type=string].city``."""
        above = structures_of(column.id)
        if not above and column.id not in self._structures:
            return column.name
        parts = (self._part(identifier) for identifier in (*above, column.id))
        return ".".join(("[version=2.0].[type=struct]", *parts))

    def _part(self, identifier: str) -> str:
        column = self._columns.get(identifier)
        written = str(column.properties.get("data_type", "")) if column else ""
        name = column.name if column else decode(identifier.rpartition("|")[2])
        tokens = ".".join(
            f"[type={token}]" for token in self._tokens(written, identifier in self._structures)
        )
        return f"{tokens}.{name}"

    def _tokens(self, written: str, has_fields: bool) -> list[str]:
        tokens = []
        rest = written.strip().lower()
        while match := _NESTED.match(rest):
            tokens.append(match[1])
            rest = rest[match.end() :]
        if has_fields:
            return [*tokens, "struct"]
        word = re.match(r"\w*", rest)
        name = word[0] if word else ""
        kind = type(data_type(rest).type)
        token = "int" if name in _INTEGERS else _NUMBERS.get(name) or _TOKENS.get(kind, "struct")
        return [*tokens, token]


def add_owners_and_tags(
    names: Names,
    patch: DatasetPatchBuilder | ChartPatchBuilder | DashboardPatchBuilder | DataJobPatchBuilder,
    vertex: Vertex,
) -> None:
    """Add the owners and tags of a vertex to a patch of its entity."""
    for owner in vertex.properties.get("owners", ()):
        patch.add_owner(classes.OwnerClass(owner=names.owner(owner), type=names.owner_type))
    for tag in vertex.properties.get("tags", ()):
        patch.add_tag(tag_of(tag))


def tag_of(name: str) -> classes.TagAssociationClass:
    """Return DataHub's reference to a tag."""
    return classes.TagAssociationClass(mce_builder.make_tag_urn(name))
