"""The intermediate format as files: a folder with `nodes/` and `edges/`, Parquet or JSON lines."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph_format.schema import Row, edge_ddl, edge_schema, node_ddl, node_schema
from lineage_merge.infra import shuffle_partitions
from lineage_merge.infra.engine.on_spark import SparkEngine, SparkRows
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.json_schema import Checker
from lineage_merge.infra.storage import (
    StoredFile,
    delete_folder,
    is_s3,
    list_files,
    make_folder,
    write_file,
    write_text,
)
from lineage_merge.model.errors import IntermediateError, SourceError, SourceMissing

Format = Literal["parquet", "jsonl"]
# An element, with the keys and values that are known of it.

_BROKEN = "_broken"
# What Spark makes texts of where a text belongs: arrays, objects, numbers, yes and no.
_ODD_TEXT = r"^(?:[\[{].*|-?[0-9.]+(?:[eE][-+]?[0-9]+)?|true|false)$"
_JAVA_CLASS = re.compile(r"^(?:[a-z][\w$]*\.)+[\w$]+: ")
_TRACEBACK = "Traceback (most recent call last)"
# Its end, where a Python worker failed.
_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt): ")


class Kind(NamedTuple):
    """Nodes or edges: the folder's name and the two schemas."""

    name: str
    ddl: str
    json_schema: Mapping[str, Any]


NODES = Kind("nodes", node_ddl(), node_schema())
EDGES = Kind("edges", edge_ddl(), edge_schema())


class Flaw(NamedTuple):
    """An element in a file that does not fit, and why. `element` is its id, or its line."""

    kind: str
    element: str
    field: str
    problem: str


def write(
    spark: SparkSession, folder: str, nodes: Rows[Row], edges: Rows[Row], file_format: Format = "parquet"
) -> None:
    """Write nodes and edges below `folder`, in place of what stands there."""
    is_here = nodes.engine.is_local and _is_reachable(folder)
    with _telling(folder):
        # A write that is cut short must not leave new nodes beside old edges.
        _delete(spark, _path(folder, EDGES), is_here)
        for kind, rows in ((NODES, nodes), (EDGES, edges)):
            path = _path(folder, kind)
            if is_here and (file_format == "jsonl" or _has_pyarrow()):
                _delete(spark, path, is_here)
                write_here = _write_lines if file_format == "jsonl" else partial(_write_parquet, kind)
                write_here(path, rows.collect())
                continue
            writer = _frame(spark, kind, rows).write.mode("overwrite")
            save = writer.parquet if file_format == "parquet" else writer.json
            save(path)


def read(spark: SparkSession, folder: str) -> tuple[DataFrame, DataFrame]:
    """The nodes and edges below `folder`, in whichever format they are.

    Raises `IntermediateError` where they are missing, incomplete, or not JSON.
    """
    return _read(spark, folder, NODES), _read(spark, folder, EDGES)


def read_rows(engine: Engine, spark: SparkSession, folder: str) -> tuple[Rows[Row], Rows[Row]]:
    """The same as rows of an engine, without unknown values."""
    nodes, edges = read(spark, folder)
    if isinstance(engine, SparkEngine):
        return engine.of_frame(nodes).map(_known), engine.of_frame(edges).map(_known)
    return tuple(engine.rows(map(_known, each.collect())) for each in (nodes, edges))  # type: ignore[return-value]


def unpacked_size(folder: str) -> int:
    """About how many bytes of text the nodes and edges below `folder` are. Raises `IntermediateError`."""
    return sum(
        map(shuffle_partitions.text_bytes, [*_list(_path(folder, NODES)), *_list(_path(folder, EDGES))])
    )


def write_facts(spark: SparkSession, folder: str, name: str, rows: Rows[Row], ddl: str) -> None:
    """Write what a load wants to know besides, below ``folder/name``, as JSON lines."""
    path = f"{folder.rstrip('/')}/{name}"
    with _telling(folder):
        if rows.engine.is_local and _is_reachable(folder):
            delete_folder(path)
            _write_lines(path, rows.collect())
            return
        names = _names(ddl)
        made = _as_frame(spark, rows.map(partial(_values, names)), ddl)
        made.write.mode("overwrite").json(path)


