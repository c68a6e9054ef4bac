"""Makes `tests/data/event_logs`: the log of a small job of Spark, with the lines and paths that matter.

    python -m tests.event_log_recipe

Run in an environment with PySpark and Java.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data" / "event_logs"
_ORDERS = "id,customer,amount,day,country,status\n1,7,10.5,2026-01-02,DE,PAID\n2,8,3.0,2026-01-03,FR,OPEN\n"
_CUSTOMERS = "customer,name,segment,manager\n7,Ann,A,8\n8,Ben,B,\n"
_EVENTS = '{"id": 1, "tags": ["a", "b"], "address": {"city": "Bonn", "zip": "1"}}\n'
_SQL = "org.apache.spark.sql.execution.ui.SparkListener"
_RUN = "jr_" + "0a1b" * 16
_PROPERTIES = ("spark.app.name", "spark.glue.JOB_NAME", "spark.glue.JOB_RUN_ID", "spark.master")
_CATALOGS = "spark.sql.catalog."


def main() -> None:
    """Run the job and write its log."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        _run(place)
        [log] = (place / "logs").iterdir()
        lines = [keep(json.loads(line)) for line in log.read_text("utf-8").splitlines()]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines if line)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "shop.jsonl").write_text(text.replace(str(place), "/data"), "utf-8")


def _run(place: Path) -> None:
    from pyspark.sql import SparkSession, Window
    from pyspark.sql import functions as sql
    from pyspark.sql.types import IntegerType

    (place / "logs").mkdir()
    (place / "in").mkdir()
    (place / "in" / "orders").write_text(_ORDERS)
    (place / "in" / "customers").write_text(_CUSTOMERS)
    (place / "in" / "events").write_text(_EVENTS)
    spark = (
        SparkSession.builder.master("local[1]")
        .appName(f"nativespark-shop_daily-{_RUN}")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.rolling.enabled", "false")
        .config("spark.eventLog.dir", f"file://{place}/logs")
        .config("spark.sql.warehouse.dir", f"file://{place}/warehouse")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.glue.JOB_NAME", "shop_daily")
        .config("spark.glue.JOB_RUN_ID", _RUN)
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    orders_type = "id int, customer int, amount double, day string, country string, status string"
    orders = spark.read.csv(f"{place}/in/orders", orders_type, header=True)
    customers_type = "customer int, name string, segment string, manager int"
    customers = spark.read.csv(f"{place}/in/customers", customers_type, header=True)
    events_type = "id int, tags array<string>, address struct<city:string, zip:string>"
    events = spark.read.json(f"{place}/in/events", events_type)
    orders.createOrReplaceTempView("orders")
    customers.createOrReplaceTempView("customers")
    paid = orders.where("status = 'PAID'").join(customers, "customer")

    def save(frame: Any, name: str) -> None:
        frame.write.mode("overwrite").parquet(f"{place}/out/{name}")

    save(
        paid.groupBy("segment").agg(sql.sum("amount").alias("total"), sql.countDistinct("id").alias("n")),
        "totals",
    )
    newest = Window.partitionBy("customer").orderBy(sql.col("day").desc())
    save(
        orders.withColumn("rank", sql.row_number().over(newest)).where("rank = 1").select("id", "rank"),
        "newest",
    )
    save(orders.select("id", "amount").union(orders.select("customer", sql.lit(0.0))), "both")
    save(orders.groupBy("country").pivot("status", ["PAID", "OPEN"]).agg(sql.sum("amount")), "pivot")
    save(events.select("id", sql.explode("tags").alias("tag"), "address.city"), "tags")
    save(
        customers.alias("c")
        .join(customers.alias("m"), sql.expr("c.manager = m.customer"))
        .selectExpr("c.name", "m.name as boss"),
        "bosses",
    )
    save(
        spark.sql(
            "select id, (select max(amount) from orders) as most from orders"
            " where customer in (select customer from customers where segment = 'A')"
        ),
        "most",
    )
    save(
        spark.sql(
            "select country, status, sum(amount) as total, grouping(status) as g"
            " from orders group by country, status with rollup"
        ),
        "rollup",
    )
    spark.sql(
        f"create table sales using parquet location 'file://{place}/sales'"
        " as select id, amount * 2 as double_amount from orders where country = 'DE'"
    )
    save(spark.table("sales").select("double_amount"), "copy")
    cached = orders.withColumn("half", sql.col("amount") / 2).cache()
    cached.count()
    save(cached.select("id", "half"), "halves")
    orders.write.partitionBy("country").mode("overwrite").orc(f"{place}/out/by_country")
    save(orders.select(sql.udf(lambda text: text, "string")("status").alias("called")), "called")
    save(
        orders.select(
            sql.lit("a#1, b#2 AS c#3").alias("odd"), sql.concat(sql.lit(", "), "status").alias("x,y")
        ),
        "odd",
    )

    def fail(_: int) -> int:
        raise ValueError("a row: 7")

    with contextlib.suppress(Exception):  # as it should
        save(orders.select(sql.udf(fail, IntegerType())("id").alias("bad")), "failed")
    orders.orderBy("amount").limit(1).select("id").write.mode("overwrite").json(f"{place}/out/cheapest")
    spark.sql("create table taken (id int) using parquet")
    spark.sql("insert into taken select id from orders")
    spark.stop()


def keep(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return what matters of an event, None for one that does not."""
    kind = str(event.get("Event")).removeprefix(_SQL).removeprefix("SparkListener")
    if kind == "EnvironmentUpdate":
        properties = event["Spark Properties"]
        kept = [key for key in properties if key.startswith(_CATALOGS) or key in _PROPERTIES]
        event = {"Event": event["Event"], "Spark Properties": {key: properties[key] for key in kept}}
    elif kind == "SQLExecutionStart":
        for name in ("details", "modifiedConfigs", "jobTags"):
            event.pop(name, None)
    elif kind == "SQLExecutionEnd":
        event["errorMessage"] = str(event.get("errorMessage") or "").split("\n")[0]
    elif kind == "SQLAdaptiveExecutionUpdate":
        event["physicalPlanDescription"] = ""
    elif kind not in ("LogStart", "ApplicationStart", "ApplicationEnd", "DriverAccumUpdates"):
        return None
    return event


def lines(name: str = "shop.jsonl") -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a log, each with its location."""
    for number, line in enumerate((FOLDER / name).read_bytes().splitlines(), 1):
        yield f"{name}, line {number}", line


if __name__ == "__main__":
    main()
