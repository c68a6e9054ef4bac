"""Time and memory of reading Spark's event logs, against `json.loads` of every line.

    python benchmarks/event_log.py                     # two logs of 60 MB, then of 500 MB
    python benchmarks/event_log.py --megabytes 100 2000

The logs of two applications are read at once, each by a process: so on two cores. The executions are
those of `tests/data/event_logs`; around them are made-up events of jobs, stages and tasks with the
fields that Spark 3.5 writes, which are nearly all of the bytes. Sides:

- `reader`: lines to plans and events, `lineage_merge.sources.spline.event_log.writes.read_writes`
- `json.loads`: each line is parsed
- `source on local[2]`: all of the source by Spark, to records with column lineage

Seconds are those of the clock, CPU seconds those of both processes (Python's workers of Spark), memory
is the peak of the larger one.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import options, results
from benchmarks.results import Figure

LOG = Path(__file__).resolve().parent.parent / "tests" / "data" / "event_logs" / "shop.jsonl"
APPLICATIONS = 2
LEAST_RATIO = 5.0
# Memory of the largest log, relative to the smallest.
MOST_GROWTH = 1.2
_STARTED = 1_795_915_771_000
_METRICS = """
executorDeserializeTime executorDeserializeCpuTime executorRunTime executorCpuTime resultSize
jvmGCTime resultSerializationTime memoryBytesSpilled diskBytesSpilled peakExecutionMemory
shuffle.read.remoteBlocksFetched shuffle.read.localBlocksFetched shuffle.read.remoteBytesRead
shuffle.read.localBytesRead shuffle.read.fetchWaitTime shuffle.read.recordsRead input.bytesRead
input.recordsRead
""".split()
_EXECUTOR_METRICS = """
JVMHeapMemory JVMOffHeapMemory OnHeapExecutionMemory OffHeapExecutionMemory OnHeapStorageMemory
OffHeapStorageMemory OnHeapUnifiedMemory OffHeapUnifiedMemory DirectPoolMemory MappedPoolMemory
ProcessTreeJVMVMemory ProcessTreeJVMRSSMemory ProcessTreePythonVMemory ProcessTreePythonRSSMemory
ProcessTreeOtherVMemory ProcessTreeOtherRSSMemory MinorGCCount MinorGCTime MajorGCCount MajorGCTime
TotalGCTime
""".split()
_TASK_METRICS = (
    "Executor Deserialize Time",
    "Executor Deserialize CPU Time",
    "Executor Run Time",
    "Executor CPU Time",
    "Peak Execution Memory",
    "Result Size",
    "JVM GC Time",
    "Result Serialization Time",
    "Memory Bytes Spilled",
    "Disk Bytes Spilled",
)
_CALL = "org.apache.spark.sql.DataFrameWriter.parquet(DataFrameWriter.scala:802)\n"
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What one side took; `found`: plans, lines or edges."""

    seconds: float
    cpu: float
    worker_mb: float
    found: int


def write_logs(folder: Path, megabytes: int) -> int:
    """Write the logs of the applications; return their bytes."""
    folder.mkdir()
    for number in range(APPLICATIONS):
        with (folder / f"application_{_STARTED}_{number:04}").open("wb") as out:
            for line in _lines(megabytes * 1_000_000):
                out.write(line)
    return sum(file.stat().st_size for file in folder.iterdir())


def _lines(size: int) -> Iterator[bytes]:
    """Yield the lines of a log: each execution with a job, whose tasks make the log as long as it is."""
    lines = LOG.read_bytes().splitlines(keepends=True)
    starts = sum(b"SQLExecutionStart" in line[:100] for line in lines)
    per_execution = (size - LOG.stat().st_size) // starts
    stage = 0
    for line in lines:
        yield line
        if b"SQLExecutionStart" in line[:100]:
            yield from _job(stage, json.loads(line)["executionId"], per_execution)
            stage += 1


