"""Sources of an RDD: the files reached through its dependencies. Nothing is run."""

import re
from typing import Any

from py4j.protocol import Py4JError

from lineage_merge.spark_capture.relations import items, jdbc
from lineage_merge.spark_capture.spark_metadata import RddSources

_INPUT = "mapreduce.input.fileinputformat.inputdir"
_MOST = 10_000
_CONSTANTS = frozenset({"ParallelCollectionRDD", "EmptyRDD"})


def rdd_sources(rdd: Any) -> RddSources:
    """Return the files below an RDD, and the RDDs without dependencies whose files are unknown."""
    uris: dict[str, None] = {}
    unknown: dict[str, None] = {}
    seen: set[int] = set()
    waiting = [rdd]
    while waiting and len(seen) < _MOST:
        each = waiting.pop()
        if each.id() in seen:
            continue
        seen.add(each.id())
        name = str(each.getClass().getSimpleName())
        found = _files(name, each)
        if found is not None:
            uris.update(dict.fromkeys(found))
            continue
        below = [dependency.rdd() for dependency in items(each.dependencies())]
        if not below and name not in _CONSTANTS:
            unknown[name] = None
        waiting.extend(below)
    return RddSources(tuple(sorted(uris)), tuple(sorted(unknown)))


def _files(name: str, rdd: Any) -> list[str] | None:
    """Return the files that an RDD itself reads; None if there are none, or they are unknown."""
    try:
        if name == "FileScanRDD":
            return _of_partitions(items(rdd.filePartitions()))
        if name == "DataSourceRDD":
            return None
        if name == "JDBCRDD":
            return list(jdbc(rdd.options()).uris)
        configuration = rdd.getConf()
        folders = configuration.get(_INPUT) if configuration is not None else None
    except (Py4JError, TypeError):
        return None
    # A comma in a path is escaped.
    return [re.sub(r"\\(.)", r"\1", each) for each in re.split(r"(?<!\\),", folders)] if folders else None


def _of_partitions(partitions: list[Any]) -> list[str]:
    """Return the folders of files, without Spark's part file names."""
    folders: dict[str, None] = {}
    for partition in partitions:
        for file in partition.files():
            folders[str(file.filePath().toString())] = None
    return list(folders)
