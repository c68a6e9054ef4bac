"""Spark's Kafka source for local sessions: not part of PySpark, so its jars are fetched on demand."""

from importlib.metadata import version

from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.embedded.maven_jars import Bundle, bundle_jars
from lineage_merge.infra.progress import ProgressCallback

# Provided by PySpark, or unused (Hadoop's client).
_EXCLUDED = (
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
    """Return the jars for a Spark version such as ``3.5.7``."""
    line = ".".join(spark.split(".")[:2])
    scala = "2.12" if spark.startswith("3.") else "2.13"
    excluded = "\n".join(f'    <exclude org="{each}"/>' for each in _EXCLUDED)
    # Some repositories lack the newest patch release: an earlier one is compatible.
    dependency = (
        f'    <dependency org="org.apache.spark" name="spark-sql-kafka-0-10_{scala}" '
        f'rev="[{line}.0,{spark}]" conf="default"/>'
    )
    return Bundle(f"Spark's Kafka source {line}", f"spark-kafka-{spark}", 10, f"{dependency}\n{excluded}")


def jars(on_progress: ProgressCallback) -> list[str]:
    """Return the paths of the jars for the installed PySpark; fetched once. Raises `EmbeddedError`."""
    found = bundle_jars(bundle(version("pyspark")), find_java(), on_progress)
    return sorted(str(jar) for jar in found.glob("*.jar"))
