"""The intermediate format as files: a folder with `nodes/` and `edges/`, Parquet or JSON lines."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.errors import IntermediateError, SourceMissing
from lineage_merge.graph.schema import edge_ddl, edge_schema, node_ddl, node_schema
from lineage_merge.json_schema import Checker
from lineage_merge.storage import list_files

Format = Literal["parquet", "jsonl"]


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


def write(folder: str, nodes: DataFrame, edges: DataFrame, file_format: Format = "parquet") -> None:
    """Write nodes and edges below `folder`, in place of what stands there."""
    for kind, rows in ((NODES, nodes), (EDGES, edges)):
        writer = rows.write.mode("overwrite")
        save = writer.parquet if file_format == "parquet" else writer.json
        with _telling(folder):
            save(f"{folder}/{kind.name}")


def read(spark: SparkSession, folder: str) -> tuple[DataFrame, DataFrame]:
    """The nodes and edges below `folder`, in whichever format they are."""
    return _read(spark, folder, NODES), _read(spark, folder, EDGES)


def flaws(spark: SparkSession, folder: str, most: int = 100) -> tuple[int, list[Flaw]]:
    """Check every element against its JSON Schema, and that edges end at nodes of the folder.

    Returns how many elements there are and the first flaws.
    """
    found: list[Flaw] = []
    elements = 0
    for kind in (NODES, EDGES):
        texts = _texts(spark, folder, kind).cache()
        elements += texts.count()
        found += texts.mapPartitions(lambda rows, kind=kind: _check(kind, rows)).take(most)
    if not found:
        nodes, edges = read(spark, folder)
        found += [
            Flaw(NODES.name, row.id, "id", f"{row['count']} nodes have this id")
            for row in nodes.groupBy("id").count().where("count > 1").limit(most).collect()
        ]
        for end in ("from", "to"):
            loose = edges.join(nodes.select(F.col("id").alias(end)), end, "leftanti").limit(most)
            found += [
                Flaw(EDGES.name, row.id, end, f"no node has the id {row[end]}") for row in loose.collect()
            ]
    return elements, found[:most]


def _format(folder: str, kind: Kind) -> Format:
    path = f"{folder.rstrip('/')}/{kind.name}"
    try:
        files = list_files(path)
    except SourceMissing:
        raise IntermediateError(f"{path}: no node or edge files there; make them with build") from None
    names = [PurePosixPath(file.location) for file in files]
    if any("_temporary" in name.parts for name in names):
        raise IntermediateError(f"{path}: a write of it did not end; build it again")
    if any(name.suffix == ".parquet" for name in names):
        return "parquet"
    if any({".json", ".jsonl"} & set(name.suffixes) for name in names):
        return "jsonl"
    raise IntermediateError(f"{path}: neither Parquet files nor JSON lines there")


def _read(spark: SparkSession, folder: str, kind: Kind) -> DataFrame:
    path = f"{folder.rstrip('/')}/{kind.name}"
    reader = spark.read.schema(kind.ddl)
    with _telling(path):
        if _format(folder, kind) == "parquet":
            return reader.parquet(path)
        return reader.option("mode", "FAILFAST").json(path)


def _texts(spark: SparkSession, folder: str, kind: Kind) -> Any:
    """Each element as the text of a JSON object."""
    path = f"{folder.rstrip('/')}/{kind.name}"
    with _telling(path):
        if _format(folder, kind) == "parquet":
            # Without a schema of ours: what the files hold is what is checked.
            return spark.read.parquet(path).toJSON()
        return spark.read.text(path).rdd.map(lambda row: row.value)


def _check(kind: Kind, texts: Iterable[str]) -> Iterator[Flaw]:
    checker = Checker(kind.json_schema)
    for text in texts:
        try:
            element = json.loads(text)
        except ValueError:
            yield Flaw(kind.name, text[:80], "", "not JSON")
            continue
        error = checker.error(element)
        if error:
            name = element.get("id") if isinstance(element, dict) else None
            yield Flaw(kind.name, str(name or text[:80]), error.path, error.problem)


@contextmanager
def _telling(place: str) -> Iterator[None]:
    """Turn Spark's errors about files into one line."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        cause = next((line for line in reversed(lines) if line.startswith("Caused by:")), lines[0])
        raise IntermediateError(f"{place}: {cause.removeprefix('Caused by:').strip()[:300]}") from None
