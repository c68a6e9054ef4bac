"""Node and edge files: a folder with `nodes/` and `edges/`, as Parquet or JSON lines."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph_format.arrow import (
    arrow_schema,
    rows_of_table,
    table_of_lines,
    table_of_parquet,
    write_parquet,
)
from lineage_merge.graph_format.folder_index import open_folder_index
from lineage_merge.graph_format.json_schemas import edge_schema, node_schema
from lineage_merge.graph_format.schema import Row, edge_ddl, node_ddl
from lineage_merge.graph_format.stored_files import INCOMPLETE, Format, find_stored_files
from lineage_merge.infra.arrow_tables import table_of_rows
from lineage_merge.infra.engine.on_spark import SparkEngine, SparkRows
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.json_schema import Checker
from lineage_merge.infra.spark_session import fit_partitions
from lineage_merge.infra.storage import (
    delete_folder,
    is_s3,
    list_files,
    make_folder,
    read_bytes,
    write_file,
    write_text,
)
from lineage_merge.model.errors import IntermediateError, SourceError, SourceMissing

_BROKEN = "_broken"
# Spark reads other JSON values as texts: arrays, objects, numbers, booleans.
_NON_STRING = r"^(?:[\[{].*|-?[0-9.]+(?:[eE][-+]?[0-9]+)?|true|false)$"
_JAVA_CLASS = re.compile(r"^(?:[a-z][\w$]*\.)+[\w$]+: ")
_TRACEBACK = "Traceback (most recent call last)"
_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt): ")  # ends a traceback


class FileKind(NamedTuple):
    """Nodes or edges: the folder name and the two schemas."""

    name: str
    ddl: str
    json_schema: Mapping[str, Any]


NODES = FileKind("nodes", node_ddl(), node_schema())
EDGES = FileKind("edges", edge_ddl(), edge_schema())


class Flaw(NamedTuple):
    """An invalid element in a file; `element` is its id, or its line."""

    kind: str
    element: str
    field: str
    problem: str


def write(
    spark: SparkSession, folder: str, nodes: Rows[Row], edges: Rows[Row], file_format: Format = "parquet"
) -> None:
    """Write nodes and edges below `folder`, replacing existing files."""
    is_reachable = _is_reachable(nodes.engine, spark, folder)
    with _translate_errors(folder):
        # An interrupted write must not leave new nodes with old edges.
        _delete(spark, _path(folder, EDGES), is_reachable)
        for kind, rows in ((NODES, nodes), (EDGES, edges)):
            path = _path(folder, kind)
            if is_reachable and (file_format == "jsonl" or _has_pyarrow()):
                _delete(spark, path, is_reachable)
                _write_parts(
                    path, rows, _write_lines if file_format == "jsonl" else partial(_write_parquet, kind)
                )
                continue
            writer = _frame(spark, rows, kind.ddl).write.mode("overwrite")
            save = writer.parquet if file_format == "parquet" else writer.json
            save(path)


def write_columns(
    spark: SparkSession, folder: str, rows: Rows[Row], ddl: str, without: Collection[str], compression: str
) -> int:
    """Write rows as Parquet below `folder`, without some columns; return their number."""
    with _translate_errors(folder):
        frame = _frame(spark, rows, ddl).drop(*without)
        frame.write.mode("overwrite").option("compression", compression).parquet(folder)
    return rows.count()


def read(spark: SparkSession, folder: str) -> tuple[DataFrame, DataFrame]:
    """Read the nodes and edges below `folder`, in either format.

    Raises `IntermediateError` if they are missing, incomplete, or invalid JSON.
    """
    return _read(spark, folder, NODES), _read(spark, folder, EDGES)


def read_rows(engine: Engine, spark: SparkSession | None, folder: str) -> tuple[Rows[Row], Rows[Row]]:
    """Read the nodes and edges below `folder` as rows of an engine, without unknown values.

    `spark` is None: a local engine reads them with pyarrow (`may_read_locally`). Errors as in `read`.
    """
    if spark is None:
        kinds = (NODES, EDGES)
        nodes, edges = (_read_locally(_path(folder, kind), kind.name, kind.ddl) for kind in kinds)
        return engine.rows(nodes), engine.rows(edges)
    frames = read(spark, folder)
    return _rows(engine, frames[0]), _rows(engine, frames[1])


def may_read_locally(folder: str) -> bool:
    """Return whether this process can read node and edge files without Spark."""
    return _needs_no_connector(folder) and _has_pyarrow()


def read_tables(folder: str) -> tuple[Any, Any]:
    """Read the nodes and edges below `folder` as tables of Arrow, with pyarrow. Errors as in `read`."""
    index = open_folder_index(folder)  # no text has to be decoded
    if index and index.has_all_edges and not index.contradiction():
        return index.tables()
    return _read_table(folder, NODES), _read_table(folder, EDGES)


def _read_table(folder: str, kind: FileKind) -> Any:
    import pyarrow as pa

    tables = [*_read_tables(_path(folder, kind), kind.name, kind.ddl)]
    return (
        pa.concat_tables(tables, promote_options="default")
        if tables
        else arrow_schema(kind.ddl).empty_table()
    )


def _read_locally(path: str, name: str, ddl: str) -> Iterator[Row]:
    for table in _read_tables(path, name, ddl):
        yield from rows_of_table(table)


def _read_tables(path: str, name: str, ddl: str) -> Iterator[Any]:
    import pyarrow as pa

    file_format, files = find_stored_files(path)
    schema = arrow_schema(ddl)
    for file in files:
        with _translate_errors(path):
            content = read_bytes(file.location)
        try:
            yield (table_of_parquet if file_format == "parquet" else table_of_lines)(content, schema)
        except (pa.ArrowException, OSError, ValueError):
            invalid = "file" if file_format == "parquet" else "line"
            raise IntermediateError(
                f"{path}: invalid {invalid} in {name}. Fix: run `validate` for details"
            ) from None


def _rows(engine: Engine, frame: DataFrame) -> Rows[Row]:
    if isinstance(engine, SparkEngine):
        return engine.from_frame(frame).map(_drop_unknown)
    return engine.rows(map(_drop_unknown, frame.collect()))


def estimate_unpacked_size(folder: str) -> int:
    """Return the approximate size of the files as text, in bytes. Raises `IntermediateError`."""
    return sum(
        file.text_bytes for kind in (NODES, EDGES) for file in find_stored_files(_path(folder, kind))[1]
    )


def write_facts(spark: SparkSession, folder: str, name: str, rows: Rows[Row], ddl: str) -> None:
    """Write further input of a load below ``folder/name``, as JSON lines."""
    path = f"{folder.rstrip('/')}/{name}"
    with _translate_errors(folder):
        if _is_reachable(rows.engine, spark, folder):
            delete_folder(path)
            _write_parts(path, rows, _write_lines)
            return
        _frame(spark, rows, ddl).write.mode("overwrite").json(path)


def read_facts(
    engine: Engine, spark: SparkSession | None, folder: str, name: str, ddl: str
) -> Rows[Row] | None:
    """Read the rows that `write_facts` wrote; None if there are none."""
    path = f"{folder.rstrip('/')}/{name}"
    try:
        list_files(path)
    except SourceMissing:
        return None
    if spark is None:
        return engine.rows(_read_locally(path, name, ddl))
    with _translate_errors(path):
        return _rows(engine, spark.read.schema(ddl).json(path))


def _is_reachable(engine: Engine, spark: SparkSession, folder: str) -> bool:
    """Return whether the processes that compute the rows can write to the folder; else Spark writes.

    Workers on other machines have other disks, and a cluster's Spark has connectors of its own.
    """
    if engine.is_local:
        return _needs_no_connector(folder)
    return "://" not in folder and (spark.sparkContext.master or "").startswith("local")


def _needs_no_connector(folder: str) -> bool:
    """Return whether this package reads and writes the folder's file system itself."""
    return is_s3(folder) or "://" not in folder


