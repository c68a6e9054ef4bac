"""What the session that the package starts spares a build over small input."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 # usual name

pytestmark = pytest.mark.jvm


def test_names_that_pyspark_uses_all_the_time_are_looked_up_once(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    asked: list[str] = []
    client = jvm._gateway_client
    send = client.send_command

    def listening(command: str, *rest: Any, **options: Any) -> Any:
        kind, what, *words = command.split("\n")
        if (kind, what) == ("r", "u"):  # Py4J's protocol: reflection, of a name that is not known
            asked.append(words[0])
        return send(command, *rest, **options)

    client.send_command = listening
    try:
        rows = spark.createDataFrame([(1, "a")], "n int, t string").persist()
        rows.select(F.col("n") + F.lit(1), F.upper("t")).collect()
    finally:
        client.send_command = send

    assert asked == []


def test_the_jvm_compiles_and_collects_as_suits_a_long_session_on_few_cores(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    management = jvm.java.lang.management.ManagementFactory
    pools = {pool.getName(): pool.getUsage().getMax() for pool in management.getMemoryPoolMXBeans()}
    code = sum(size for name, size in pools.items() if name.startswith("Code"))
    assert code == 240 << 20
    assert {bean.getName() for bean in management.getGarbageCollectorMXBeans()} == {
        "PS MarkSweep",
        "PS Scavenge",
    }
