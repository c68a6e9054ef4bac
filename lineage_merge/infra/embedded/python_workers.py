"""Daemon of Python workers for local Spark, in place of `pyspark.daemon` (``spark.python.daemon.module``).

Spark adds its jar and zipped Python files to the path of workers, invalidates import caches before each task
(`importlib.invalidate_caches`), and runs the garbage collector after each task. For small input this takes
longer than the tasks. Here the path is minimal, common modules are imported before the first fork, and
they are excluded from garbage collection.
"""

import gc
import sys
from importlib import import_module
from importlib.machinery import PathFinder

# Modules that nearly all tasks need; others are imported on demand. The first task waits for them.
_IMPORTED = ("pyspark.sql.types", "lineage_merge.sources.spline.translator")


def path_without_archives(path: list[str]) -> list[str]:
    """Return the path without jars, and without zip files unless PySpark is only in one of them."""
    remaining = [entry for entry in path if not entry.endswith((".jar", ".zip"))]
    if all(PathFinder.find_spec(package, remaining) for package in ("pyspark", "py4j")):
        return remaining
    return [entry for entry in path if not entry.endswith(".jar")]


def main() -> None:
    """Serve Spark's requests for workers until it closes the pipe."""
    sys.path[:] = path_without_archives(sys.path)
    sys.path_importer_cache.clear()
    manager = import_module("pyspark.daemon").manager
    for name in _IMPORTED:
        import_module(name)
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
