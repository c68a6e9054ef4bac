"""Time and memory of reading a warehouse's history, by statements and by distinct statements.

    python benchmarks/query_log.py
    python benchmarks/query_log.py --statements 1000000 --fingerprints 3000

A made-up history of Redshift's views (inserts, updates, and queries of dashboards; each with other literals)
is read on Spark's `local[2]`, the whole source: files, sessions, lineage. Peak memory is that of the largest
Python worker. A history of as many distinct statements is what an implementation without fingerprints would
have to parse: both are read in this process, and their CPU time is compared.
"""

import argparse
import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import options, results
from benchmarks.results import Figure

_PER_FILE = 20_000
_COLUMNS = 12
_SESSIONS = 2_000
_MILLION = 1_000_000
_SECONDS = 180.0
NAMESPACE = "redshift://wh.us-east-1:5439"


@dataclass(frozen=True)
class Case:
    """What reading a history on Spark took; `cpu`: of the Python workers."""

    statements: int
    seconds: float
    cpu: float
    worker_mb: float
    edges: int


def write_history(folder: Path, statements: int, fingerprints: int, seed: int = 1) -> None:
    """Write the views of a history, its statements at random over sessions."""
    generator = random.Random(seed)
    tables = fingerprints // 3 + 1
    names = "database_name schema_name table_name column_name ordinal_position data_type"
    with _View(folder, "svv_all_columns", 0, names) as catalog:
        for number in range(tables):
            for schema in ("raw", "mart"):
                for column in range(_COLUMNS):
                    catalog.row("dw", schema, f"t{number}", f"c{column}", column + 1, "integer")
    names = (
        "user_id query_id query_label transaction_id session_id database_name status start_time end_time "
        "query_text username"
    )
    for first in range(0, statements, _PER_FILE):
        with (
            _View(folder, "sys_query_history", first, names) as history,
            _View(folder, "sys_transaction_history", first, "transaction_id status") as transactions,
        ):
            for query in range(first + 1, min(first + _PER_FILE, statements) + 1):
                text = _statement(generator.randrange(fingerprints), tables, generator.randrange(10**6))
                at = f"2026-11-02 {query // 3600 % 24:02}:{query // 60 % 60:02}:{query % 60:02}"
                session = generator.randrange(_SESSIONS)
                history.row(
                    100, query, "default", query, session, "dw", "success", at, f"{at}.5", text, "etl"
                )
                transactions.row(query, "committed")


