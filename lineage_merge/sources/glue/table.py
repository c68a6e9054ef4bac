"""Interpretation of Glue's table descriptions, as written by crawlers, Athena, Spark and Iceberg."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lineage_merge.column_lineage.data_types import type_of_json
from lineage_merge.sources.json_values import as_mapping

Description = Mapping[str, Any]

# Where Spark stores the schema and provider of a table that Hive could not read.
_SCHEMA = "spark.sql.sources.schema"
_PROVIDER = "spark.sql.sources.provider"
# The placeholder location that Spark then sets; the actual path is a storage property.
_PLACEHOLDER = "-__PLACEHOLDER__"
_TABLE_FORMATS = frozenset({"iceberg", "delta", "hudi"})
# What crawlers and EMR write where no owner is known.
_PLACEHOLDER_OWNERS = frozenset({"owner", "hadoop"})
_STABLE = ("compressionType", "has_encrypted_data", "projection.enabled", "typeOfData")
_MAX_VALUE = 200
_FORMATS = ("parquet", "orc", "avro", "json", "opencsv", "text")


class TableColumn(NamedTuple):
    """A column of a catalog table."""

    name: str
    data_type: str = ""
    description: str = ""


def is_view(table: Description) -> bool:
    return "VIEW" in str(table.get("TableType") or "").upper()


def is_link(table: Description) -> bool:
    """Return whether a table is a link to a table of another catalog or database."""
    return isinstance(table.get("TargetTable"), Mapping)


def location(table: Description) -> str:
    """Return where the table's data is stored, as written; "" without a location."""
    storage = as_mapping(table.get("StorageDescriptor"))
    written = str(storage.get("Location") or "").strip()
    if not written or written.rstrip("/").endswith(_PLACEHOLDER):
        path = as_mapping(as_mapping(storage.get("SerdeInfo")).get("Parameters")).get("path")
        written = str(path or "").strip()
    # The path of an Iceberg table is the parent folder of its metadata.
    return written or str(_parameters(table).get("metadata_location") or "").strip()


def data_format(table: Description) -> str:
    """Return ``parquet``, ``iceberg``; "" if unknown."""
    parameters = _parameters(table)
    kind = str(parameters.get("table_type") or "").lower()
    if kind in _TABLE_FORMATS:
        return kind
    provider = str(parameters.get(_PROVIDER) or "").lower()
    if provider and provider != "hive":
        return provider
    classification = str(parameters.get("classification") or "").lower()
    if classification and classification != "unknown":
        return classification
    storage = as_mapping(table.get("StorageDescriptor"))
    library = str(as_mapping(storage.get("SerdeInfo")).get("SerializationLibrary") or "")
    classes = f"{library} {storage.get('InputFormat') or ''}".lower()
    serde_format = next((format_ for format_ in _FORMATS if format_ in classes), "")
    return "csv" if serde_format == "opencsv" else serde_format


def owners(table: Description) -> tuple[str, ...]:
    """Return the owner of a table and the one in its parameters, without placeholders of crawlers and EMR."""
    stated = (str(owner or "").strip() for owner in (table.get("Owner"), _parameters(table).get("owner")))
    return tuple(sorted({owner for owner in stated if owner and owner.lower() not in _PLACEHOLDER_OWNERS}))


def custom_metadata(table: Description) -> str:
    """Return selected parameters as JSON, "" without any.

    Only parameters that do not change with every run: others have row counts, times and metadata files.
    """
    parameters = _parameters(table)
    stable = {name: str(parameters[name])[:_MAX_VALUE] for name in _STABLE if parameters.get(name)}
    return json.dumps(stable, ensure_ascii=False, sort_keys=True) if stable else ""


def columns(table: Description) -> tuple[TableColumn, ...]:
    """Return the columns in order, partition columns last."""
    of_spark = tuple(_columns_of_spark(_parameters(table)))
    if of_spark:
        return of_spark
    storage = as_mapping(table.get("StorageDescriptor"))
    listed = [*(storage.get("Columns") or ()), *(table.get("PartitionKeys") or ())]
    # Iceberg lists the columns of older schemas too, and its own partition columns twice.
    columns: dict[str, TableColumn] = {}
    for document in listed:
        is_past = as_mapping(document.get("Parameters")).get("iceberg.field.current") == "false"
        name = str(document.get("Name") or "")
        if name and not is_past:
            column = TableColumn(name, str(document.get("Type") or ""), str(document.get("Comment") or ""))
            columns.setdefault(name.lower(), column)
    return tuple(columns.values())


def _columns_of_spark(parameters: Description) -> Iterator[TableColumn]:
    count = str(parameters.get(f"{_SCHEMA}.numParts") or "")
    # Catalog properties are limited in length: Spark splits the schema into parts.
    parts = range(int(count)) if _number(count) else ()
    text = "".join(str(parameters.get(f"{_SCHEMA}.part.{part}") or "") for part in parts)
    try:
        schema = json.loads(text or str(parameters.get(_SCHEMA) or "null"))
    except (ValueError, RecursionError):
        return
    for field in as_mapping(schema).get("fields") or ():
        name = as_mapping(field).get("name")
        if isinstance(name, str) and name:
            comment = as_mapping(field.get("metadata")).get("comment")
            yield TableColumn(name, type_of_json(field.get("type")), str(comment or ""))


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6


def _parameters(table: Description) -> Description:
    return as_mapping(table.get("Parameters"))