def read_facts(engine: Engine, spark: SparkSession, folder: str, name: str, ddl: str) -> Rows[Row] | None:
    """What `write_facts` wrote; None where there is none."""
    path = f"{folder.rstrip('/')}/{name}"
    try:
        list_files(path)
    except SourceMissing:
        return None
    with _telling(path):
        found = spark.read.schema(ddl).json(path)
        if isinstance(engine, SparkEngine):
            return engine.of_frame(found).map(_known)
        return engine.rows(map(_known, found.collect()))


def _is_reachable(folder: str) -> bool:
    """Whether this process can write there itself; other file systems are Spark's."""
    return is_s3(folder) or "://" not in folder


def _write_lines(path: str, rows: Iterable[Row]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    make_folder(path)
    write_text(f"{path}/part-00000.json", "".join(f"{line}\n" for line in lines))


def _has_pyarrow() -> bool:
    """Whether this process can write Parquet: a cold JVM takes seconds for the smallest file."""
    return find_spec("pyarrow") is not None


def _write_parquet(kind: Kind, path: str, rows: Iterable[Row]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"string": pa.string(), "bigint": pa.int64(), "array<string>": pa.list_(pa.string())}
    columns = (each.split() for each in kind.ddl.split(", "))
    schema = pa.schema([(name.strip("`"), types[declared]) for name, declared in columns])
    make_folder(path)
    with TemporaryDirectory(prefix="lineage-merge-") as work:
        file = Path(work, "part-00000.snappy.parquet")
        pq.write_table(pa.Table.from_pylist(list(rows), schema), file, compression="snappy")
        write_file(f"{path}/{file.name}", file)


def _names(ddl: str) -> tuple[str, ...]:
    return tuple(each.split()[0].strip("`") for each in ddl.split(", "))


def _frame(spark: SparkSession, kind: Kind, rows: Rows[Row]) -> DataFrame:
    return _as_frame(spark, rows.map(partial(_values, _names(kind.ddl))), kind.ddl)


def _as_frame(spark: SparkSession, rows: Rows[Any], ddl: str) -> DataFrame:
    data = rows.rdd if isinstance(rows, SparkRows) else spark.sparkContext.parallelize(rows.collect(), 1)
    return spark.createDataFrame(data, ddl, verifySchema=False)


def _values(names: tuple[str, ...], row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in names)


def _known(row: Any) -> Row:
    return {name: value for name, value in row.asDict().items() if value is not None}


def flaws(spark: SparkSession, folder: str, most: int = 100) -> tuple[int, list[Flaw]]:
    """Check every element against its JSON Schema, and that edges end at nodes of the folder.

    Returns how many elements there are and the first flaws. Raises `IntermediateError` where
    the files cannot be read at all.
    """
    found: list[Flaw] = []
    elements = 0
    for kind in (NODES, EDGES):
        with _telling(_path(folder, kind)):
            texts = _texts(spark, folder, kind).cache()
            elements += texts.count()
            found += texts.mapPartitions(partial(_check, kind)).take(most)
            texts.unpersist()
    if not found:
        with _telling(folder):
            found = [*_between_elements(*read(spark, folder), most)]
    return elements, found[:most]


def _between_elements(nodes: DataFrame, edges: DataFrame, most: int) -> Iterator[Flaw]:
    for kind, rows in ((NODES, nodes), (EDGES, edges)):
        for row in rows.groupBy("id").count().where("count > 1").limit(most).collect():
            yield Flaw(kind.name, row.id, "id", f"{row['count']} {kind.name} have this id")
    for end in ("from", "to"):
        loose = edges.join(nodes.select(F.col("id").alias(end)), end, "leftanti").limit(most)
        for row in loose.collect():
            yield Flaw(EDGES.name, row.id, end, f"no node has the id {row[end]}")


def _path(folder: str, kind: Kind) -> str:
    return f"{folder.rstrip('/')}/{kind.name}"


def _delete(spark: SparkSession, path: str, is_here: bool) -> None:
    if is_here:
        delete_folder(path)
        return
    context: Any = spark.sparkContext
    target = context._jvm.org.apache.hadoop.fs.Path(path)
    target.getFileSystem(context._jsc.hadoopConfiguration()).delete(target, True)


def _list(path: str) -> list[StoredFile]:
    try:
        return list_files(path)
    except SourceMissing:
        raise IntermediateError(f"{path}: no node or edge files there; make them with build") from None


def _format(path: str, files: list[StoredFile]) -> Format:
    names = [PurePosixPath(file.location) for file in files]
    if any("_temporary" in name.parts for name in names):
        raise IntermediateError(f"{path}: a write of it did not end; build it again")
    names = [name for name in names if not name.name.startswith(".")]
    if any(name.suffix == ".parquet" for name in names):
        return "parquet"
    if any({".json", ".jsonl"} & set(name.suffixes) for name in names):
        return "jsonl"
    raise IntermediateError(f"{path}: neither Parquet files nor JSON lines there")


def _read(spark: SparkSession, folder: str, kind: Kind) -> DataFrame:
    path = _path(folder, kind)
    files = _list(path)
    shuffle_partitions.fit(spark, files)
    if _format(path, files) == "parquet":
        with _telling(path):
            return spark.read.schema(kind.ddl).parquet(path)
    with _telling(path):
        reader = spark.read.schema(f"{kind.ddl}, {_BROKEN} string")
        rows = reader.option("columnNameOfCorruptRecord", _BROKEN).json(path)
        # All columns: Spark parses no field that nobody asks for, and so finds no fault in it.
        broken = rows.where(F.col(_BROKEN).isNotNull()).take(1) or _no_texts(spark, path, kind)
    if broken:
        raise IntermediateError(f"{path}: a line that fits no {kind.name}; `validate` says which and why")
    return rows.drop(_BROKEN)


def _no_texts(spark: SparkSession, path: str, kind: Kind) -> list[str]:
    """A line of JSON that has something else where a text, or an array of texts, belongs."""
    element = F.from_json("value", kind.ddl).alias("element")
    fields = spark.createDataFrame([], kind.ddl).schema.fields
    texts = [each.name for each in fields if each.dataType.simpleString() == "string"]
    sets = [each.name for each in fields if each.dataType.simpleString() == "array<string>"]
    is_odd = F.lit(False)
    for name in texts:
        is_odd = is_odd | F.coalesce(F.col(f"element.{name}").rlike(f"(?s){_ODD_TEXT}"), F.lit(False))
    for name in sets:
        has_odd = F.exists(f"element.{name}", lambda each: each.rlike(f"(?s){_ODD_TEXT}"))
        is_odd = is_odd | F.coalesce(has_odd, F.lit(False))
    # A text may look like that too: only what is odd is looked at closely.
    odd = spark.read.text(path).select("value", element).where(is_odd).select("value")
    found: list[str] = odd.rdd.mapPartitions(partial(_without_texts, texts, sets)).take(1)
    return found


def _without_texts(texts: list[str], sets: list[str], rows: Iterable[Any]) -> Iterator[str]:
    for row in rows:
        try:
            element = json.loads(row.value)
        except (ValueError, RecursionError):
            yield row.value
            continue
        values = [element.get(name) for name in texts]
        values += [each for name in sets for each in element.get(name) or ()]
        if not all(value is None or isinstance(value, str) for value in values):
            yield row.value


def _texts(spark: SparkSession, folder: str, kind: Kind) -> Any:
    """Each element as the text of a JSON object."""
    path = _path(folder, kind)
    if _format(path, _list(path)) == "parquet":
        # Without a schema of ours: what the files hold is what is checked.
        # Not `toJSON`, which is to return a frame one day.
        text = F.to_json(F.struct("*")).alias("value")
        return spark.read.parquet(path).select(text).rdd.map(lambda row: row.value)
    return spark.read.text(path).rdd.map(lambda row: row.value).filter(lambda text: bool(text.strip()))


def _check(kind: Kind, texts: Iterable[str]) -> Iterator[Flaw]:
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
def _telling(place: str) -> Iterator[None]:
    """Turn errors about files, Spark's too, into one line."""
    try:
        yield
    except SourceError as error:
        raise IntermediateError(error.message) from None
    except (PySparkException, Py4JJavaError) as error:
        raise IntermediateError(f"{place}: {_cause(str(error))}") from None


def _cause(text: str) -> str:
    """The innermost cause in what Spark says, without the names of Java's classes."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    of_python = [line for line in lines if _PYTHON_ERROR.match(line) and _TRACEBACK not in line]
    if of_python and _TRACEBACK in text:
        return of_python[-1][:300]
    causes = [line.removeprefix("Caused by:") for line in lines if line.startswith("Caused by:")]
    outer = [line.removeprefix(":") for line in lines if line.startswith(":")]
    cause = _JAVA_CLASS.sub("", [*lines[:1], *outer[:1], *causes][-1].strip())
    if "No FileSystem for scheme" in cause:
        return f"this Spark has no connector for it ({cause}): use a local folder"
    return cause[:300]
