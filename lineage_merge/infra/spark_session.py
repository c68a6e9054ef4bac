"""The Spark session: the active one (Glue, EMR), or a local one; and the number of its shuffle partitions."""

import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from math import ceil
from pathlib import Path
from socketserver import BaseServer
from subprocess import Popen, TimeoutExpired
from threading import Thread
from typing import Any, Protocol

import pyspark
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from lineage_merge.infra.embedded.class_archive import ClassArchive, class_archive
from lineage_merge.infra.embedded.jars import spark_kafka_options
from lineage_merge.infra.embedded.java import java_home
from lineage_merge.infra.input_budget import BYTES_PER_PARTITION
from lineage_merge.infra.progress import no_progress
from lineage_merge.model.errors import LineageMergeError

# Set, to any value, in a session whose number of partitions may be changed.
ADJUSTABLE = "spark.lineage_merge.partitions"
MIN_PARTITIONS = 2

_NUMBER = "spark.sql.shuffle.partitions"


def fit_partitions(spark: SparkSession, input_bytes: int) -> None:
    """Raise the number of shuffle partitions to fit this much text, in a local session started here.

    Small input needs few: its time goes into tasks, not rows. For large input, each partition must fit into
    the memory of a task. Other sessions (Glue, EMR) have their own setting.
    """
    number = ceil(input_bytes / BYTES_PER_PARTITION)
    if spark.conf.get(ADJUSTABLE, None) and number > int(spark.conf.get(_NUMBER) or 0):
        spark.conf.set(_NUMBER, number)


_ENDING_SECONDS = 5
_ARCHIVING_SECONDS = 120
# Variables of a JVM that runs already, and of folders on the class path: an archive is of jars alone.
_OTHER_CLASSES = (
    "PYSPARK_GATEWAY_PORT",
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
)
# C1 alone has a code cache of 48 MB, of which a first build fills 35 MB: a long session would evict and
# recompile code. The default collector runs concurrently, which takes a tenth of the CPU time on few cores.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseParallelGC"

# For one machine and small input, where a cold JVM dominates: compile quickly, plan once, and interpret
# instead of generating code.
_LOCAL = {
    "spark.ui.enabled": "false",
    _NUMBER: str(MIN_PARTITIONS),
    ADJUSTABLE: "fitted",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.reuse": "true",
    # Spark 4's default requires pandas, and warns without it.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
    "spark.python.daemon.module": "lineage_merge.infra.embedded.python_workers",
}


class SessionOptions(Protocol):
    """Options of a session that is started here.

    `master`: "" for the cluster's or `local[*]`. `partitions`: 0 for a number that fits the input. `kafka`:
    the session reads from Kafka.
    """

    @property
    def master(self) -> str: ...

    @property
    def partitions(self) -> int: ...

    @property
    def kafka(self) -> bool: ...


def _nothing() -> None:
    pass


