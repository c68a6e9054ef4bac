"""Queries of a laboratory in a session of Spark, and the lineage that its event log has."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

import sqlglot
from pyspark.sql import SparkSession

from lineage_merge.model.elements import Reference, dot_path
from lineage_merge.sources.spline.event_log.log_files import find_logs, read_lines
from tests.experiment.execution import Laboratory
from tests.experiment.product import Lineage
from tests.sources.spline.event_log.log_reading import columns_of, read_targets

_SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.sql.shuffle.partitions": "1",
    # Generated code would take most of the time; plans are the same without it.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def lineage_of_event_log(laboratory: Laboratory, queries: Sequence[str], folder: Path) -> list[Lineage]:
    """Run the queries; return what the log says of each."""
    (folder / "logs").mkdir()
    builder = SparkSession.builder.master("local[*]").config("spark.eventLog.dir", f"file://{folder}/logs")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        for table in laboratory.tables:
            file = f"{folder}/{table.name}.parquet"
            laboratory.store(table, file)
            spark.read.parquet(file).createOrReplaceTempView(table.name)
        for number, query in enumerate(queries):
            [text] = sqlglot.transpile(query, read="duckdb", write="spark")
            spark.sql(text).write.parquet(f"{folder}/out/{number}")
    finally:
        spark.stop()
    found = dict(_read_lineage(folder / "logs"))
    return [found.get(number, Lineage()) for number in range(len(queries))]


def _read_lineage(logs: Path) -> Iterator[tuple[int, Lineage]]:
    for log in find_logs([str(logs)]):
        for target, write in read_targets(read_lines(log)):
            columns = columns_of(write)
            lineage = Lineage()
            for flow in columns.flows:
                source = (_table(flow.source), dot_path(flow.column).casefold())
                lineage.edges.setdefault(source, set()).add(dot_path(flow.target_column).casefold())
            for influence in columns.influences:
                lineage.influences.add((_table(influence.source), dot_path(influence.column).casefold()))
            yield int(target), lineage


def _table(file: Reference) -> str:
    return PurePath(file.name).stem
