"""The company's Spark jobs. `record.py` runs each as a process: ``python jobs.py JOB LAKE LINEAGE JARS``.

LAKE: a folder that stands in for S3, with a folder per bucket. LINEAGE: where the listener writes, or Spark
its event log. JARS: Iceberg's jar, or several, comma-separated.
"""

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (as Spark's documentation does)

from lineage_merge import capture

_CUSTOMERS = """customer_id INT, name STRING, loyalty_points INT,
 contact STRUCT<email: STRING, phone: STRING>,
 address STRUCT<city: STRING, country: STRING>"""
_ORDERS = """order_id INT, customer_id INT, ordered_at TIMESTAMP, status STRING,
 items ARRAY<STRUCT<sku: STRING, qty: INT, price: DOUBLE>>"""
_VISITS = "visit_id INT, customer_id INT, visited_at TIMESTAMP, campaign STRING, page STRING"


def _customers(spark: SparkSession, lake: str) -> DataFrame:
    raw = spark.read.schema(_CUSTOMERS).json(f"{lake}/brightmug-raw/customers")
    return raw.select(
        "customer_id",
        F.col("contact.email").alias("email"),
        F.col("address.country").alias("country"),
        F.col("address.city").alias("city"),
        "loyalty_points",
    )


def customers_to_lake(spark: SparkSession, lake: str, *, with_segments: bool = False) -> None:
    """Write the customers; of earlier versions of the job also segments of them."""
    customers = _customers(spark, lake)
    customers.write.mode("overwrite").parquet(f"{lake}/brightmug-lake/customers")
    if with_segments:
        segment = F.when(F.col("loyalty_points") > 100, "regular").otherwise("new")
        customers.select("customer_id", segment.alias("segment")).write.mode("overwrite").parquet(
            f"{lake}/brightmug-lake/customer_segments"
        )


def customers_and_segments_to_lake(spark: SparkSession, lake: str) -> None:
    """Run the job as it was before it wrote the segments by a MERGE, which its agent does not send."""
    customers_to_lake(spark, lake, with_segments=True)


def shop_to_lake(spark: SparkSession, lake: str) -> None:
    """Write order lines and visits."""
    orders = spark.read.schema(_ORDERS).json(f"{lake}/brightmug-raw/orders")
    items = F.explode("items").alias("item")
    lines = orders.select("order_id", "customer_id", "ordered_at", "status", items)
    lines.select(
        "order_id", "customer_id", "ordered_at", "status", "item.sku", "item.qty", "item.price"
    ).write.mode("overwrite").parquet(f"{lake}/brightmug-lake/order_lines")
    visits = spark.read.schema(_VISITS).json(f"{lake}/brightmug-raw/visits")
    visits.select("visit_id", "customer_id", "visited_at", "campaign").write.mode("overwrite").parquet(
        f"{lake}/brightmug-lake/web_visits"
    )


def orders_merge(spark: SparkSession, lake: str) -> None:
    """Merge the order lines into the Iceberg table."""
    spark.sql(
        "CREATE TABLE lake.shop.orders (order_id INT, sku STRING, customer_id INT,"
        " ordered_at TIMESTAMP, status STRING, qty INT, amount DOUBLE) USING iceberg"
    )
    spark.read.parquet(f"{lake}/brightmug-lake/order_lines").createOrReplaceTempView("order_lines")
    spark.sql("""MERGE INTO lake.shop.orders t USING order_lines s
      ON t.order_id = s.order_id AND t.sku = s.sku
      WHEN MATCHED AND t.status <> s.status THEN UPDATE SET t.status = s.status, t.amount = s.qty * s.price
      WHEN NOT MATCHED THEN INSERT (order_id, sku, customer_id, ordered_at, status, qty, amount)
        VALUES (s.order_id, s.sku, s.customer_id, s.ordered_at, s.status, s.qty, s.qty * s.price)""")


def orders_export(spark: SparkSession, lake: str) -> None:
    """Export the Iceberg table for Redshift: a job without an agent, of which there is only the event log."""
    spark.table("lake.shop.orders").where("status <> 'cancelled'").write.mode("overwrite").parquet(
        f"{lake}/brightmug-export/orders"
    )


_NAMES = {customers_and_segments_to_lake: "customers_to_lake"}
_JOBS = (customers_to_lake, customers_and_segments_to_lake, shop_to_lake, orders_merge, orders_export)


def main(job_name: str, lake: str, lineage: str, jars: str) -> None:
    """Run a job in a session of its own, with the listener or with an event log."""
    job = next(job for job in _JOBS if job.__name__ == job_name)
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    spark = (
        SparkSession.builder.master("local[1]")
        .appName(_NAMES.get(job, job_name))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.jars", jars)
        .config("spark.sql.extensions", extensions)
        .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.lake.type", "hadoop")
        .config("spark.sql.catalog.lake.warehouse", f"{lake}/brightmug-lake")
        .config("spark.eventLog.enabled", str(job is orders_export).lower())
        .config("spark.eventLog.dir", f"file://{lineage}")
        .getOrCreate()
    )
    listener = capture.install(spark, lineage) if job is not orders_export else None
    job(spark, lake)
    if listener:
        listener.flush()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