class _View:
    """A file of a view."""

    def __init__(self, folder: Path, view: str, number: int, names: str) -> None:
        (folder / view).mkdir(parents=True, exist_ok=True)
        self._file = (folder / view / f"{number:09}.csv").open("w", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(names.split())

    def __enter__(self) -> "_View":
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def row(self, *values: object) -> None:
        """Write a row."""
        self._writer.writerow(values)


def _statement(fingerprint: int, tables: int, value: int) -> str:
    table, kind = divmod(fingerprint, 3)
    if kind == 0:
        return (
            f"insert into mart.t{table} (c0, c1, c2, c3)\n select a.c0, sum(a.c1 * {value}), "
            f"max(case when b.c4 = 'x{value}' then b.c5 else {value} end), count(*) "
            f"from raw.t{table} a join raw.t{(table + 1) % tables} b on a.c0 = b.c0 "
            f"where a.c6 between '2026-01-01' and '{value}' and b.c7 in ({value}, {value + 1}) group by a.c0"
        )
    if kind == 1:
        return (
            f"update mart.t{table} set c5 = s.c5, c6 = {value} from raw.t{table} s "
            f"where s.c0 = mart.t{table}.c0 and s.c9 = 'mail{value}@example.com'"
        )
    return f"select c0, c1 from mart.t{table} where c2 = {value} and c3 like '%{value}%' order by 1 limit 100"


def measure(folder: Path, statements: int) -> Case:
    """Read a history in this process and its workers."""
    from lineage_merge.config import SparkOptions
    from lineage_merge.infra.engine.on_spark import SparkEngine
    from lineage_merge.infra.spark_session import session
    from lineage_merge.model.elements import Feeds, FeedsColumn

    with session(SparkOptions(master="local[2]")) as spark:
        start = time.perf_counter()
        engine = SparkEngine(spark)
        records = _read(engine, folder)
        edges = records.filter(lambda row: isinstance(row, Feeds | FeedsColumn)).count()
        seconds = time.perf_counter() - start
        workers = dict(spark.sparkContext.parallelize(range(8), 8).map(_used).collect())
        engine.unpersist_all()
    cpu = sum(cpu for cpu, _ in workers.values())
    return Case(statements, seconds, cpu, max(peak for _, peak in workers.values()), edges)


def cpu_seconds(folder: Path) -> float:
    """Return the CPU time of reading a history in this process."""
    from lineage_merge.infra.engine.local import LocalEngine

    start = time.process_time()
    _read(LocalEngine(), folder).count()
    return time.process_time() - start


def _read(engine: Any, folder: Path) -> Any:
    from lineage_merge.merge import dataset_resolver
    from lineage_merge.orchestration.configuration import CONFIGURATION
    from lineage_merge.sources.registry import QUERY_LOG

    entry = {"format": "redshift", "path": str(folder), "namespace": NAMESPACE}
    config = CONFIGURATION.parse({"dag_name": "benchmark", "environment": "dev", "query_log": [entry]})
    return QUERY_LOG.read(engine, config, dataset_resolver.from_config(config))


def _used(_number: int) -> tuple[int, tuple[float, float]]:
    """Return the id of a worker, its CPU seconds and its peak memory."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return os.getpid(), (used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def run(folder: Path, statements: int) -> Case:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--measure", str(folder), "--statements", str(statements)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Case(**json.loads(done.stdout.splitlines()[-1]))


def _figures(statements: list[int], fingerprints: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as temporary:
        smallest = min(statements)
        seconds = {}
        for distinct in (fingerprints, smallest):
            folder = Path(temporary) / f"{smallest}_{distinct}"
            write_history(folder, smallest, distinct)
            seconds[distinct] = cpu_seconds(folder)
            print(
                f"{smallest:,} statements, {distinct:,} distinct: {seconds[distinct]:.1f} CPU s", flush=True
            )
        ratio = seconds[smallest] / seconds[fingerprints]
        print(f"parsing each statement takes {ratio:.1f} times as much CPU time as each fingerprint")
        yield Figure(f"{smallest:,} statements", "each is parsed / each fingerprint", ratio, "times")
        found = []
        for number in sorted(statements):
            folder = Path(temporary) / f"{number}_{fingerprints}"
            if not folder.exists():
                write_history(folder, number, fingerprints)
            case = run(folder, number)
            found.append(case)
            print(
                f"{number:,} statements on local[2]: {case.seconds:.1f} s, {case.cpu:.1f} CPU s, "
                f"{number / case.seconds:,.0f} a second, {case.worker_mb:,.0f} MB in a worker, "
                f"{case.edges:,} edges",
                flush=True,
            )
    largest = found[-1]
    name = f"{largest.statements:,} statements, {fingerprints:,} fingerprints"
    limit = {"at_most": _SECONDS} if largest.statements == _MILLION else {}
    yield Figure(name, "local[2]", largest.seconds, "s", **limit)
    yield Figure(name, "peak memory of a worker", largest.worker_mb, "MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--statements", type=int, nargs="+", default=[30_000, 1_000_000])
    parser.add_argument("--fingerprints", type=int, default=3_000)
    parser.add_argument("--measure", metavar="FOLDER", help=argparse.SUPPRESS)
    options.add_to(parser, smallest={"statements": [300], "fingerprints": 30})
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(asdict(measure(Path(arguments.measure), arguments.statements[0]))))
        return
    results.append(arguments.results, "query_log", [*_figures(arguments.statements, arguments.fingerprints)])


if __name__ == "__main__":
    main()
