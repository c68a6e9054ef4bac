"""A Spark session with the catalog `lake` of Iceberg, and Delta in its own catalog; Spark 3.5, 4.0 or 4.1.

The jars are fetched into lineage_merge's cache. They have to be there when Java starts, so this is for
processes of their own.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import SparkSession

from lineage_merge.infra.embedded.jars import Bundle, bundle_jars
from lineage_merge.infra.embedded.java import java_home

_LOCKS = Path(__file__).parents[1] / "locks"
_EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "io.delta.sql.DeltaSparkSessionExtension",
)
# Iceberg closes connections to its jars by a package of the JDK.
_JAVA = "-XX:TieredStopAtLevel=1 --add-opens java.base/sun.net.www.protocol.jar=ALL-UNNAMED"


def jars() -> Path:
    """The folder with the jars for the installed Spark."""
    line = ".".join(version("pyspark").split(".")[:2])
    bundle = Bundle(f"Iceberg and Delta for Spark {line}", _LOCKS / f"lakehouse-spark-{line}.lock")
    return bundle_jars(bundle, lambda line: None)


@contextmanager
def lakehouse_session(folder: Path, **more: str) -> Iterator[SparkSession]:
    """The session; its tables are below the folder. `more`: settings, with _ for the dots in their names."""
    os.environ.setdefault("JAVA_HOME", str(java_home()))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {
        "spark.jars": ",".join(str(jar) for jar in sorted(jars().glob("*.jar"))),
        "spark.sql.extensions": ",".join(_EXTENSIONS),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": f"{folder}/lake",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.driver.extraJavaOptions": _JAVA,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        # Compiling the plans of Delta's log takes longer than running them.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.log.level": "ERROR",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    builder = SparkSession.builder.appName("lakehouse").master("local[1]")
    for key, value in options.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
