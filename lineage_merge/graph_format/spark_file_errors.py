"""Errors of Spark about files, as one line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lineage_merge.model.errors import IntermediateError, SourceError

_JAVA_CLASS = re.compile(r"^(?:[a-z][\w$]*\.)+[\w$]+: ")
_TRACEBACK = "Traceback (most recent call last)"
_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt): ")  # ends a traceback


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Translate errors about files, including Spark's, to one line."""
    try:
        yield
    except SourceError as error:
        raise IntermediateError(error.message) from None
    except (PySparkException, Py4JJavaError) as error:
        raise IntermediateError(f"{path}: {_cause(str(error))}") from None


def _cause(text: str) -> str:
    """Return the innermost cause in Spark's error text, without names of Java classes."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    of_python = [line for line in lines if _PYTHON_ERROR.match(line) and _TRACEBACK not in line]
    if of_python and _TRACEBACK in text:
        return of_python[-1][:300]
    causes = [line.removeprefix("Caused by:") for line in lines if line.startswith("Caused by:")]
    outer = [line.removeprefix(":") for line in lines if line.startswith(":")]
    cause = _JAVA_CLASS.sub("", [*lines[:1], *outer[:1], *causes][-1].strip())
    if "No FileSystem for scheme" in cause:
        return f"no connector in this Spark ({cause}). Fix: use a local folder"
    return cause[:300]
