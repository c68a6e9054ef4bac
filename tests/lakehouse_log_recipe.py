"""Makes logs of row-level changes, streams, and other forms of plans in `tests/data/event_logs`.

    python -m tests.lakehouse_log_recipe

Run in an environment with PySpark 3.5 and Java; the jars of Iceberg and Delta are fetched.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.capture.lakehouse_session import lakehouse_session
from tests.event_log_recipe import FOLDER, keep

_MODULE = "tests.lakehouse_log_recipe"
_EXECUTION = "spark.sql.execution.id"
_ORDERS = "id,customer,amount,country,status\n1,7,10.5,DE,PAID\n2,8,3.0,FR,OPEN\n"
_TYPE = "id int, customer int, amount double, country string, status string"
_ON_READ = "tblproperties ('format-version'='2', {})".format(
    ", ".join(f"'write.{name}.mode'='merge-on-read'" for name in ("merge", "update", "delete"))
)
_ICEBERG = """
on_read_merge: merge into {t} t
 using (select id, amount * 2 as twice, status from orders where customer > 0) s on t.id = s.id
 when matched and s.status = 'OPEN' then delete when matched then update set amount = s.twice
 when not matched then insert (id, amount) values (s.id, s.twice)
on_read_update: update {t} set amount = amount * 2, note = country where id > 3
on_read_delete: delete from {t} where amount > 4 and note is not null
on_read_delete_in: delete from {t} where id in (select id from orders where status = 'OPEN')
on_copy_delete_in: delete from {t} where id in (select id from orders where status = 'OPEN')
on_copy_subquery: update {t} set amount = (select max(amount) from orders) where country = 'DE'
metadata_delete: delete from {t} where country = 'DE'
"""
_DELTA = """
delta_delete: delete from {t} where status = 'OPEN' and amount > 3
delta_update: update {t} set address.city = upper(status), amount = amount + 1 where customer = 2
delta_merge: merge into {t} t using (select max(amount) as most, country from orders group by country) s
 on t.country = s.country when matched then update set amount = s.most
"""


def main() -> None:
    """Run each job in a process and a session of its own, and write the logs."""
    for job in ("lakehouse", "streams", "simple", "cut"):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            subprocess.run([sys.executable, "-m", _MODULE, job, folder], check=True)
            [log] = (place / "logs").iterdir()
            text = "".join(
                json.dumps(event, separators=(",", ":")) + "\n" for event in _select(log.read_text("utf-8"))
            )
        (FOLDER / f"{job}.jsonl").write_text(text.replace(str(place), "/data"), "utf-8")


def _select(log: str) -> Iterator[dict[str, Any]]:
    """Yield the events that matter; without the executions that read the log of Delta, which are many."""
    left_out: set[int] = set()
    for line in log.splitlines():
        event = _keep(json.loads(line))
        if event is None:
            continue
        plan = str(event.get("physicalPlanDescription") or "")
        if "_delta_log" in plan or "remove#" in plan or "add#" in plan:
            left_out.add(event["executionId"])
        if event.get("executionId") not in left_out:
            yield event


def run(job: str, folder: str) -> None:
    """Run a job."""
    place = Path(folder)
    (place / "logs").mkdir()
    (place / "in").mkdir()
    (place / "in" / "orders").write_text(_ORDERS)
    settings = {
        "spark_eventLog_enabled": "true",
        "spark_eventLog_compress": "false",
        "spark_eventLog_rolling_enabled": "false",
        "spark_eventLog_dir": f"file://{place}/logs",
        "spark_sql_adaptive_enabled": "true",
    }
    settings |= {"spark_sql_ui_explainMode": "simple"} if job == "simple" else {}
    settings |= {"spark_sql_maxPlanStringLength": "900"} if job == "cut" else {}
    with lakehouse_session(place, **settings) as spark:
        orders = spark.read.csv(f"{place}/in/orders", _TYPE, header=True)
        orders.createOrReplaceTempView("orders")
        {"lakehouse": _change_rows, "streams": _stream}.get(job, _query)(spark, orders, place)


def _keep(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return what matters of an event, also of streams and of jobs that read or save RDDs."""
    kind = str(event.get("Event")).rpartition(".")[2]
    if kind == "SparkListenerJobStart":
        stages = [
            {
                "Stage Name": stage["Stage Name"],
                "RDD Info": [
                    {name: rdd.get(name) for name in ("Name", "Callsite")} for rdd in stage["RDD Info"]
                ],
            }
            for stage in event["Stage Infos"]
        ]
        identifier = (event.get("Properties") or {}).get(_EXECUTION)
        named = {_EXECUTION: identifier} if identifier else {}
        return {"Event": event["Event"], "Stage Infos": stages, "Properties": named}
    if kind.startswith("StreamingQueryListener$Query") or kind == "CreateTableEvent":
        return event
    return keep(event)