def _job(stage: int, execution: int, size: int) -> Iterator[bytes]:
    properties = {"spark.sql.execution.id": str(execution), "spark.app.name": "shop"}
    properties |= {f"spark.hadoop.setting.{number}": "value" * 8 for number in range(40)}
    info = _stage_info(stage)
    job = {"Job ID": stage, "Submission Time": _STARTED, "Stage Infos": [info], "Stage IDs": [stage]}
    yield _line("JobStart", {**job, "Properties": properties})
    yield _line("StageSubmitted", {"Stage Info": info, "Properties": properties})
    start = _line("TaskStart", {"Stage ID": stage, "Task Info": _task_info("TASK")})
    end = _line("TaskEnd", _task_end(stage))
    left, task = size, 0
    while left > 0:
        for line in (start, end):
            made = line.replace(b'"TASK"', b"%d" % task)
            left -= len(made)
            yield made
        task += 1
    yield _line("StageCompleted", {"Stage Info": info})
    yield _line("JobEnd", {"Job ID": stage, "Job Result": {"Result": "JobSucceeded"}})


def _line(event: str, fields: Json) -> bytes:
    document = {"Event": f"SparkListener{event}", **fields}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _stage_info(stage: int) -> Json:
    rdds = [
        {
            "RDD ID": number,
            "Name": "MapPartitionsRDD",
            "Scope": json.dumps({"id": str(number), "name": f"WholeStageCodegen ({number})"}),
            "Callsite": "parquet at NativeMethodAccessorImpl.java:0",
            "Parent IDs": [number - 1],
            "Storage Level": {"Use Disk": False, "Use Memory": False, "Replication": 1},
            "Number of Partitions": 200,
        }
        for number in range(1, 8)
    ]
    name = "parquet at NativeMethodAccessorImpl.java:0"
    return {"Stage ID": stage, "Stage Name": name, "RDD Info": rdds, "Details": _CALL * 12}


def _task_info(task: int | str, **more: Any) -> Json:
    info = {"Task ID": task, "Index": task, "Attempt": 0, "Partition ID": task, "Launch Time": _STARTED}
    return {**info, "Executor ID": "7", "Host": "ip-10-0-0-7", "Locality": "PROCESS_LOCAL", **more}


def _task_end(stage: int) -> Json:
    accumulables = [
        {
            "ID": number,
            "Name": f"internal.metrics.{name}",
            "Update": 68_450_269,
            "Value": 968_450_269,
            "Internal": True,
            "Count Failed Values": True,
        }
        for number, name in enumerate(_METRICS)
    ]
    shuffle = {"Remote Blocks Fetched": 0, "Local Blocks Fetched": 12, "Local Bytes Read": 4_711_000}
    return {
        "Stage ID": stage,
        "Task Type": "ShuffleMapTask",
        "Task End Reason": {"Reason": "Success"},
        "Task Info": _task_info("TASK", Accumulables=accumulables),
        "Task Executor Metrics": dict.fromkeys(_EXECUTOR_METRICS, 0),
        "Task Metrics": {**dict.fromkeys(_TASK_METRICS, 968_450_269), "Shuffle Read Metrics": shuffle},
    }


def _read_log(folder: str, log: int) -> int:
    """Read the plans of a log; return their number."""
    from lineage_merge.sources.spline.event_log.log_files import find_logs, read_lines
    from lineage_merge.sources.spline.event_log.writes import read_writes

    found = find_logs([folder])[log]
    return sum(1 for _ in read_writes(found.location, read_lines(found)))


def _parse_lines(folder: str, log: int) -> int:
    """Parse every line of a log; return their number."""
    with sorted(Path(folder).iterdir())[log].open("rb") as lines:
        return sum(json.loads(line) is not None for line in lines)


SIDES: dict[str, Callable[[str, int], int]] = {"reader": _read_log, "json.loads": _parse_lines}
_SOURCE = "source on local[2]"


def _measure_one(side: str, folder: str, log: int) -> tuple[int, tuple[float, float], int]:
    found = SIDES[side](folder, log)
    return (*_used(log), found)


def measure(side: str, folder: Path, small: Path) -> Case:
    """Read all logs, each in a process of its own that has read a small one before."""
    logs = range(APPLICATIONS)
    cpu = 0.0
    with ProcessPoolExecutor(APPLICATIONS, mp_context=get_context("spawn")) as pool:
        for _, (before, _), _ in pool.map(partial(_measure_one, side, str(small)), logs):
            cpu -= before
        start = time.perf_counter()
        done = list(pool.map(partial(_measure_one, side, str(folder)), logs))
        seconds = time.perf_counter() - start
    assert len({process for process, _, _ in done}) == APPLICATIONS
    cpu += sum(used for _, (used, _), _ in done)
    return Case(seconds, cpu, max(peak for _, (_, peak), _ in done), sum(found for _, _, found in done))


