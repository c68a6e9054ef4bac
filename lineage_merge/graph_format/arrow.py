"""Parquet files of nodes and edges through pyarrow, without Spark."""

from collections.abc import Collection, Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.arrow_tables import positions_of

# Bytes that are parsed at a time, and at most.
_BLOCK = 1 << 20
_LARGEST_BLOCK = 1 << 28


def has_pyarrow() -> bool:
    """Return whether this process can read and write Parquet without Spark."""
    return find_spec("pyarrow") is not None


def arrow_schema(ddl: str, without: Collection[str] = ()) -> Any:
    """Return a Spark schema (`schema.node_ddl`, `edge_ddl`) as that of Arrow, without some columns."""
    import pyarrow as pa

    types = {"string": pa.string(), "bigint": pa.int64(), "array<string>": pa.list_(pa.string())}
    columns = (column.split() for column in ddl.split(", "))
    named = ((name.strip("`"), types[declared]) for name, declared in columns)
    return pa.schema([(name, kind) for name, kind in named if name not in without])


def write_parquet(
    file: Path, table: Any, schema: Any, compression: str = "snappy", group_rows: int | None = None
) -> None:
    """Write a table as one file with the columns of a schema: others are omitted, missing ones unknown."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [
        table[field.name].cast(field.type)  # of a dictionary, each group of rows would have all
        if field.name in table.column_names
        else pa.nulls(len(table), field.type)
        for field in schema
    ]
    complete = pa.table(columns, schema=schema)
    pq.write_table(complete, file, compression=compression, row_group_size=group_rows)


def table_of_parquet(content: bytes, schema: Any) -> Any:
    """Return the columns of a Parquet file that a schema has, texts by dictionary, except ids.

    Raises `ArrowException` or `OSError` for an invalid file, or a column of another type.
    """
    import pyarrow as pa
    from pyarrow import parquet

    encoded = pa.dictionary(pa.int32(), pa.string())
    opened = parquet.ParquetFile(BytesIO(content))
    stored = {field.name: field.type for field in opened.schema_arrow}
    known = [
        field.with_type(encoded) if field.type == pa.string() and field.name != "id" else field
        for field in schema
        if field.name in stored
    ]
    texts = [field.name for field in known if field.type == encoded and not stored[field.name].num_fields]
    file = parquet.ParquetFile(BytesIO(content), metadata=opened.metadata, read_dictionary=texts)
    return file.read([field.name for field in known]).cast(pa.schema(known))


def table_of_lines(content: bytes, schema: Any) -> Any:
    """Return JSON lines as a table of a schema; other fields are ignored.

    Raises `ArrowException` or `ValueError` for an invalid line, or a value of another type.
    """
    from pyarrow import json

    content.decode()  # Arrow does not check it
    if not content.strip():
        return schema.empty_table()
    # A block has whole lines only.
    reading = json.ReadOptions(block_size=max(_BLOCK, min(len(content) + 1, _LARGEST_BLOCK)))
    parsing = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return json.read_json(BytesIO(content), read_options=reading, parse_options=parsing).select(schema.names)


def rows_of_table(table: Any) -> Iterator[Row]:
    """Yield the rows of a table without unknown values; equal texts are one object."""
    names = [name for name in table.column_names if table[name].null_count < len(table)]
    for values in zip(*(_values(table[name]) for name in names), strict=True):
        yield {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _values(column: Any) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        encoded = column.unify_dictionaries().combine_chunks()
        if len(encoded.dictionary) > len(encoded):  # a few rows of many
            encoded = encoded.dictionary_decode().dictionary_encode()
    elif pa.types.is_string(column.type):
        # Not a Python object per row.
        encoded = column.combine_chunks().dictionary_encode()
    else:
        values: list[Any] = column.to_pylist()
        return values
    texts = [*encoded.dictionary.to_pylist(), None]
    return [texts[index] for index in positions_of(encoded.indices.fill_null(len(texts) - 1))]
