"""How long small merges take: the sample's build and demo, and a build of 49 MB, beside one job of Spark.

    python benchmarks/small.py --rounds 5

Each round runs fresh processes in turn. Of the sample:

1. A Spark session is started as the commands start it, and one task parses the input's files as JSON.
2. `lineage-merge build`, to Parquet files.
3. `lineage-merge demo`: both samples into an embedded graph that is new, without Spark, and nine questions.
   The server's jars are cached before.

Of copies of TPC-H's plans, 19 of which are as large as a capture of TPC-DS (49 MB, 135,000 documents): 1, 2,
and 2 again, distributed (`spark.distribute_above_mb: 0`). Figures are medians of elapsed and the smallest
of processor seconds (all processes, Java included), and the ratios to 1. Linux only.
"""

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks import options, results
from benchmarks.generated.export import CONFIG
from benchmarks.results import Figure

MOST_BUILD = 1.25
MOST_DEMO = 2.2
MOST_LARGE = 1.8

ONE_JOB = "Spark's start and one job"

_ONE_JOB = """
import json, sys
from pathlib import Path
from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session

def parsed(_rows):
    for file in Path(folder).rglob("*.json*"):
        for line in file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]:
            yield len(json.loads(line))

folder = sys.argv[1]
with session(SparkOptions()) as spark:
    assert spark.sparkContext.parallelize([0], 1).mapPartitions(parsed).sum()
"""
_COMMAND = "import sys; from lineage_merge.cli import main; sys.exit(main(prog_name='lineage-merge'))"
_PR_SET_CHILD_SUBREAPER = 36


class Seconds(NamedTuple):
    """Elapsed and processor seconds of a process with its descendants."""

    elapsed: float
    processor: float


def seconds(words: Sequence[str], environment: dict[str, str]) -> Seconds:
    """How long a process of Python takes. Raises CalledProcessError."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", *words], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=600
    )
    took = time.perf_counter() - start
    # Java ends after Python, and is then a child of this process.
    with suppress(ChildProcessError):
        while os.wait():
            pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Seconds(took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(rounds: int, warm_up: int, copies: int) -> dict[str, dict[str, list[Seconds]]]:
    """Seconds of each command by input, round by round, after rounds that fill caches."""
    from benchmarks.generated.queries import write_copies
    from lineage_merge.cli import sample

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    found: dict[str, dict[str, list[Seconds]]] = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory() as large:
        write_copies(Path(large), copies)
        inputs = {"the sample": sample.config_file(), f"{copies} copies of TPC-H": Path(large, CONFIG)}
        for number in range(-warm_up, rounds):
            for name, config in inputs.items():
                for what, took in _round(config, with_demo=config == sample.config_file()):
                    if number >= 0:
                        found[name][what].append(took)
    return found


def _round(config: Path, *, with_demo: bool) -> Iterator[tuple[str, Seconds]]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LINEAGE_MERGE_HOME": folder}
        build = [_COMMAND, "build", "--quiet", "--config", str(config), "--out", str(Path(folder, "out"))]
        yield ONE_JOB, seconds([_ONE_JOB, str(config.parent)], environment)
        yield "build", seconds(build, environment)
        if with_demo:
            yield "demo", seconds([_COMMAND, "demo", "--quiet"], environment)
            return
        distributing = {**environment, "LINEAGE_MERGE_SPARK_DISTRIBUTE_ABOVE_MB": "0"}
        yield "distributed build", seconds(build, distributing)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=1, metavar="ROUNDS", help="rounds that do not count")
    parser.add_argument("--copies", type=int, default=19, help="of the plans of TPC-H")
    options.add_to(parser, smallest={"rounds": 1, "warm_up": 0, "copies": 1})
    arguments = parser.parse_args()
    taken = measure(arguments.rounds, arguments.warm_up, arguments.copies)
    figures = [figure for name, commands in taken.items() for figure in _figures(name, commands)]
    results.append(arguments.results, "small", figures)


def _figures(name: str, commands: Mapping[str, list[Seconds]]) -> Iterator[Figure]:
    base, base_processor = _summary(commands[ONE_JOB])
    limits = {"build": MOST_BUILD if "demo" in commands else MOST_LARGE, "demo": MOST_DEMO}
    for what, took in commands.items():
        elapsed, processor = _summary(took)
        print(
            f"{name}: {what}: {elapsed:.1f} s, {elapsed / base:.2f} times the job;"
            f" processor {processor:.1f} s, {processor / base_processor:.2f} times"
        )
        yield Figure(name, what, elapsed, "s")
        yield Figure(name, f"{what}, processor", processor, "s")
        if what != ONE_JOB:
            yield Figure(
                name, f"{what} / start and one job", elapsed / base, "times", at_most=limits.get(what)
            )


def _summary(took: list[Seconds]) -> Seconds:
    return Seconds(statistics.median(each.elapsed for each in took), min(each.processor for each in took))


if __name__ == "__main__":
    main()
