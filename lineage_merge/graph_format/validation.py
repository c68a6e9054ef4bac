"""Checks node and edge files: each element by its JSON Schema, ids, and ends of edges."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph_format.files import read, translate_errors
from lineage_merge.graph_format.json_schemas import edge_schema, node_schema
from lineage_merge.graph_format.stored_files import EDGES, NODES, FileKind, find_stored_files, path_of
from lineage_merge.infra.json_schema import Checker

_SCHEMAS = {NODES: node_schema(), EDGES: edge_schema()}


class Flaw(NamedTuple):
    """An invalid element in a file; `element` is its id, or its line."""

    kind: str
    element: str
    field: str
    problem: str


def find_flaws(spark: SparkSession, folder: str, limit: int = 100) -> tuple[int, list[Flaw]]:
    """Check every element against its JSON Schema, and that the ends of edges are nodes of the folder.

    Returns the number of elements and the first flaws. Raises `IntermediateError` if the files cannot be
    read.
    """
    flaws: list[Flaw] = []
    elements = 0
    for kind in (NODES, EDGES):
        with translate_errors(path_of(folder, kind)):
            texts = _texts(spark, folder, kind).cache()
            elements += texts.count()
            flaws += texts.mapPartitions(partial(_check, kind)).take(limit)
            texts.unpersist()
    if not flaws:
        with translate_errors(folder):
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


def _texts(spark: SparkSession, folder: str, kind: FileKind) -> Any:
    """Return each element as the text of a JSON object."""
    path = path_of(folder, kind)
    if find_stored_files(path)[0] == "parquet":
        # Without a schema, to check the files' actual content.
        # Not `toJSON`, which is to return a DataFrame in the future.
        text = F.to_json(F.struct("*")).alias("value")
        return spark.read.parquet(path).select(text).rdd.map(lambda row: row.value)
    return spark.read.text(path).rdd.map(lambda row: row.value).filter(lambda text: bool(text.strip()))


def _check(kind: FileKind, texts: Iterable[str]) -> Iterator[Flaw]:
    checker = Checker(_SCHEMAS[kind])
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
