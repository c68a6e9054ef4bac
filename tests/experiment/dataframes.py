"""DataFrame programs on the tables of the laboratory, run by Spark, and their lineage by `capture`."""

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.window import Window

from lineage_merge import capture
from tests.experiment.execution import (
    TABLES,
    Laboratory,
    Result,
    Source,
    StatementError,
    Table,
    comparable,
    connect,
)
from tests.experiment.product import Lineage, lineage_of_elements

# Programs are expressions over the tables, with these names for what only Spark has.
PROGRAMS = (
    't.select("id", (F.col("a") + F.col("b")).alias("x"), F.upper("s").alias("y"))',
    't.filter("a > 5").select("id", "b")',
    't.filter(F.col("s").isin("a0", "b1", "c2")).select("id")',
    't.join(u, "k").select(t.id, u.x, t.s)',
    't.join(u, t.k == u.k, "left").select(t.id, u.y)',
    't.join(u, "k", "full").select("k", "x", "a")',
    't.join(u, "id", "left_semi").select("id", "a")',
    't.join(v, t.id == v.z, "left_anti").select("id")',
    't.crossJoin(v.groupBy().agg(F.max("z").alias("mz"))).select("id", "mz")',
    't.alias("p").join(t.alias("q"), F.expr("p.id = q.k")).selectExpr("p.id", "q.a")',
    't.groupBy("g").agg(F.sum("a").alias("sa"), F.max(F.struct("b", "id")).alias("mb"))',
    't.groupBy("g").pivot("k", [1, 2, 3]).agg(F.sum("a"))',
    't.rollup("g").agg(F.sum("b").alias("sb"))',
    't.cube("g", "k").agg(F.max("b").alias("mb"))',
    't.agg(F.sum("a").alias("sa"), F.count_distinct("g").alias("cg"))',
    't.withColumn("r", F.row_number().over(W.partitionBy("g").orderBy("a", "id"))).select("id", "r")',
    't.withColumn("s2", F.sum("a").over(W.partitionBy("g").orderBy("id").rowsBetween(-1, 0))).select("s2")',
    't.withColumn("prev", F.lag("b").over(W.orderBy("id"))).select("a", "prev")',
    't.withColumn("r", F.rank().over(W.partitionBy("g").orderBy("a"))).filter("r < 3").select("id")',
    't.dropDuplicates(["a"]).select("a")',
    't.select("g", "k").distinct()',
    't.select("id", "s").union(u.select("id", "s"))',
    't.select("id", "s").unionByName(u.select("s", "id"))',
    't.select("id", "a").unionByName(u.select("id", "x"), allowMissingColumns=True)',
    't.select("k").intersect(u.select("x"))',
    't.select("a").exceptAll(u.select("x"))',
    't.select("id", F.explode("l").alias("e"))',
    't.select("a", F.posexplode("l"))',
    't.select("id", F.inline(F.array("st")))',
    't.select("id", F.transform("l", lambda e: e + F.col("a")).alias("tl"))',
    't.select("id", F.filter("l", lambda e: e > F.col("b")).alias("fl"))',
    't.select("id", F.aggregate("l", F.lit(0), lambda total, e: total + e).alias("al"))',
    't.select("id", F.zip_with("l", F.array("a", "b", "g"), lambda p, q: p * q).alias("zl"))',
    't.withColumn("st", F.col("st").withField("z", F.col("a"))).select("id", "st.z", "st.x")',
    't.withColumn("st", F.col("st").dropFields("y")).select("id", "st")',
    't.select("id", F.col("m")["p"].alias("mp"), F.map_keys("m").alias("mk"))',
    't.select("id", F.map_from_arrays(F.array("s"), F.array("a")).alias("made"))',
    't.select("id", F.struct("a", "b").alias("p")).select("id", "p.*")',
    't.select("id", F.from_json(F.to_json("st"), "x int").alias("j"))',
    't.select("id", F.when(F.col("g") > 1, F.col("a")).otherwise(F.col("b")).alias("w"))',
    't.select("id", F.coalesce("n", "a").alias("c"), F.concat_ws("-", "s", F.col("g")).alias("cc"))',
    't.na.fill({"n": 0}).select("id", "n")',
    't.na.drop(subset=["n"]).select("id", "a")',
    't.replace(3, 77, subset=["g"]).select("id", "g")',
    't.orderBy("a", "id").limit(5).select("id", "s")',
    't.withColumnRenamed("a", "renamed").selectExpr("id", "renamed * 2 as twice")',
    't.toDF(*[name + "_2" for name in t.columns]).select("a_2", "id_2")',
    't.drop("l", "st", "m").withColumns({"a": F.col("b"), "b": F.col("a")})',
    't.selectExpr("id", "stack(2, a, b) as stacked")',
    't.unpivot(["id"], ["a", "b"], "name", "value")',
    't.select("id", plus_one("a").alias("ua"))',
    't.groupBy(F.month(F.date_add("d", F.col("g"))).alias("mo")).agg(F.min("s").alias("ms"))',
)


_SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class SparkLaboratory:
    """The tables as Parquet files; `changed` selects the values of a column, as in `Laboratory`."""

    def __init__(self, spark: SparkSession, folder: Path, tables: tuple[Table, ...] = TABLES) -> None:
        self.tables = tables
        connection = connect()
        Laboratory(tables, None, connection=connection)
        self._frames: dict[str, DataFrame] = {}
        self._changed: dict[str, DataFrame] = {}
        for table in tables:
            plain, changed = folder / f"{table.name}.parquet", folder / f"{table.name}_changed.parquet"
            connection.execute(f"copy (select {', '.join(table.columns)} from {table.name}) to '{plain}'")
            connection.execute(f"copy {table.name}__base to '{changed}'")
            self._frames[table.name] = spark.read.parquet(str(plain))
            self._changed[table.name] = spark.read.parquet(str(changed)).cache()

    def sources(self) -> Iterator[Source]:
        """Yield each column that experiments change."""
        for table in self.tables:
            for column in table.columns:
                yield table.name, column

    def run(self, program: str, changed: Collection[Source] = (), change: str = "") -> Result:
        """Run a program with changed columns. Raises `StatementError`."""
        frames = {}
        for table in self.tables:
            columns = [
                functions.col(f"{name}__{change}" if (table.name, name) in changed else name).alias(name)
                for name in table.columns
            ]
            frames[table.name] = self._changed[table.name].select(columns)
        try:
            frame = _frame(program, frames)
            return Result(tuple(frame.columns), [tuple(map(comparable, row)) for row in frame.collect()])
        except (PySparkException, Py4JJavaError) as error:
            raise StatementError(str(error)) from None

    def lineage(self, program: str) -> Lineage:
        """Return the product's lineage of a program."""
        captured = capture(_frame(program, self._frames), target="s3://lake/o")
        return lineage_of_elements(captured.elements(), ("o",))


@contextmanager
def local_spark() -> Iterator[SparkLaboratory]:
    """Yield the tables in a session for small data, in which starting a job takes most of the time."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]")
    for key, value in _SMALL.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        with TemporaryDirectory() as folder:
            yield SparkLaboratory(spark, Path(folder))
    finally:
        spark.stop()


def _frame(program: str, frames: dict[str, DataFrame]) -> DataFrame:
    names: dict[str, Any] = {
        "F": functions,
        "W": Window,
        "plus_one": functions.udf(lambda value: value + 1, "int"),
        **frames,
    }
    found: DataFrame = eval(program, names)
    return found