def measure_source(folder: Path) -> Case:
    """Read the source on Spark, in this process and its workers."""
    from lineage_merge.config import SparkOptions
    from lineage_merge.infra.engine.on_spark import SparkEngine
    from lineage_merge.infra.spark_session import session
    from lineage_merge.merge import dataset_resolver
    from lineage_merge.model.elements import Feeds, FeedsColumn
    from lineage_merge.orchestration.configuration import CONFIGURATION
    from lineage_merge.sources.spline.event_log.source import EVENT_LOG

    section = {"logs": str(folder)}
    config = CONFIGURATION.parse({"dag_name": "benchmark", "environment": "dev", "event_log": section})
    with session(SparkOptions(master="local[2]")) as spark:
        engine = SparkEngine(spark)
        start = time.perf_counter()
        records = EVENT_LOG.read(engine, config, dataset_resolver.from_config(config))
        edges = records.filter(lambda row: isinstance(row, Feeds | FeedsColumn)).count()
        seconds = time.perf_counter() - start
        workers = dict(spark.sparkContext.parallelize(range(8), 8).map(_used).collect())
        engine.unpersist_all()
    used = workers.values()
    return Case(seconds, sum(cpu for cpu, _ in used), max(peak for _, peak in used), edges)


def _used(_number: int) -> tuple[int, tuple[float, float]]:
    """Return the id of a process, its CPU seconds and its peak memory."""
    time.sleep(0.05)  # so that each process gets one
    used = resource.getrusage(resource.RUSAGE_SELF)
    return os.getpid(), (used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def run_source(folder: Path) -> Case:
    """Measure the source in a process of its own."""
    command = [sys.executable, __file__, "--measure", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Case(**json.loads(done.stdout.splitlines()[-1]))


def _figures(sizes: list[int]) -> Iterator[Figure]:
    print(f"{'':>19} {'seconds':>8} {'GB/min':>7} {'CPU s':>7} {'MB':>6} {'found':>10}")
    memory: list[float] = []
    with tempfile.TemporaryDirectory() as temporary:
        small = Path(temporary) / "small"
        write_logs(small, 1)
        for megabytes in sizes:
            folder = Path(temporary) / str(megabytes)
            written = write_logs(folder, megabytes)
            name = f"{APPLICATIONS} logs of {megabytes:,} MB"
            found = {side: measure(side, folder, small) for side in SIDES}
            found[_SOURCE] = run_source(folder)
            for side, case in found.items():
                speed = written / 1e9 / case.seconds * 60
                print(
                    f"{name:>19} {case.seconds:>8.2f} {speed:>7.1f} {case.cpu:>7.2f} {case.worker_mb:>6.0f}"
                    f" {case.found:>10,} {side}",
                    flush=True,
                )
                yield Figure(name, side, speed, "GB/min")
                yield Figure(name, f"{side}, memory of a process", case.worker_mb, "MB")
            ours, plain = found["reader"], found["json.loads"]
            ratio, cpu = plain.seconds / ours.seconds, plain.cpu / ours.cpu
            print(f"{name:>19} json.loads / reader: {ratio:.1f}, CPU {cpu:.1f}", flush=True)
            yield Figure(name, "json.loads / reader", ratio, "times")
            limit = {"at_least": LEAST_RATIO} if megabytes == max(sizes) else {}
            yield Figure(name, "json.loads / reader, CPU", cpu, "times", **limit)
            memory.append(ours.worker_mb)
    growth = max(memory) / min(memory)
    print(f"memory of the largest / smallest: {growth:.2f}")
    shown = f"{max(sizes):,} MB / {min(sizes):,} MB"
    yield Figure(shown, "reader, memory of a process", growth, "times", at_most=MOST_GROWTH)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, nargs="+", default=[60, 500], help="of each log")
    parser.add_argument("--measure", metavar="FOLDER", help=argparse.SUPPRESS)
    options.add_to(parser, smallest={"megabytes": [1, 2]})
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(asdict(measure_source(Path(arguments.measure)))))
        return
    results.append(arguments.results, "event_log", [*_figures(arguments.megabytes)])


if __name__ == "__main__":
    main()
