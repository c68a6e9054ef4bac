"""Files for Neptune's bulk loader next to Spark's own CSV of the same rows.

    python benchmarks/bulk_csv.py --vertices 100000 --rounds 5

Both write gzipped files to this machine, from rows in memory: three quarters columns and a quarter
tables, and as many edges again. Spark's CSV is the plain one, in which sets are one field. The two take
turns, after one round that does not count.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks import options, results
from benchmarks.results import Figure
from lineage_merge.config import SparkOptions
from lineage_merge.graph_format import neptune_csv
from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.infra.engine.on_spark import SparkEngine, SparkRows
from lineage_merge.infra.spark_session import session


def lineage(spark: SparkSession, vertices: int) -> tuple[DataFrame, DataFrame]:
    """Nodes and edges, in memory."""
    number = F.col("id").cast("string")
    table = F.concat(
        F.lit("dev|redshift://wh.eu-west-1:5439|dev.public.table_"), (F.col("id") / 4).cast("int")
    )
    column = F.concat(table, F.lit("|column_"), number)
    is_table = F.col("id") % 4 == 0
    made = spark.range(vertices)
    of_table = {
        "namespace": F.lit("redshift://wh.eu-west-1:5439"),
        "qualified_name": F.concat(F.lit("dev.public.table_"), number),
        "description": F.concat(F.lit('the "table" of each, with number '), number),
        "tags": F.array(F.lit("core"), F.concat(F.lit("team "), number)),
    }
    nodes = {
        "id": F.when(is_table, table).otherwise(column),
        "label": F.when(is_table, "table").otherwise("column"),
        "environment": F.lit("dev"),
        "dag_name": F.lit("benchmark"),
        "name": F.concat(F.lit("name_"), number),
        "data_type": F.when(~is_table, "varchar(256)"),
        "position": F.when(~is_table, F.col("id") % 40),
        **{name: F.when(is_table, value) for name, value in of_table.items()},
    }
    edges = {
        "id": F.md5(number),
        "label": F.lit("feeds_column"),
        "from": column,
        "to": F.concat(column, F.lit("_next")),
        "environment": F.lit("dev"),
        "dag_name": F.lit("benchmark"),
        "job_type": F.lit("dbt"),
        "job_name": F.concat(F.lit("model.shop.m"), F.col("id") % 200),
        "transformation": F.lit("TRANSFORMATION"),
        "expression": F.concat(F.lit("coalesce(a, b) + "), number),
    }
    return _frame(made, nodes, node_ddl()), _frame(made, edges, edge_ddl())


def _frame(made: DataFrame, values: dict[str, Column], ddl: str) -> DataFrame:
    schema = made.sparkSession.createDataFrame([], ddl).schema
    chosen = [values.get(each.name, F.lit(None)).cast(each.dataType).alias(each.name) for each in schema]
    frame = made.select(*chosen).cache()
    frame.count()
    return frame


def ours(folder: str, nodes: DataFrame, edges: DataFrame) -> None:
    """What a bulk load writes."""
    engine = SparkEngine(nodes.sparkSession)
    both = (SparkRows(engine, frame.rdd.map(lambda row: row.asDict())) for frame in (nodes, edges))
    neptune_csv.write(folder, *both)


def sparks(folder: str, nodes: DataFrame, edges: DataFrame) -> None:
    """Spark's CSV."""
    for name, rows in (("nodes", nodes), ("edges", edges)):
        flat = [
            F.concat_ws(";", each).alias(each) if kind.startswith("array") else F.col(f"`{each}`")
            for each, kind in rows.dtypes
        ]
        rows.select(*flat).write.option("compression", "gzip").csv(f"{folder}/{name}", header=True)


def measured(write: Callable[[str, DataFrame, DataFrame], None], nodes: DataFrame, edges: DataFrame) -> float:
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        write(str(Path(folder, "files")), nodes, edges)
        return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vertices", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options.add_to(parser, smallest={"vertices": 200, "rounds": 1})
    arguments = parser.parse_args()
    with session(SparkOptions()) as spark:
        nodes, edges = lineage(spark, arguments.vertices)
        rounds = [
            (measured(ours, nodes, edges), measured(sparks, nodes, edges))
            for _ in range(arguments.rounds + 1)
        ]
    of_ours, of_spark = (statistics.median(each) for each in zip(*rounds[1:], strict=True))
    elements = 2 * arguments.vertices
    print(f"{elements:,} elements, median of {arguments.rounds} rounds")
    print(f"lineage_merge  {elements / of_ours:12,.0f} elements/s")
    print(f"Spark's CSV    {elements / of_spark:12,.0f} elements/s")
    print(f"ratio          {of_spark / of_ours:12.2f}")
    case = f"{elements:,} elements"
    found = [
        Figure(case, "lineage_merge", elements / of_ours, "elements/s"),
        Figure(case, "Spark's CSV", elements / of_spark, "elements/s"),
        Figure(case, "lineage_merge / Spark's CSV", of_spark / of_ours, "times", at_least=0.5),
    ]
    results.append(arguments.results, "bulk_csv", found)


if __name__ == "__main__":
    main()
