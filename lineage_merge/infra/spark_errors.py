"""Errors of Spark as those of this package. Imports neither PySpark nor Py4J."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lineage_merge.model import errors
from lineage_merge.model.errors import DocumentError, LineageMergeError

# How a worker's own error ends the Python traceback inside Spark's message.
_OWN_ERROR = re.compile(rf"^{re.escape(errors.__name__)}\.(?P<type>\w+): (?P<message>.+)$", re.MULTILINE)
# Out of memory: of the JVM, and of Spark's memory manager.
_NO_MEMORY = re.compile(r"\bjava\.lang\.OutOfMemoryError\b|\bSparkOutOfMemoryError\b")

_SPARK_ERRORS = frozenset(
    {("py4j.protocol", "Py4JJavaError"), ("pyspark.errors.exceptions.base", "PySparkException")}
)


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise errors of this package that workers raised as they are, other errors as one line."""
    try:
        yield
    except Exception as error:
        if not _is_of_spark(error):
            raise
        text = str(error)
        match = _OWN_ERROR.search(text)
        if match:
            raise _own(match["type"], match["message"].strip()) from None
        if "Python worker exited unexpectedly" in text:  # its cause is only the closed pipe
            raise LineageMergeError("Spark failed: a Python worker was killed, or crashed") from error
        if _NO_MEMORY.search(text):
            raise LineageMergeError(
                "Spark ran out of memory: increase it (local session: SPARK_DRIVER_MEMORY=4g), or set more"
                " partitions (spark.partitions)"
            ) from error
        lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("at ")]
        causes = [line for line in lines if line.startswith("Caused by:") or re.match(r"\w+Error: ", line)]
        raise LineageMergeError(
            f"Spark failed: {(causes or lines or [type(error).__name__])[-1][:300]}"
        ) from error


def _is_of_spark(error: Exception) -> bool:
    """Whether Spark raised an error, without an import of PySpark, which may not be in use."""
    return any((kind.__module__, kind.__name__) in _SPARK_ERRORS for kind in type(error).__mro__)


def _own(name: str, message: str) -> LineageMergeError:
    kind = getattr(errors, name, LineageMergeError)
    if kind is DocumentError:
        document, _, problem = message.partition(": ")
        return DocumentError(document, "", problem)
    error: LineageMergeError = kind.__new__(kind)
    LineageMergeError.__init__(error, message)
    return error
