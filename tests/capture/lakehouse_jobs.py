"""The jobs of `tests/data/lakehouse`, and others of DataFrames and streams, run on Iceberg and Delta.

    python -m tests.capture.lakehouse_jobs FOLDER

`capture.install` records them; its messages are translated as those of Spline's agent.
Prints the edges that these lead to as JSON, one line. `check_lakehouse` compares them to the truth.
"""

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from tests.capture.lakehouse_session import lakehouse_session

_ORDERS = "order_id INT, customer_id INT, amount DOUBLE, country STRING, status STRING, order_date DATE"
_CUSTOMERS = (
    "customer_id INT, name STRING, address STRUCT<city:STRING,zip:STRING,geo:STRUCT<lat:DOUBLE,lon:DOUBLE>>,"
    " items ARRAY<STRUCT<sku:STRING,qty:INT,price:DOUBLE>>, attrs MAP<STRING,STRING>"
)
_ON_READ = ", ".join(f"'write.{each}.mode'='merge-on-read'" for each in ("delete", "update", "merge"))
_MERGE = """
    MERGE INTO {table} t
    USING (SELECT o.order_id, o.amount, o.status, o.country, c.name
           FROM orders o JOIN customers c ON o.customer_id = c.customer_id) s
    ON t.order_id = s.order_id
    WHEN MATCHED AND s.amount > t.amount AND s.status <> 'OPEN'
        THEN UPDATE SET t.amount = s.amount + t.fee, t.note = concat(s.status, t.country)
    WHEN NOT MATCHED AND s.country = 'DE'
        THEN INSERT (order_id, amount, country, note, fee)
             VALUES (s.order_id, s.amount, s.country, s.name, 0)
"""
_UPDATE = "UPDATE {table} SET amount = amount * 1.1 + fee, note = upper(status) WHERE country = 'DE'"

Job = Callable[["Lakehouse"], None]
JOBS: dict[str, Job] = {}


def _job(job: Job) -> Job:
    JOBS[job.__name__] = job
    return job


