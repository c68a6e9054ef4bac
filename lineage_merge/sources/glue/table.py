"""What Glue's description of a table means, whoever wrote it: a crawler, Athena, Spark, Iceberg."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Description = Mapping[str, Any]

# Where Spark keeps the schema and the provider of a table that Hive could not read.
_SCHEMA = "spark.sql.sources.schema"
_PROVIDER = "spark.sql.sources.provider"
# What Spark then leaves as the location; the path itself is a property of the storage.
_PLACEHOLDER = "-__PLACEHOLDER__"
_TABLE_FORMATS = frozenset({"iceberg", "delta", "hudi"})
_FORMATS = ("parquet", "orc", "avro", "json", "opencsv", "text")


class TableColumn(NamedTuple):
    """A column as the catalog lists it."""

    name: str
    data_type: str = ""
    description: str = ""


def is_view(table: Description) -> bool:
    return "VIEW" in str(table.get("TableType") or "").upper()


def is_link(table: Description) -> bool:
    """Whether it is only another name for a table of another catalog or database."""
    return isinstance(table.get("TargetTable"), Mapping)


def location(table: Description) -> str:
    """Where the table's data lies, as written; "" where nothing is written."""
    storage = _mapping(table.get("StorageDescriptor"))
    written = str(storage.get("Location") or "").strip()
    if not written or written.rstrip("/").endswith(_PLACEHOLDER):
        path = _mapping(_mapping(storage.get("SerdeInfo")).get("Parameters")).get("path")
        written = str(path or "").strip()
    # The path of an Iceberg table is the folder above its metadata.
    return written or str(_parameters(table).get("metadata_location") or "").strip()


def data_format(table: Description) -> str:
    """``parquet``, ``iceberg``; "" where it is not told."""
    parameters = _parameters(table)
    kind = str(parameters.get("table_type") or "").lower()
    if kind in _TABLE_FORMATS:
        return kind
    provider = str(parameters.get(_PROVIDER) or "").lower()
    if provider and provider != "hive":
        return provider
    told = str(parameters.get("classification") or "").lower()
    if told and told != "unknown":
        return told
    storage = _mapping(table.get("StorageDescriptor"))
    library = str(_mapping(storage.get("SerdeInfo")).get("SerializationLibrary") or "")
    classes = f"{library} {storage.get('InputFormat') or ''}".lower()
    found = next((each for each in _FORMATS if each in classes), "")
    return "csv" if found == "opencsv" else found


def columns(table: Description) -> tuple[TableColumn, ...]:
    """The columns in their order, those that partition the table last."""
    of_spark = tuple(_columns_of_spark(_parameters(table)))
    if of_spark:
        return of_spark
    storage = _mapping(table.get("StorageDescriptor"))
    listed = [*(storage.get("Columns") or ()), *(table.get("PartitionKeys") or ())]
    # Iceberg lists the columns of older schemas too, and partition columns of its own twice.
    found: dict[str, TableColumn] = {}
    for each in listed:
        is_past = _mapping(each.get("Parameters")).get("iceberg.field.current") == "false"
        name = str(each.get("Name") or "")
        if name and not is_past:
            column = TableColumn(name, str(each.get("Type") or ""), str(each.get("Comment") or ""))
            found.setdefault(name.lower(), column)
    return tuple(found.values())


def _columns_of_spark(parameters: Description) -> Iterator[TableColumn]:
    count = str(parameters.get(f"{_SCHEMA}.numParts") or "")
    # A catalog's property may not be long, so Spark cuts the schema in parts.
    parts = range(int(count)) if _number(count) else ()
    text = "".join(str(parameters.get(f"{_SCHEMA}.part.{part}") or "") for part in parts)
    try:
        schema = json.loads(text or str(parameters.get(_SCHEMA) or "null"))
    except (ValueError, RecursionError):
        return
    for each in _mapping(schema).get("fields") or ():
        name = _mapping(each).get("name")
        if isinstance(name, str) and name:
            comment = _mapping(each.get("metadata")).get("comment")
            yield TableColumn(name, _type_name(each.get("type")), str(comment or ""))


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6


def _type_name(kind: object) -> str:
    """A type of Spark's JSON as SQL writes it: ``array<struct<a:int>>``."""
    if isinstance(kind, str):
        return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(kind, kind)
    told = _mapping(kind)
    match told.get("type"):
        case "array":
            return f"array<{_type_name(told.get('elementType'))}>"
        case "map":
            return f"map<{_type_name(told.get('keyType'))},{_type_name(told.get('valueType'))}>"
        case "struct":
            fields = (_mapping(each) for each in told.get("fields") or ())
            parts = ",".join(f"{each.get('name')}:{_type_name(each.get('type'))}" for each in fields)
            return f"struct<{parts}>"
        case "udt":
            return _type_name(told.get("sqlType"))
    return ""


def _parameters(table: Description) -> Description:
    return _mapping(table.get("Parameters"))


def _mapping(value: object) -> Description:
    return value if isinstance(value, Mapping) else {}
