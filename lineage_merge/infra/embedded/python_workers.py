"""Starts the Python workers of a local Spark, in place of `pyspark.daemon` (``spark.python.daemon.module``).

Spark puts its own jar and its zipped Python files on the workers' path, and before each task lets
Python read their directories anew (`importlib.invalidate_caches`); after each task it collects
garbage. Over small input that takes longer than the tasks themselves. Here the path has only what
is needed, what every worker would import is there before the first is forked, and the collector
leaves it alone.
"""

import gc
import sys
from importlib import import_module
from importlib.machinery import PathFinder

# What tasks are made of; the rest is imported when a task needs it.
_IMPORTED = (
    "pyspark.sql.types",
    "lineage_merge.sources.spline.translator",
    "lineage_merge.load.writer",
)


def path_without_archives(path: list[str]) -> list[str]:
    """The path without jars, and without zip files (unless PySpark is in one of them only)."""
    kept = [entry for entry in path if not entry.endswith((".jar", ".zip"))]
    if all(PathFinder.find_spec(package, kept) for package in ("pyspark", "py4j")):
        return kept
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