class Lakehouse:
    """The inputs and tables in a folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        (folder / "in").mkdir()
        with (folder / "in" / "orders.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("order_id", "customer_id", "amount", "country", "status", "order_date"))
            for number in range(1, 21):
                more = ("DE" if number % 2 else "US", "PAID" if number % 3 else "OPEN")
                rows.writerow((number, number % 5, number * 1.5, *more, f"2025-01-{number:02d}"))
        with (folder / "in" / "customers.json").open("w") as file:
            for number in range(5):
                address = {"city": f"c{number % 2}", "zip": "1", "geo": {"lat": 0.5, "lon": 1.5}}
                items = [{"sku": f"s{each}", "qty": each + 1, "price": each + 0.25} for each in range(3)]
                customer = {"customer_id": number, "name": f"n{number}", "address": address}
                file.write(json.dumps({**customer, "items": items, "attrs": {"color": "red"}}) + "\n")
        self.orders.createOrReplaceTempView("orders")
        self.customers.createOrReplaceTempView("customers")
        self._tables()

    @property
    def orders(self) -> DataFrame:
        return self.spark.read.option("header", True).schema(_ORDERS).csv(f"{self.folder}/in/orders.csv")

    @property
    def customers(self) -> DataFrame:
        return self.spark.read.schema(_CUSTOMERS).json(f"{self.folder}/in/customers.json")

    def path(self, name: str) -> str:
        """A table of Delta, or a folder of files."""
        return f"{self.folder}/out/{name}"

    def _tables(self) -> None:
        merged = "order_id, 1D AS amount, country, '' AS note, 0.5D AS fee"
        updated = "order_id, amount, 1D AS fee, country, status, '' AS note"
        on_read = f"TBLPROPERTIES ({_ON_READ})"
        self._iceberg("app_t", "order_id, amount, status", tail="")
        self._iceberg("part_t", "order_id, amount, country", tail="PARTITIONED BY (country)")
        self._iceberg("mrg_t", merged, tail="PARTITIONED BY (country)")
        self._iceberg("mrgd_t", "order_id, customer_id, 1D AS amount, status", tail=on_read)
        self._iceberg("upd_t", updated)
        self._iceberg("del1_t", "order_id, amount, country", tail="PARTITIONED BY (country)")
        self._iceberg("del2_t", "order_id, amount, status")
        self._iceberg("del3_t", "order_id, customer_id", tail=on_read)
        self._iceberg("src_t", "order_id, customer_id, amount, country")
        for name, columns in (("mrg_d", merged), ("mrgs_d", merged), ("upd_d", updated)):
            rows = self.spark.sql(f"SELECT {columns} FROM orders WHERE order_id < 8")
            rows.write.format("delta").save(self.path(name))

    def _iceberg(self, name: str, columns: str, tail: str = "") -> None:
        rows = f"SELECT {columns} FROM orders WHERE order_id < 8"
        self.spark.sql(f"CREATE TABLE lake.db.{name} USING iceberg {tail} AS {rows}")


@_job
def i01_ctas(lake: Lakehouse) -> None:
    query = "SELECT order_id, amount * 2 AS gross, country FROM orders WHERE status = 'PAID'"
    lake.spark.sql(f"CREATE TABLE lake.db.ctas_o USING iceberg AS {query}")


@_job
def i03_append(lake: Lakehouse) -> None:
    columns = ("order_id", F.round("amount").alias("amount"), F.upper("status").alias("status"))
    lake.orders.where("amount > 3").select(*columns).writeTo("lake.db.app_t").append()


@_job
def i05_merge_upd_ins(lake: Lakehouse) -> None:
    lake.spark.sql(_MERGE.format(table="lake.db.mrg_t"))


@_job
def i07_update_expr(lake: Lakehouse) -> None:
    lake.spark.sql(_UPDATE.format(table="lake.db.upd_t"))


@_job
def i09_delete_filter(lake: Lakehouse) -> None:
    lake.spark.sql("DELETE FROM lake.db.del1_t WHERE country = 'DE'")
    lake.spark.sql("DELETE FROM lake.db.del2_t WHERE amount > 10 AND status = 'OPEN'")


@_job
def i12_read_name_path(lake: Lakehouse) -> None:
    named = lake.spark.table("lake.db.src_t")
    named.select("order_id", (F.col("amount") + 1).alias("a1")).write.parquet(lake.path("i12_name"))
    placed = lake.spark.read.format("iceberg").load(f"{lake.folder}/lake/db/src_t").where("amount > 2")
    placed.select("order_id", F.col("country").alias("land")).write.parquet(lake.path("i12_path"))


@_job
def i16a_chain(lake: Lakehouse) -> None:
    columns = ("order_id", "customer_id", F.col("amount").alias("net"))
    lake.orders.where("status <> 'OPEN'").select(*columns).writeTo("lake.db.chain1").create()


@_job
def i16b_chain(lake: Lakehouse) -> None:
    lake.spark.sql("""
        CREATE OR REPLACE TABLE lake.db.chain2 USING iceberg AS
        SELECT c.name, sum(x.net) AS total, count(*) AS n
        FROM lake.db.chain1 x JOIN customers c ON x.customer_id = c.customer_id GROUP BY c.name
    """)


@_job
def d01_path_write(lake: Lakehouse) -> None:
    value = (F.col("amount") * F.col("customer_id")).alias("val")
    rows = lake.orders.where("amount > 1").select("order_id", value, "country")
    rows.write.format("delta").mode("overwrite").save(lake.path("orders_d"))


@_job
def d02_merge_sql(lake: Lakehouse) -> None:
    lake.spark.sql(_MERGE.format(table=f"delta.`{lake.path('mrg_d')}`"))


@_job
def d04_update(lake: Lakehouse) -> None:
    lake.spark.sql(_UPDATE.format(table=f"delta.`{lake.path('upd_d')}`"))


@_job
def d06_save_as_table(lake: Lakehouse) -> None:
    columns = ("order_id", F.col("amount").alias("amt"), "status")
    lake.orders.select(*columns).write.format("delta").saveAsTable("sales_d")
    rows = lake.spark.table("sales_d").where("status = 'PAID'")
    rows.select("order_id", (F.col("amt") / 2).alias("half")).write.parquet(lake.path("d06_read"))


@_job
def d07_read_path(lake: Lakehouse) -> None:
    rows = lake.spark.read.format("delta").load(f"{lake.folder}/warehouse/sales_d")
    rows.groupBy("status").agg(F.avg("amt").alias("av")).write.parquet(lake.path("d07_path"))


@_job
def i15_metadata_table(lake: Lakehouse) -> None:
    files = lake.spark.table("lake.db.src_t.files")
    files.select("file_path", (F.col("record_count") * 2).alias("rc")).write.parquet(lake.path("i15_files"))
    snapshots = lake.spark.sql("SELECT snapshot_id AS sid, operation FROM lake.db.src_t.snapshots")
    snapshots.write.parquet(lake.path("i15_snaps"))


@_job
def n01_select(lake: Lakehouse) -> None:
    position = (F.col("address.geo.lat").alias("lat"), F.col("address.geo").alias("g"))
    rows = lake.customers.select("customer_id", F.col("address.city"), *position)
    rows.where("address.zip <> '0'").write.parquet(lake.path("n01"))


@_job
def n02a_struct(lake: Lakehouse) -> None:
    record = F.struct("order_id", F.struct(F.col("country").alias("c")).alias("loc")).alias("rec")
    measures = F.struct((F.col("amount") * 2).alias("dbl"), "status").alias("m")
    lake.orders.select(record, measures).write.parquet(lake.path("n02a"))


@_job
def n02b_read(lake: Lakehouse) -> None:
    columns = (F.col("rec.loc.c"), F.col("rec.loc").alias("whole"), (F.col("m.dbl") + 1).alias("d1"))
    rows = lake.spark.read.parquet(lake.path("n02a")).select(*columns).where("rec.order_id > 1")
    rows.write.parquet(lake.path("n02b"))


@_job
def n03_explode(lake: Lakehouse) -> None:
    exploded = lake.customers.select("customer_id", F.explode("items").alias("item"))
    value = (F.col("item.qty") * F.col("item.price")).alias("value")
    exploded.select("customer_id", F.col("item.sku").alias("sku"), value).write.parquet(lake.path("n03a"))
    queries = {
        "n03b": "SELECT customer_id, p, i.sku AS sku FROM customers"
        " LATERAL VIEW posexplode(items) x AS p, i WHERE i.qty > 1",
        "n03c": "SELECT customer_id, inline(items) FROM customers",
    }
    for name, query in queries.items():
        lake.spark.sql(query).write.parquet(lake.path(name))


@_job
def n05_withfield(lake: Lakehouse) -> None:
    address = F.col("address")
    changed = (
        address.withField("zip", F.upper("name")).alias("a1"),
        address.dropFields("zip", "geo.lon").alias("a2"),
        address.withField("geo.alt", F.col("customer_id") * 2).alias("a3"),
    )
    lake.customers.select("customer_id", *changed).write.parquet(lake.path("n05"))


@_job
def n06_star(lake: Lakehouse) -> None:
    lake.customers.select("customer_id", "address.*").write.parquet(lake.path("n06a"))
    rows = lake.orders.select(F.struct("*").alias("r"))
    rows.select("r.order_id", F.col("r.amount").alias("amt")).write.parquet(lake.path("n06b"))


@_job
def n07_map(lake: Lakehouse) -> None:
    queries = {
        "n07a": "SELECT customer_id, attrs['color'] AS color, map_keys(attrs) AS ks,"
        " element_at(attrs, name) AS e FROM customers",
        "n07b": "SELECT customer_id, k, upper(v) AS v FROM customers LATERAL VIEW explode(attrs) m AS k, v",
        "n07c": "SELECT order_id, map('st', status, 'co', country) AS m,"
        " map('st', status, 'co', country)['co'] AS co FROM orders",
    }
    for name, query in queries.items():
        lake.spark.sql(query).write.parquet(lake.path(name))


# Not in the capture.


@_job
def overwrite_partitions(lake: Lakehouse) -> None:
    rows = lake.orders.where("status = 'PAID'").select(
        "order_id", (-F.col("amount")).alias("amount"), "country"
    )
    rows.writeTo("lake.db.part_t").overwritePartitions()


@_job
def merge_on_read(lake: Lakehouse) -> None:
    lake.spark.sql("""
        MERGE INTO lake.db.mrgd_t t USING orders s ON t.order_id = s.order_id
        WHEN MATCHED AND s.status = 'OPEN' THEN DELETE
        WHEN MATCHED THEN UPDATE SET amount = t.amount + s.amount
        WHEN NOT MATCHED THEN INSERT *
    """)
    customers = "SELECT customer_id FROM customers WHERE name = 'n1'"
    lake.spark.sql(f"DELETE FROM lake.db.del3_t WHERE customer_id IN ({customers})")


@_job
def merge_of_batches(lake: Lakehouse) -> None:
    """A stream whose batches are merged, by Delta's own interface."""
    jvm: Any = lake.spark._jvm

    def merge(batch: DataFrame, number: int) -> None:
        table = jvm.io.delta.tables.DeltaTable.forPath(lake.spark._jsparkSession, lake.path("mrgs_d"))
        merged = table.alias("t").merge(batch.alias("s")._jdf, "t.order_id = s.order_id")
        updates = jvm.java.util.HashMap({"amount": "s.doubled + t.fee"})
        merged.whenMatched().updateExpr(updates).execute()

    orders = lake.spark.readStream.option("header", True).schema(_ORDERS).csv(f"{lake.folder}/in/*.csv")
    rows = orders.where("status = 'PAID'").select("order_id", (F.col("amount") * 2).alias("doubled"))
    stream = rows.writeStream.foreachBatch(merge).trigger(availableNow=True)
    stream.option("checkpointLocation", lake.path("checkpoint")).start().awaitTermination()


