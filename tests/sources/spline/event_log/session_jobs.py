"""A session of Spark that writes its event log, and that the project's listener records at the same time.

    python -m tests.sources.spline.event_log.session_jobs FOLDER

leaves `logs` and `lineage` in the folder. Each job is a write, whose target has the job's name.
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge import capture

# Rows, and the columns that are made of them.
_INPUT = {
    "orders": (
        "(1, 7, 10.5, '2026-01-02', 'DE', 'PAID'), (2, 8, 3.0, '2026-01-03', 'FR', 'OPEN')",
        "col1 id, col2 customer, double(col3) amount, col4 day, col5 country, col6 status",
    ),
    "customers": (
        "(7, 'Ann', 'A', 8), (8, 'Ben', 'B', null)",
        "col1 customer, col2 name, col3 segment, col4 manager",
    ),
    "events": (
        "(1, array('a', 'b'), 'Bonn', '1')",
        "col1 id, col2 tags, named_struct('city', col3, 'zip', col4) address",
    ),
}
_SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.sql.shuffle.partitions": "1",
    # Generated code would take a quarter of the time; plans are the same without it.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


def main(folder: str) -> None:
    """Run the jobs in a session."""
    place = Path(folder).resolve()
    (place / "logs").mkdir()
    builder = SparkSession.builder.master("local[1]").appName("shop_daily")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    spark = (
        builder.config("spark.eventLog.dir", f"file://{place}/logs")
        .config("spark.sql.warehouse.dir", f"file://{place}/warehouse")
        .getOrCreate()
    )
    listener = capture.install(spark, place / "lineage")
    assert listener is not None
    _write_input(spark, place)
    _run_queries(spark, place)
    _run_tables(spark, place)
    _run_streams(spark, place)
    spark.stop()


def _write_input(spark: SparkSession, place: Path) -> None:
    for name, (rows, columns) in _INPUT.items():
        frame = spark.sql(f"select {columns} from values {rows} as t")
        frame.coalesce(1).write.parquet(f"{place}/in/{name}")
        spark.read.parquet(f"{place}/in/{name}").createOrReplaceTempView(name)


def _run_queries(spark: SparkSession, place: Path) -> None:
    orders, customers, events = map(spark.table, ("orders", "customers", "events"))
    paid = orders.where("status = 'PAID'").join(customers, "customer")
    newest = Window.partitionBy("customer").orderBy(F.col("day").desc())
    queries = {
        "totals": paid.groupBy("segment").agg(
            F.sum("amount").alias("total"), F.countDistinct("id").alias("n")
        ),
        "newest": orders.withColumn("rank", F.row_number().over(newest))
        .where("rank = 1")
        .select("id", "rank"),
        "both": orders.select("id", "amount").union(orders.select("customer", F.lit(0.0))),
        "tags": events.select("id", F.explode("tags").alias("tag"), "address.city", "address"),
        "pivoted": orders.groupBy("country").pivot("status", ["PAID", "OPEN"]).agg(F.sum("amount")),
        "bosses": customers.alias("c")
        .join(customers.alias("m"), F.expr("c.manager = m.customer"), "left")
        .selectExpr("c.name", "m.name as boss"),
        "most": spark.sql(
            "select id, (select max(amount) from orders) as most from orders"
            " where customer in (select customer from customers where segment = 'A')"
        ),
        "rolled": spark.sql(
            "select country, status, sum(amount) as total, grouping(status) as g"
            " from orders group by rollup (country, status)"
        ),
        "classes": orders.selectExpr("id", "case when amount > 5 then 'big' else lower(status) end as class"),
        # What the optimizer removes.
        "removed": orders.na.fill(0.0)
        .withColumn("key", F.expr("coalesce(id, customer)"))
        .selectExpr("cast(country as string) as country", "coalesce(key, 1) * 0 + 1 as one", "amount"),
    }
    for name, frame in queries.items():
        frame.write.parquet(f"{place}/out/{name}")
    orders.where("amount > 1").write.partitionBy("country").orc(f"{place}/out/by_country")


def _run_tables(spark: SparkSession, place: Path) -> None:
    spark.sql(
        "create table sales using parquet as"
        " select id, amount * 2 as double_amount from orders where country = 'DE'"
    )
    spark.sql("create table taken (id int, spent double) using parquet")
    spark.sql("insert into taken select customer, sum(amount) from orders group by customer")
    spark.sql(f"insert overwrite directory '{place}/out/copy' using json select double_amount from sales")
    spark.table("taken").write.saveAsTable("kept")


def _run_streams(spark: SparkSession, place: Path) -> None:
    def write(batch: DataFrame, _number: int) -> None:
        counted = batch.groupBy("country").agg(F.sum("amount").alias("total"))
        counted.write.mode("append").parquet(f"{place}/out/batches")

    read = spark.readStream.schema(spark.table("orders").schema).parquet(f"{place}/in/orders")
    batches = read.writeStream.foreachBatch(write).option("checkpointLocation", f"{place}/state/batches")
    batches.trigger(availableNow=True).start().awaitTermination()
    selected = read.where("amount > 1").select("id", F.upper("status").alias("state"))
    sink = selected.writeStream.format("parquet").option("checkpointLocation", f"{place}/state/sink")
    sink.trigger(availableNow=True).start(f"{place}/out/sink").awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
