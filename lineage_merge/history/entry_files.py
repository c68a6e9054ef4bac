"""Parquet files of an entry: written by the engine's workers, read without Spark.

Rows of nodes are sorted by id, rows of edges by target, so that the statistics of row groups exclude most of
a file when a few elements are read. `edges_from` has the ends and the label of each edge, sorted by start.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.graph_format.arrow import arrow_schema, has_pyarrow, write_parquet
from lineage_merge.graph_format.columns import (
    NEEDS_PYARROW,
    ParquetColumns,
    concatenate,
    open_parquet,
    open_parquet_file,
)
from lineage_merge.graph_format.schema import Row, edge_ddl, node_ddl
from lineage_merge.history.fingerprints import Sums, add_sums, sums_of
from lineage_merge.history.layout import PARTITION_KEYS, Kind
from lineage_merge.infra import storage
from lineage_merge.infra.arrow_tables import table_of_rows
from lineage_merge.infra.batches import batched
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.errors import IntermediateError, SourceMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPRESSION = "zstd"
GROUP_ROWS = 4096
_DDL: Mapping[Kind, str] = {
    "nodes": node_ddl(),
    "runs": node_ddl(),
    "edges": edge_ddl(),
    "edges_from": "`from` string, `to` string, label string",
}
_SORTED_BY = {"nodes": "id", "runs": "id", "edges": "to"}
# Maximum rows per file, which a worker holds in memory.
FILE_ROWS = 500_000


class WrittenFile(NamedTuple):
    """The number of rows that were written, and their fingerprints; None: unknown."""

    rows: int
    sums: Sums | None = None


def write_rows(
    rows: Rows[Row], kind: Kind, folder: str, spark: "SparkSession | None" = None, *, by_start: str = ""
) -> WrittenFile:
    """Write rows below a folder, a file per partition. `by_start`: another one for `edges_from`.

    Each worker writes with pyarrow. Without pyarrow `spark` writes, nothing by start. Raises `SourceError`,
    and `IntermediateError` without either of the two.
    """
    if has_pyarrow():
        for each in filter(None, (folder, by_start)):
            storage.make_folder(each)
        with rows.engine.own_errors():
            write = partial(_write_partition, kind, folder, by_start)
            parts = rows.map_numbered_partitions(write).collect()
        return WrittenFile(sum(number for number, _ in parts), add_sums(sums for _, sums in parts))
    if spark is None:
        raise IntermediateError(f"{storage.redact_location(folder)}: {NEEDS_PYARROW}")
    from lineage_merge.graph_format import files

    return WrittenFile(files.write_columns(spark, folder, rows, _DDL[kind], PARTITION_KEYS, COMPRESSION))


def _write_partition(
    kind: Kind, folder: str, by_start: str, number: int, rows: Iterable[Row]
) -> Iterator[tuple[int, Sums]]:
    ordered = sorted(rows, key=lambda row: (row[_SORTED_BY[kind]], row["id"]))
    sums: list[Sums] = []
    for part_number, part in enumerate(batched(ordered, FILE_ROWS)):
        table = rows_as_table(part, kind)
        _write_file(table, kind, f"{folder}/part-{number:05}-{part_number:05}.parquet")
        sums.append(sums_of(table))
    if by_start and ordered:
        ends = rows_as_table(ordered, "edges_from")
        write_part(sort_by_start(ends), "edges_from", by_start, number)
    yield len(ordered), add_sums(sums)


def write_table(table: Any, kind: Kind, folder: str, *, by_start: str = "") -> WrittenFile:
    """Write the rows of a table, sorted as above, below a folder. `by_start`: another one for `edges_from`.

    Raises `SourceError`.
    """
    write_part(table, kind, folder)
    if by_start:
        write_part(sort_by_start(table), "edges_from", by_start)
    return WrittenFile(len(table), sums_of(table))


def write_part(table: Any, kind: Kind, folder: str, partition: int = 0) -> None:
    """Write the sorted rows of a partition below a folder. Raises `SourceError`."""
    storage.make_folder(folder)
    for number, start in enumerate(range(0, len(table), FILE_ROWS)):
        part = f"{folder}/part-{partition:05}-{number:05}.parquet"
        _write_file(table.slice(start, FILE_ROWS), kind, part)


def rows_as_table(rows: Sequence[Row], kind: Kind) -> Any:
    """Return rows as a table with the columns of a kind that a row has."""
    return table_of_rows(rows, _schema(kind))


def sort_table(table: Any, kind: Kind) -> Any:
    """Return rows in the order of their files: nodes by id, edges by target and id."""
    import pyarrow.compute as pc

    keys = [("id", "ascending")]
    if (first := _SORTED_BY[kind]) != "id" and len(table):
        table = table.append_column("_rank", _rank(table[first]))
        keys = [("_rank", "ascending"), *keys]
    ordered = table.take(pc.sort_indices(table, sort_keys=keys))
    return ordered.drop_columns(["_rank"]) if "_rank" in ordered.column_names else ordered


def _rank(column: Any) -> Any:
    """Return for each row the place of its text among all texts of a column, which has no unknown ones."""
    import pyarrow.compute as pc

    texts = concatenate(column.chunks, "from")
    ranks = pc.sort_indices(pc.sort_indices(texts.dictionary))  # fewer texts are compared than rows
    return ranks.take(texts.indices)


def sort_by_start(edges: Any) -> Any:
    """Return edges sorted by start; those with the same start remain in their order."""
    import pyarrow.compute as pc

    if not len(edges):
        return edges
    order = pc.sort_indices(_rank(edges["from"]))
    return edges.select(_schema("edges_from").names).take(order)


def _write_file(table: Any, kind: Kind, location: str) -> None:
    with TemporaryDirectory(prefix="lineage-merge-") as work:
        file = Path(work, "part.parquet")
        write_parquet(file, table, _schema(kind), COMPRESSION, GROUP_ROWS)
        storage.write_file(location, file)


def _schema(kind: Kind) -> Any:
    return arrow_schema(_DDL[kind], PARTITION_KEYS)


def copy_into(folder: str, files: Iterable[str]) -> None:
    """Copy files, which no process changes, into a folder under their names. Raises `SourceError`."""
    for file in files:
        storage.copy_file(file, f"{folder}/{file.rpartition('/')[2]}")


def read_columns(folder: str) -> ParquetColumns:
    """Return the columns of a folder's files; no rows if the folder is empty.

    Raises `SourceError`, and `IntermediateError` if a file is damaged or without pyarrow.
    """
    return open_parquet(_files(folder))


def open_files(folder: str) -> Iterator[tuple[str, Any]]:
    """Yield the files of a folder, opened. Errors as in `read_columns`."""
    for file in _files(folder):
        yield file, open_parquet_file(file)


def has_files(folder: str) -> bool:
    """Return whether a folder has Parquet files."""
    return bool(_files(folder))


def missing_files(folder: str, problem: str) -> IntermediateError:
    """Return the error of an entry without all of its files."""
    return IntermediateError(
        f"{storage.redact_location(folder)}: {problem}; `history compact` deleted the entry meanwhile, or its"
        " files are damaged. Fix: repeat the command"
    )


def _files(folder: str) -> list[str]:
    try:
        files = storage.list_files(folder)
    except SourceMissing:
        return []
    return [file.location for file in files if file.location.endswith(".parquet")]