@_job
def streams_between_tables(lake: Lakehouse) -> None:
    """Streams with sinks of their own: from Iceberg to Iceberg, and on to Delta."""
    rows = lake.spark.readStream.format("iceberg").load("lake.db.src_t").where("country = 'DE'")
    lake.spark.sql("CREATE TABLE lake.db.str_t (id INT, amount DOUBLE) USING iceberg")
    selected = rows.select(F.col("order_id").alias("id"), (F.col("amount") * 2).alias("amount"))
    to_iceberg = selected.writeStream.format("iceberg").option("checkpointLocation", lake.path("state_i"))
    to_iceberg.trigger(availableNow=True).toTable("lake.db.str_t").awaitTermination()
    to_delta = selected.writeStream.format("delta").option("checkpointLocation", lake.path("state_d"))
    to_delta.trigger(availableNow=True).start(lake.path("str_d")).awaitTermination()


def run(folder: Path) -> dict[str, Any]:
    """Run all jobs; return the edges of each target, and what went wrong."""
    from lineage_merge import capture
    from lineage_merge.sources.spline.agent.plans import documents
    from lineage_merge.sources.spline.database_state import EVERYTHING
    from lineage_merge.sources.spline.documents import assemble
    from lineage_merge.sources.spline.translator import translate
    from tests.lakehouse_truth import edges

    messages: list[Any] = []
    with lakehouse_session(folder) as spark:
        lake = Lakehouse(spark, folder)
        listener = capture.install(spark, messages)
        assert listener is not None
        for job in JOBS.values():
            job(lake)
            assert listener.flush()
    elements: list[Any] = []
    errors = [str(body) for kind, body in messages if kind == "event" and "error" in body]
    if listener.counts.failed or listener.counts.dropped:
        errors.append(str(listener.counts))
    for kind, body in messages:
        if kind == "plan":
            plan, problems = assemble(body["id"], documents(body), EVERYTHING)
            errors += map(str, problems)
            elements += translate(plan)
    found = edges(elements)
    return {
        "values": [[*edge, "".join(sorted(kinds))] for edge, kinds in found.values.items()],
        "influences": [[*edge, "".join(sorted(kinds))] for edge, kinds in found.influences.items()],
        "errors": errors,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]))) + "\n")
