"""DataHub column types of the platforms' SQL types."""

import re

from datahub.metadata.schema_classes import (
    ArrayTypeClass,
    BooleanTypeClass,
    BytesTypeClass,
    DateTypeClass,
    MapTypeClass,
    NullTypeClass,
    NumberTypeClass,
    RecordTypeClass,
    SchemaFieldDataTypeClass,
    StringTypeClass,
    TimeTypeClass,
)

# The library has one table of SQL types for all platforms, in which `timestamp` is bytes as in SQL Server.
_WORDS = {
    ArrayTypeClass: "array list",
    BooleanTypeClass: "bool boolean bit",
    BytesTypeClass: "binary varbinary varbyte bytea bytes blob raw image",
    DateTypeClass: "date",
    MapTypeClass: "map",
    NumberTypeClass: "tinyint byte smallint short int integer bigint long hugeint int2 int4 int8 int64 float "
    "float4 float8 float64 real double decimal numeric number money smallmoney bignumeric serial bigserial",
    RecordTypeClass: "struct record row object variant super json jsonb",
    StringTypeClass: "string char character varchar nchar nvarchar bpchar text ntext clob uuid "
    "varchar2 nvarchar2 enum xml geometry geography",
    TimeTypeClass: "time timetz timestamp timestamptz timestamp_ltz timestamp_ntz timestamp_tz datetime "
    "datetime2 smalldatetime datetimeoffset interval",
}
_CLASSES = {word: kind for kind, words in _WORDS.items() for word in words.split()}


def data_type(written: str) -> SchemaFieldDataTypeClass:
    """Return the type of ``decimal(8,2)``, ``array<string>``, ``TIMESTAMP WITH TIME ZONE``; or NullType."""
    word = re.match(r"\w*", written.strip().lower())
    kind = _CLASSES.get(word[0] if word else "", NullTypeClass)
    return SchemaFieldDataTypeClass(type=kind())
