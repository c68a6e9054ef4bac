"""Spark's Kafka source for a local session: no part of PySpark, so its jars are fetched when it is needed."""

from importlib.metadata import version

from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.embedded.maven_jars import Bundle, bundle_jars
from lineage_merge.infra.progress import ProgressCallback

# What PySpark has itself, and Hadoop's client, of which this needs nothing.
_LEFT_OUT = (
    "com.github.luben",
    "com.google.code.findbugs",
    "commons-logging",
    "org.apache.hadoop",
    "org.lz4",
    "org.scala-lang",
    "org.scala-lang.modules",
    "org.slf4j",
    "org.xerial.snappy",
)


def bundle(spark: str) -> Bundle:
    """The jars for a version of Spark such as ``3.5.7``."""
    line = ".".join(spark.split(".")[:2])
    scala = "2.12" if spark.startswith("3.") else "2.13"
    left_out = "\n".join(f'    <exclude org="{each}"/>' for each in _LEFT_OUT)
    # Not every repository has the newest patch of Spark: one before it fits as well.
    dependency = (
        f'    <dependency org="org.apache.spark" name="spark-sql-kafka-0-10_{scala}" '
        f'rev="[{line}.0,{spark}]" conf="default"/>'
    )
    return Bundle(f"Spark's Kafka source {line}", f"spark-kafka-{spark}", 10, f"{dependency}\n{left_out}")


def jars(on_progress: ProgressCallback) -> list[str]:
    """The paths of the jars for the PySpark that is installed; fetched once. Raises `EmbeddedError`."""
    found = bundle_jars(bundle(version("pyspark")), find_java(), on_progress)
    return sorted(str(jar) for jar in found.glob("*.jar"))
