"""What `capture.install` costs a job of Spark: elapsed and processor time, per write and in per cent.

    python benchmarks/capture_agent.py --rounds 5

Each round runs the same job twice in one session, without and with the listener, which writes to a folder;
its installation and end count. The job joins two folders of Parquet, groups them, and writes the result
several times; the plan of each write has about a hundred columns and expressions. Figures are the medians of
elapsed and of processor seconds, of Python and Java. Linux only.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import options, results
from benchmarks.results import Figure
from benchmarks.small import Seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_PER_CENT = 2.0
MOST_MS_PER_WRITE = 150.0
COLUMNS = 50

_WITHOUT, _WITH = "without the listener", "with the listener"


def measure(rounds: int, warm_up: int, writes: int, rows: int) -> dict[str, list[Seconds]]:
    """Seconds of the job without and with the listener, round by round."""
    from lineage_merge.config import SparkOptions
    from lineage_merge.infra.spark_session import session

    found: dict[str, list[Seconds]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, session(SparkOptions()) as spark:
        _inputs(spark, folder, rows)
        for number in range(-warm_up, rounds):
            # Each is first as often as the other.
            for what in (_WITHOUT, _WITH) if number % 2 else (_WITH, _WITHOUT):
                took = _timed(spark, folder, f"{number}_{what == _WITH}", writes, what == _WITH)
                if number >= 0:
                    found[what].append(took)
    return found


def _inputs(spark: "SparkSession", folder: str, rows: int) -> None:
    numbers = (f"id * {each} as c{each}" for each in range(COLUMNS))
    spark.range(rows).selectExpr("id % 1000 as key", *numbers).write.parquet(f"{folder}/facts")
    spark.range(1000).selectExpr("id as key", "'x' as name").write.parquet(f"{folder}/names")


def _timed(spark: "SparkSession", folder: str, name: str, writes: int, with_listener: bool) -> Seconds:
    from lineage_merge import capture

    lineage = Path(folder, f"lineage_{name}")
    processor, start = _processor(spark), time.perf_counter()
    listener = capture.install(spark, lineage) if with_listener else None
    for number in range(writes):
        _write(spark, folder, f"{folder}/{name}_{number}", number)
    if listener:
        listener.close()
    took = Seconds(time.perf_counter() - start, _processor(spark) - processor)
    if listener:
        lines = [line for file in lineage.iterdir() for line in file.read_text().splitlines()]
        assert len(lines) == 2 * writes, "a write is not recorded"
    return took


def _write(spark: "SparkSession", folder: str, target: str, number: int) -> None:
    from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

    facts, names = spark.read.parquet(f"{folder}/facts"), spark.read.parquet(f"{folder}/names")
    sums = (F.sum(F.col(f"c{each}") + number).alias(f"s{each}") for each in range(COLUMNS))
    joined = facts.join(names, "key").where(F.col("c1") > number)
    joined.groupBy("name", "key").agg(*sums).write.parquet(target)


def _processor(spark: "SparkSession") -> float:
    """Processor seconds of Python and of Java so far."""
    java = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    fields = Path(f"/proc/{java}/stat").read_text().rpartition(")")[2].split()
    of_java = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return of_java + time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--warm-up", type=int, default=1, metavar="ROUNDS", help="rounds that do not count")
    parser.add_argument("--writes", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the larger input")
    options.add_to(parser, smallest={"rounds": 1, "warm_up": 0, "writes": 1, "rows": 1000})
    arguments = parser.parse_args()
    taken = measure(arguments.rounds, arguments.warm_up, arguments.writes, arguments.rows)
    case = f"{arguments.writes} writes of {arguments.rows:,} rows"
    results.append(arguments.results, "capture_agent", list(_figures(case, taken, arguments.writes)))


def _figures(case: str, taken: dict[str, list[Seconds]], writes: int) -> Iterator[Figure]:
    for position, name in enumerate(Seconds._fields):
        known = {what: statistics.median(each[position] for each in took) for what, took in taken.items()}
        more = known[_WITH] - known[_WITHOUT]
        per_cent, per_write = more / known[_WITHOUT] * 100, more / writes * 1000
        print(
            f"{case}: {name} {known[_WITHOUT]:.1f} s without, {known[_WITH]:.1f} s with the listener:"
            f" {per_cent:+.1f} %, {per_write:+.0f} ms per write"
        )
        for what, value in known.items():
            yield Figure(case, f"{what}, {name}", value, "s")
        most = (MOST_PER_CENT, MOST_MS_PER_WRITE) if name == "elapsed" else (None, None)
        yield Figure(case, f"overhead, {name}", per_cent, "%", at_most=most[0])
        yield Figure(case, f"overhead per write, {name}", per_write, "ms", at_most=most[1])


if __name__ == "__main__":
    main()