@contextmanager
def session(
    options: SessionOptions,
    on_progress: Callable[[str], None] = no_progress,
    meanwhile: Callable[[], object] = _nothing,
) -> Iterator[SparkSession]:
    """Yield the active Spark session, or start one and stop it at the end.

    `meanwhile` runs in a thread while the JVM starts, such as to import modules; it should not raise.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    on_progress("starting Spark")
    on_cluster = "SPARK_ENV_LOADED" in os.environ or "SPARK_HOME" in os.environ
    master = options.master or ("" if on_cluster else "local[*]")
    archive = spark_archive() if master.startswith("local") else ClassArchive()
    with _archive_at_end(archive, on_progress):
        spark = _start(options, master, archive, on_progress, meanwhile)
        with _stop_at_end(spark):
            _cache_jvm_names(spark)
            _suppress_tracebacks(spark)
            yield spark


def _start(
    options: SessionOptions,
    master: str,
    archive: ClassArchive,
    on_progress: Callable[[str], None],
    meanwhile: Callable[[], object],
) -> SparkSession:
    # Otherwise local workers run the python3 on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lineage_merge")
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        log4j = files("lineage_merge.infra.embedded").joinpath("spark-log4j2.properties")
        java_options = f"{_JAVA} {shlex.join(archive.java_options)} -Dlog4j2.configurationFile={log4j}"
        builder = builder.config("spark.driver.extraJavaOptions", java_options)
        for key, value in _LOCAL.items():
            builder = builder.config(key, value)
    if master:
        builder = builder.master(master)
    if options.kafka and master.startswith("local"):
        # A cluster's session is started with these jars; a local one needs them here.
        for key, value in spark_kafka_options(on_progress).items():
            builder = builder.config(key, value)
    if options.partitions:
        builder = builder.config(_NUMBER, str(options.partitions))
        builder = builder.config(ADJUSTABLE, "")
    # A daemon: an error of the start does not wait for it.
    Thread(target=meanwhile, name="while Spark starts", daemon=True).start()
    try:
        return builder.getOrCreate()
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise LineageMergeError(f"Spark does not start: {reason}") from error


def spark_archive() -> ClassArchive:
    """Return what the JVM of a local session does with archives of its classes; sets ``JAVA_HOME``."""
    if "JAVA_HOME" not in os.environ:
        os.environ["JAVA_HOME"] = str(java_home())
    installed = Path(pyspark.__file__).parent
    if (
        SparkContext._gateway is not None
        or any(name in os.environ for name in _OTHER_CLASSES)
        or (installed / "conf").exists()
    ):
        return ClassArchive()
    return class_archive("spark", Path(os.environ["JAVA_HOME"]), [installed / "jars"])


@contextmanager
def _archive_at_end(archive: ClassArchive, on_progress: Callable[[str], None]) -> Iterator[None]:
    """End the JVM if it writes its classes then; a later session of this process starts another."""
    try:
        yield
    except BaseException:
        if archive.work:
            _end_jvm(waits=False)  # else it would write them after this process, and say that it cannot
        archive.abandon()
        raise
    if archive.work:
        on_progress("storing Spark's classes for faster starts")
        archive.store(_end_jvm)


def _end_jvm(*, waits: bool = True) -> None:
    gateway: Any = SparkContext._gateway
    process: Popen[bytes] | None = getattr(gateway, "proc", None)  # missing if Spark started Python
    if process is None or process.stdin is None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    if waits:
        process.stdin.close()  # which it reads, to end with this process
        with suppress(TimeoutExpired):
            process.wait(_ARCHIVING_SECONDS)
    process.kill()


@contextmanager
def _stop_at_end(spark: SparkSession) -> Iterator[None]:
    """Stop Spark at the end; if the JVM has ended, raise that instead of the resulting error."""
    try:
        yield
    except Exception as error:
        if not _jvm_has_ended(spark, error):
            raise
        raise LineageMergeError("Spark's JVM ended: it was killed, or had no memory left") from error
    finally:
        with suppress(Py4JError, OSError):
            spark.stop()


def _suppress_tracebacks(spark: SparkSession) -> None:
    """Suppress tracebacks of PySpark's accumulator server and of Py4J after the JVM has ended.

    The error of the session reports it in one line.
    """
    logging.getLogger().addFilter(_is_not_of_py4j)
    accumulators = getattr(spark.sparkContext, "_accumulatorServer", None)
    if accumulators is not None:
        quiet_server(accumulators)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Whether a record of the root logger is not from Py4J, whose errors reach the caller anyway."""
    return record.module != "java_gateway"


def quiet_server(server: BaseServer) -> None:
    """Suppress tracebacks of a server for connections that the other side closed."""
    original = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            original(request, address)

    server.handle_error = handle_error  # type: ignore[method-assign, assignment]


def _jvm_has_ended(spark: SparkSession, error: Exception) -> bool:
    gateway: Any = spark.sparkContext._gateway
    process = getattr(gateway, "proc", None)  # missing if Spark started Python
    if process is None:
        return False
    if isinstance(error, Py4JNetworkError | OSError):
        # Its sockets close a moment before the process ends.
        with suppress(TimeoutExpired):
            process.wait(_ENDING_SECONDS)
    return process.poll() is not None


# Names that PySpark uses in nearly every call.
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


def _cache_jvm_names(spark: SparkSession) -> None:
    """Resolve these names in the JVM once, and set them as attributes of Py4J's objects.

    PySpark resolves them at each use: the JVM then searches each imported package in its 300 jars, a tenth of
    its time for small input.
    """
    for name in _NAMES:
        parent: Any = spark.sparkContext._jvm
        with suppress(Py4JError):  # other versions of PySpark may have other names
            for part in name.split("."):
                child = getattr(parent, part)
                setattr(parent, part, child)
                parent = child
