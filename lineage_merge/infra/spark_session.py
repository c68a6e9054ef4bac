"""The Spark session: the one that runs already (Glue, EMR), or a local one."""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from socketserver import BaseServer
from subprocess import TimeoutExpired
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.infra import shuffle_partitions
from lineage_merge.infra.embedded import spark_kafka
from lineage_merge.infra.embedded.java import java_home
from lineage_merge.infra.progress import no_progress
from lineage_merge.model import errors
from lineage_merge.model.errors import DocumentError, LineageMergeError

_ENDING_SECONDS = 5
# The quick compiler alone would have 48 MB for what it compiles: a first build fills 35 of them, and a long
# session would throw code away and compile it again. The default collector works beside the program all the
# time, which on a few cores is a tenth of what the JVM does.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseParallelGC"

# For one machine and small input: the time goes into a cold JVM, so compile quickly, plan
# once, and interpret instead of generating code.
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": str(shuffle_partitions.FEWEST),
    shuffle_partitions.OURS: "fitted",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.reuse": "true",
    # Spark 4's default, for which it wants pandas, and says so where there is none.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
    "spark.python.daemon.module": "lineage_merge.infra.embedded.python_workers",
}


@contextmanager
def session(
    options: SparkOptions, on_progress: Callable[[str], None] = no_progress
) -> Iterator[SparkSession]:
    """A Spark session. One that was started here is stopped at the end, one found is left."""
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    on_progress("starting Spark")
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
        log4j = files("lineage_merge.infra.embedded").joinpath("spark-log4j2.properties")
        java_options = f"{_JAVA} -Dlog4j2.configurationFile={log4j}"
        builder = builder.config("spark.driver.extraJavaOptions", java_options)
        for key, value in _LOCAL.items():
            builder = builder.config(key, value)
    if master:
        builder = builder.master(master)
    if options.kafka and master.startswith("local"):
        # A cluster's session is started with it; here nobody else would think of it.
        builder = builder.config("spark.jars", ",".join(spark_kafka.jars(on_progress)))
    if options.partitions:
        builder = builder.config("spark.sql.shuffle.partitions", str(options.partitions))
        builder = builder.config(shuffle_partitions.OURS, "")
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise LineageMergeError(f"Spark does not start: {told}") from error
    with _stopped_at_the_end(spark):
        _remember_names(spark)
        _quiet_at_the_end(spark)
        yield spark


@contextmanager
def _stopped_at_the_end(spark: SparkSession) -> Iterator[None]:
    """Where the JVM has ended meanwhile, that is told, and not what failed for want of it."""
    try:
        yield
    except Exception as error:
        if not _jvm_has_ended(spark, error):
            raise
        raise LineageMergeError("Spark's JVM ended: it was killed, or had no memory left") from error
    finally:
        with suppress(Py4JError, OSError):
            spark.stop()


def _quiet_at_the_end(spark: SparkSession) -> None:
    """Let nobody print a traceback beside the one line that tells that the JVM has ended.

    PySpark's server of accumulators would, and Py4J where objects of the JVM are let go too late.
    """
    logging.getLogger().addFilter(_is_not_of_py4j)
    accumulators = getattr(spark.sparkContext, "_accumulatorServer", None)
    if accumulators is not None:
        quiet_server(accumulators)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """What the root logger is asked to log itself, and by whom: the caller gets the error, too."""
    return record.module != "java_gateway"


def quiet_server(server: BaseServer) -> None:
    """Let it print no traceback where only the other side has ended."""
    tell = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            tell(request, address)

    server.handle_error = handle_error  # type: ignore[method-assign, assignment]


def _jvm_has_ended(spark: SparkSession, error: Exception) -> bool:
    gateway: Any = spark.sparkContext._gateway
    process = getattr(gateway, "proc", None)  # none where Spark started Python, and not the other way
    if process is None:
        return False
    if isinstance(error, Py4JNetworkError | OSError):
        # Its sockets are closed a moment before it is gone.
        with suppress(TimeoutExpired):
            process.wait(_ENDING_SECONDS)
    return process.poll() is not None


# What PySpark uses in nearly every call, as it spells it.
_NAMES = (
    "functions",
    "PythonUtils",
    "PythonRDD",
    "SerDeUtil",
    "SimplePythonFunction",
    "SparkSession",
    "org.apache.spark.sql.types.StructType",
    "org.apache.spark.storage.StorageLevel",
)


def _remember_names(spark: SparkSession) -> None:
    """Ask the JVM once what these names stand for.

    PySpark asks at each use, and the JVM then looks for them in each package that is imported, in all of its
    300 jars: over small input a tenth of its time. What Py4J's objects have as attributes is not asked for.
    """
    for name in _NAMES:
        place: Any = spark.sparkContext._jvm
        with suppress(Py4JError):  # another version of PySpark may know other names
            for part in name.split("."):
                found = getattr(place, part)
                setattr(place, part, found)
                place = found


# How a worker's own error ends the Python traceback inside Spark's message.
_OWN_ERROR = re.compile(rf"^{re.escape(errors.__name__)}\.(?P<type>\w+): (?P<message>.+)$", re.MULTILINE)
# What Java says of its heap, and Spark of its own accounts of it.
_NO_MEMORY = re.compile(r"\bjava\.lang\.OutOfMemoryError\b|\bSparkOutOfMemoryError\b")


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
        if "Python worker exited unexpectedly" in text:  # what caused it is only that its pipe ended
            raise LineageMergeError("Spark failed: a Python worker was killed, or crashed") from error
        if _NO_MEMORY.search(text):
            raise LineageMergeError(
                "Spark ran out of memory: give it more (a local session: SPARK_DRIVER_MEMORY=4g), or cut its"
                " work into more parts (spark.partitions)"
            ) from error
        lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("at ")]
        causes = [line for line in lines if line.startswith("Caused by:") or re.match(r"\w+Error: ", line)]
        raise LineageMergeError(
            f"Spark failed: {(causes or lines or [type(error).__name__])[-1][:300]}"
        ) from error


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
