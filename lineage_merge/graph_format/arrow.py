"""Parquet files of nodes and edges through pyarrow, without Spark."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from lineage_merge.graph_format.schema import Row


def arrow_schema(ddl: str, without: Collection[str] = ()) -> Any:
    """Return a Spark schema (`schema.node_ddl`, `edge_ddl`) as that of Arrow, without some columns."""
    import pyarrow as pa

    types = {"string": pa.string(), "bigint": pa.int64(), "array<string>": pa.list_(pa.string())}
    columns = (each.split() for each in ddl.split(", "))
    named = ((name.strip("`"), types[declared]) for name, declared in columns)
    return pa.schema([(name, kind) for name, kind in named if name not in without])


def write_parquet(
    file: Path, rows: Iterable[Row], schema: Any, compression: str = "snappy", group_rows: int | None = None
) -> None:
    """Write rows as one file; columns that the schema does not have are omitted."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(list(rows), schema)
    pq.write_table(table, file, compression=compression, row_group_size=group_rows)