def _write_parts(path: str, rows: Rows[Row], write_part: Callable[[str, int, Iterable[Row]], None]) -> None:
    """Write a file per partition where its rows are computed, faster than Spark with a cold JVM."""
    make_folder(path)
    if rows.engine.is_local:
        write_part(path, 0, rows.collect())
        return
    # Workers may have another current folder.
    path = str(Path(path).expanduser().absolute())
    incomplete = f"{path}/{INCOMPLETE}"
    make_folder(incomplete)
    write_text(f"{incomplete}/0", "")
    rows.map_numbered_partitions(partial(_write, write_part, path)).collect()
    delete_folder(incomplete)


def _write(
    write_part: Callable[[str, int, Iterable[Row]], None], path: str, number: int, rows: Iterable[Row]
) -> Iterator[int]:
    write_part(path, number, rows)
    yield number


def _write_lines(path: str, number: int, rows: Iterable[Row]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    write_text(f"{path}/part-{number:05}.json", "".join(f"{line}\n" for line in lines))


def _has_pyarrow() -> bool:
    """Return whether this process can write Parquet, faster than a cold JVM."""
    return find_spec("pyarrow") is not None


def _write_parquet(kind: FileKind, path: str, number: int, rows: Iterable[Row]) -> None:
    with TemporaryDirectory(prefix="lineage-merge-") as work:
        file = Path(work, f"part-{number:05}.snappy.parquet")
        schema = arrow_schema(kind.ddl)
        write_parquet(file, table_of_rows([*rows], schema), schema)
        write_file(f"{path}/{file.name}", file)


def _frame(spark: SparkSession, rows: Rows[Row], ddl: str) -> DataFrame:
    names = tuple(column.split()[0].strip("`") for column in ddl.split(", "))
    values: Any = rows.map(partial(_values, names))
    data = (
        values.rdd if isinstance(values, SparkRows) else spark.sparkContext.parallelize(values.collect(), 1)
    )
    return spark.createDataFrame(data, ddl, verifySchema=False)


def _values(names: tuple[str, ...], row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in names)


def _drop_unknown(row: Any) -> Row:
    return {name: value for name, value in row.asDict().items() if value is not None}


def flaws(spark: SparkSession, folder: str, limit: int = 100) -> tuple[int, list[Flaw]]:
    """Check every element against its JSON Schema, and that the ends of edges are nodes of the folder.

    Returns the number of elements and the first flaws. Raises `IntermediateError` if the files cannot be
    read.
    """
    flaws: list[Flaw] = []
    elements = 0
    for kind in (NODES, EDGES):
        with _translate_errors(_path(folder, kind)):
            texts = _texts(spark, folder, kind).cache()
            elements += texts.count()
            flaws += texts.mapPartitions(partial(_check, kind)).take(limit)
            texts.unpersist()
    if not flaws:
        with _translate_errors(folder):
            flaws = [*_reference_flaws(*read(spark, folder), limit)]
    return elements, flaws[:limit]


def _reference_flaws(nodes: DataFrame, edges: DataFrame, limit: int) -> Iterator[Flaw]:
    for kind, rows in ((NODES, nodes), (EDGES, edges)):
        for row in rows.groupBy("id").count().where("count > 1").limit(limit).collect():
            yield Flaw(kind.name, row.id, "id", f"{row['count']} {kind.name} have this id")
    for end in ("from", "to"):
        dangling = edges.join(nodes.select(F.col("id").alias(end)), end, "leftanti").limit(limit)
        for row in dangling.collect():
            yield Flaw(EDGES.name, row.id, end, f"no node has the id {row[end]}")


def _path(folder: str, kind: FileKind) -> str:
    return f"{folder.rstrip('/')}/{kind.name}"


def _delete(spark: SparkSession, path: str, is_reachable: bool) -> None:
    if is_reachable:
        delete_folder(path)
        return
    context: Any = spark.sparkContext
    target = context._jvm.org.apache.hadoop.fs.Path(path)
    target.getFileSystem(context._jsc.hadoopConfiguration()).delete(target, True)


def _read(spark: SparkSession, folder: str, kind: FileKind) -> DataFrame:
    path = _path(folder, kind)
    file_format, files = find_stored_files(path)
    fit_partitions(spark, sum(file.text_bytes for file in files))
    if file_format == "parquet":
        with _translate_errors(path):
            return spark.read.schema(kind.ddl).parquet(path)
    with _translate_errors(path):
        reader = spark.read.schema(f"{kind.ddl}, {_BROKEN} string")
        rows = reader.option("columnNameOfCorruptRecord", _BROKEN).json(path)
        # All columns, because Spark neither parses nor checks fields that are not selected.
        broken = rows.where(F.col(_BROKEN).isNotNull()).take(1) or _lines_with_non_strings(spark, path, kind)
    if broken:
        raise IntermediateError(f"{path}: invalid line in {kind.name}. Fix: run `validate` for details")
    return rows.drop(_BROKEN)


def _lines_with_non_strings(spark: SparkSession, path: str, kind: FileKind) -> list[str]:
    """Return a JSON line with another value where a text, or an array of texts, is required."""
    element = F.from_json("value", kind.ddl).alias("element")
    fields = spark.createDataFrame([], kind.ddl).schema.fields
    texts = [field.name for field in fields if field.dataType.simpleString() == "string"]
    sets = [field.name for field in fields if field.dataType.simpleString() == "array<string>"]
    is_suspect = F.lit(False)
    for name in texts:
        is_suspect = is_suspect | F.coalesce(
            F.col(f"element.{name}").rlike(f"(?s){_NON_STRING}"), F.lit(False)
        )
    for name in sets:
        has_suspect = F.exists(f"element.{name}", lambda text: text.rlike(f"(?s){_NON_STRING}"))
        is_suspect = is_suspect | F.coalesce(has_suspect, F.lit(False))
    # A text may match as well: only these lines are parsed.
    suspects = spark.read.text(path).select("value", element).where(is_suspect).select("value")
    lines: list[str] = suspects.rdd.mapPartitions(partial(_non_string_lines, texts, sets)).take(1)
    return lines


def _non_string_lines(texts: list[str], sets: list[str], rows: Iterable[Any]) -> Iterator[str]:
    for row in rows:
        try:
            element = json.loads(row.value)
        except (ValueError, RecursionError):
            yield row.value
            continue
        values = [element.get(name) for name in texts]
        values += [text for name in sets for text in element.get(name) or ()]
        if not all(value is None or isinstance(value, str) for value in values):
            yield row.value


def _texts(spark: SparkSession, folder: str, kind: FileKind) -> Any:
    """Return each element as the text of a JSON object."""
    path = _path(folder, kind)
    if find_stored_files(path)[0] == "parquet":
        # Without a schema, to check the files' actual content.
        # Not `toJSON`, which is to return a DataFrame in the future.
        text = F.to_json(F.struct("*")).alias("value")
        return spark.read.parquet(path).select(text).rdd.map(lambda row: row.value)
    return spark.read.text(path).rdd.map(lambda row: row.value).filter(lambda text: bool(text.strip()))


def _check(kind: FileKind, texts: Iterable[str]) -> Iterator[Flaw]:
    checker = Checker(kind.json_schema)
    for text in texts:
        try:
            element = json.loads(text)
        except (ValueError, RecursionError):
            yield Flaw(kind.name, text[:80], "", "not JSON")
            continue
        error = checker.error(element)
        if error:
            name = element.get("id") if isinstance(element, dict) else None
            yield Flaw(kind.name, str(name or text[:80]), error.path, error.problem)


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Translate errors about files, including Spark's, to one line."""
    try:
        yield
    except SourceError as error:
        raise IntermediateError(error.message) from None
    except (PySparkException, Py4JJavaError) as error:
        raise IntermediateError(f"{path}: {_cause(str(error))}") from None


def _cause(text: str) -> str:
    """Return the innermost cause in Spark's error text, without names of Java classes."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    of_python = [line for line in lines if _PYTHON_ERROR.match(line) and _TRACEBACK not in line]
    if of_python and _TRACEBACK in text:
        return of_python[-1][:300]
    causes = [line.removeprefix("Caused by:") for line in lines if line.startswith("Caused by:")]
    outer = [line.removeprefix(":") for line in lines if line.startswith(":")]
    cause = _JAVA_CLASS.sub("", [*lines[:1], *outer[:1], *causes][-1].strip())
    if "No FileSystem for scheme" in cause:
        return f"no connector in this Spark ({cause}). Fix: use a local folder"
    return cause[:300]
