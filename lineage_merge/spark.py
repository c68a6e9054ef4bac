"""The Spark session: the one that runs already (Glue, EMR), or a local one."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lineage_merge import errors
from lineage_merge.config import SparkOptions
from lineage_merge.embedded import spark_kafka
from lineage_merge.embedded.java import java_home
from lineage_merge.errors import DocumentError, LineageMergeError
from lineage_merge.progress import silent

# For one machine and small input: the time goes into a cold JVM, so compile quickly, plan
# once, and interpret instead of generating code.
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "lineage_merge.embedded.python_workers",
}


@contextmanager
def session(options: SparkOptions, say: Callable[[str], None] = silent) -> Iterator[SparkSession]:
    """A Spark session. One that was started here is stopped at the end, one found is left."""
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    say("starting Spark")
    # Local workers otherwise run whichever python3 is on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lineage_merge")
    on_cluster = "SPARK_ENV_LOADED" in os.environ or "SPARK_HOME" in os.environ
    master = options.master or ("" if on_cluster else "local[*]")
    if master.startswith("local"):
        if "JAVA_HOME" not in os.environ:
            os.environ["JAVA_HOME"] = str(java_home())
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        log4j = files("lineage_merge").joinpath("embedded", "spark-log4j2.properties")
        java_options = f"-XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile={log4j}"
        builder = builder.config("spark.driver.extraJavaOptions", java_options)
        for key, value in _LOCAL.items():
            builder = builder.config(key, value)
    if master:
        builder = builder.master(master)
    if options.kafka and master.startswith("local"):
        # A cluster's session is started with it; here nobody else would think of it.
        builder = builder.config("spark.jars", ",".join(spark_kafka.jars(say)))
    if options.partitions:
        builder = builder.config("spark.sql.shuffle.partitions", str(options.partitions))
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        raise LineageMergeError(f"Spark does not start: {str(error).splitlines()[0]}") from error
    try:
        yield spark
    finally:
        spark.stop()


# How a worker's own error ends the Python traceback inside Spark's message.
_OWN_ERROR = re.compile(r"^lineage_merge\.errors\.(?P<type>\w+): (?P<message>.+)$", re.MULTILINE)


@contextmanager
def own_errors() -> Iterator[None]:
    """Take our own errors out of what Spark makes of them; others become one line."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        text = str(error)
        found = _OWN_ERROR.search(text)
        if found:
            raise _own(found["type"], found["message"].strip()) from None
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        causes = [line for line in lines if line.startswith("Caused by:") or re.match(r"\w+Error: ", line)]
        raise LineageMergeError(f"Spark failed: {(causes or lines)[-1][:300]}") from error


def _own(name: str, message: str) -> LineageMergeError:
    kind = getattr(errors, name, LineageMergeError)
    if kind is DocumentError:
        return DocumentError(*_parts(message))
    error: LineageMergeError = kind.__new__(kind)
    LineageMergeError.__init__(error, message)
    return error


def _parts(message: str) -> tuple[str, str, str]:
    """``document: field: problem`` as it was put together."""
    document, _, problem = message.partition(": ")
    return document, "", problem
