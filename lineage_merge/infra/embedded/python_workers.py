"""Daemon of Python workers for local Spark, in place of `pyspark.daemon` (``spark.python.daemon.module``).

Spark adds its jar and zipped Python files to the path of workers, invalidates import caches before each task
(`importlib.invalidate_caches`), and runs the garbage collector after each task. For small input this takes
longer than the tasks. Here the path is minimal, common modules are imported before the first fork, and
objects that outlive a task (modules, mostly) are excluded from garbage collection.

The standard library's check for Jython (`copy`, `pickle`: ``from org.python.core import ...``) takes the
folder `org` of a jar for a namespace package. As long as that package exists, each invalidation reads the
jar's index again, 50 ms per task.
"""

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

# Modules that nearly all tasks need; others are imported on demand. The first task waits for them.
_IMPORTED = ("pyspark.sql.types", "lineage_merge.sources.spline.translator")


def path_without_archives(path: list[str]) -> list[str]:
    """Return the path without jars, and without zip files unless PySpark is only in one of them."""
    remaining = [entry for entry in path if not entry.endswith((".jar", ".zip"))]
    if all(PathFinder.find_spec(package, remaining) for package in ("pyspark", "py4j")):
        return remaining
    return [entry for entry in path if not entry.endswith(".jar")]


def forget_archives() -> None:
    """Remove archives from the path, and what was imported from jars before that."""
    sys.path[:] = path_without_archives(sys.path)
    sys.modules.pop("org", None)
    sys.path_importer_cache.clear()


def freeze_before(worker: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that runs a task, so that it first excludes all present objects from collection.

    The collection after the last task left no garbage, so only a task's own objects are searched: without
    this, modules that tasks import are searched after each of them, 35 ms per task.
    """

    def run(*arguments: Any) -> Any:
        gc.freeze()
        return worker(*arguments)

    return run


def main() -> None:
    """Serve Spark's requests for workers until it closes the pipe."""
    forget_archives()
    daemon: Any = import_module("pyspark.daemon")
    for name in _IMPORTED:
        import_module(name)
    daemon.worker = freeze_before(daemon.worker)
    gc.freeze()
    daemon.manager()


if __name__ == "__main__":
    main()