def _change_rows(spark: Any, orders: Any, place: Path) -> None:
    for job in filter(None, _ICEBERG.replace("\n ", " ").splitlines()):
        name, _, statement = job.partition(": ")
        mode = _ON_READ if name.startswith("on_read") else ""
        columns = "id, amount, country, status as note"
        spark.sql(f"create table lake.db.{name} using iceberg {mode} as select {columns} from orders")
        spark.sql(statement.format(t=f"lake.db.{name}"))
    for job in filter(None, _DELTA.replace("\n ", " ").splitlines()):
        name, _, statement = job.partition(": ")
        path = f"{place}/delta/{name}"
        orders.selectExpr("*", "struct(country as city) as address").write.format("delta").save(path)
        spark.sql(statement.format(t=f"delta.`{path}`"))


def _stream(spark: Any, orders: Any, place: Path) -> None:
    spark.sql("create table lake.db.streamed (id int, twice double) using iceberg")
    stream = spark.readStream.csv(f"{place}/in", _TYPE, header=True).selectExpr("id", "amount * 2 as twice")

    def start(writer: Any, name: str) -> Any:
        return writer.option("checkpointLocation", f"{place}/{name}").trigger(availableNow=True)

    def save(batch: Any, _: int) -> None:
        batch.write.mode("append").parquet(f"{place}/out/by_batch")
        batch.groupBy().agg({"twice": "sum"}).toDF("total").write.mode("append").json(f"{place}/out/totals")

    start(stream.writeStream.format("parquet"), "c1").start(f"{place}/out/as_files").awaitTermination()
    start(stream.writeStream.foreachBatch(save), "c2").start().awaitTermination()
    start(stream.writeStream.format("iceberg"), "c3").toTable("lake.db.streamed").awaitTermination()
    start(stream.writeStream.format("delta"), "c4").start(f"{place}/out/as_delta").awaitTermination()
    start(stream.writeStream.format("memory").queryName("m"), "c5").start().awaitTermination()
    spark.sparkContext.textFile(f"{place}/in/orders").saveAsTextFile(f"{place}/out/text")
    lines = spark.sparkContext.textFile(f"{place}/in/orders").map(lambda line: (line,))
    spark.createDataFrame(lines, "line string").write.parquet(f"{place}/out/of_rdd")


def _query(spark: Any, orders: Any, place: Path) -> None:
    def save(name: str, query: str) -> None:
        spark.sql(query).write.parquet(f"{place}/out/{name}")

    save(
        "windows", "select id, row_number() over (partition by customer order by amount) as place from orders"
    )
    save(
        "selected",
        "select id from orders where customer in (select customer from orders where status = 'OPEN')",
    )
    save("above", "select country, sum(amount) * 2 as twice from orders where amount > 2 group by country")
    save(
        "share",
        "select id, amount / (select max(amount) from orders where status = 'PAID') as share from orders",
    )
    save("unfolded", "select id, explode(split(status, 'A')) as part from orders")


if __name__ == "__main__":
    run(*sys.argv[1:]) if sys.argv[1:] else main()
