"""What `capture.install` costs a job of Spark: elapsed and processor time, per write and in per cent.

    python benchmarks/capture_agent.py --rounds 5

Each round runs the same job in two fresh processes in turn, without and with the listener, which writes to a
folder. The job joins two folders of Parquet, groups them and writes the result, several times; the plan of
each write has about a hundred columns and expressions. Figures are the medians of elapsed and the smallest of
processor seconds (all processes, Java included). Linux only.
"""

import argparse
import ctypes
import os
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks import options, results
from benchmarks.results import Figure
from benchmarks.small import Seconds, seconds

MOST_PER_CENT = 2.0
MOST_MS_PER_WRITE = 150.0
COLUMNS = 50

_JOB = """
import sys
from pyspark.sql import functions as F
from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session

folder, lineage, writes, rows = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with session(SparkOptions()) as spark:
    if lineage:
        from lineage_merge import capture
        capture.install(spark, lineage)
    numbers = spark.range(rows).withColumn("key", F.col("id") % 1000)
    wide = numbers.select("key", *((F.col("id") * number).alias(f"c{number}") for number in range(COLUMNS)))
    wide.write.parquet(f"{folder}/facts")
    spark.range(1000).selectExpr("id as key", "'x' as name").write.parquet(f"{folder}/names")
    facts, names = spark.read.parquet(f"{folder}/facts"), spark.read.parquet(f"{folder}/names")
    for number in range(writes):
        joined = facts.join(names, "key").where(F.col("c1") > number)
        sums = (F.sum(F.col(f"c{each}") + number).alias(f"s{each}") for each in range(COLUMNS))
        joined.groupBy("name", "key").agg(*sums).write.parquet(f"{folder}/out_{number}")
""".replace("COLUMNS", str(COLUMNS))
_WITHOUT, _WITH = "without the listener", "with the listener"


def measure(rounds: int, warm_up: int, writes: int, rows: int) -> dict[str, list[Seconds]]:
    """Seconds of the job without and with the listener, round by round."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: Java's time counts too
    found: dict[str, list[Seconds]] = defaultdict(list)
    for number in range(-warm_up, rounds):
        order = (_WITHOUT, _WITH) if number % 2 else (_WITH, _WITHOUT)
        for what in order:
            took = _job(writes, rows, with_listener=what == _WITH)
            if number >= 0:
                found[what].append(took)
    return found


def _job(writes: int, rows: int, *, with_listener: bool) -> Seconds:
    with tempfile.TemporaryDirectory() as folder:
        lineage = Path(folder, "lineage")
        words = [folder, str(lineage) if with_listener else "", str(writes), str(rows)]
        took = seconds([_JOB, *words], dict(os.environ))
        if with_listener:
            lines = [line for file in lineage.iterdir() for line in file.read_text().splitlines()]
            assert len(lines) == 2 * (writes + 2), "a write is not recorded"
        return took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=1, metavar="ROUNDS", help="rounds that do not count")
    parser.add_argument("--writes", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the larger input")
    options.add_to(parser, smallest={"rounds": 1, "warm_up": 0, "writes": 1, "rows": 1000})
    arguments = parser.parse_args()
    taken = measure(arguments.rounds, arguments.warm_up, arguments.writes, arguments.rows)
    case = f"{arguments.writes} writes of {arguments.rows:,} rows"
    results.append(arguments.results, "capture_agent", list(_figures(case, taken, arguments.writes + 2)))


def _figures(case: str, taken: dict[str, list[Seconds]], writes: int) -> Iterator[Figure]:
    elapsed = {what: statistics.median(each.elapsed for each in took) for what, took in taken.items()}
    processor = {what: min(each.processor for each in took) for what, took in taken.items()}
    for name, known in (("elapsed", elapsed), ("processor", processor)):
        more = known[_WITH] - known[_WITHOUT]
        per_cent, per_write = more / known[_WITHOUT] * 100, more / writes * 1000
        print(
            f"{case}: {name} {known[_WITHOUT]:.1f} s without, {known[_WITH]:.1f} s with the listener:"
            f" {per_cent:+.1f} %, {per_write:+.0f} ms per write"
        )
        for what, value in known.items():
            yield Figure(case, f"{what}, {name}", value, "s")
        is_limit = name == "elapsed"
        yield Figure(case, f"overhead, {name}", per_cent, "%", at_most=MOST_PER_CENT if is_limit else None)
        yield Figure(
            case,
            f"overhead per write, {name}",
            per_write,
            "ms",
            at_most=MOST_MS_PER_WRITE if is_limit else None,
        )


if __name__ == "__main__":
    main()
