"""How long the smallest merges take: the sample's build and demo, beside Spark's start and one Python job.

    python benchmarks/small.py --rounds 5

Each round runs three fresh processes in turn:

1. A Spark session is started as the commands start it, and one task parses the sample's files as JSON.
2. `lineage-merge build` of the sample, to Parquet files.
3. `lineage-merge demo`: the sample into an embedded graph that is new. The server's jars are cached before.

Figures are medians, and the ratios of 2 and 3 to 1.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import options, results
from benchmarks.results import Figure

MOST_BUILD = 1.4
MOST_DEMO = 2.2

_ONE_JOB = """
import json
from pathlib import Path
from lineage_merge.cli import sample
from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session

def parsed(_rows):
    for file in Path(folder).rglob("*.json*"):
        for line in file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]:
            yield len(json.loads(line))

folder = str(Path(sample.config_file()).parent)
with session(SparkOptions()) as spark:
    assert spark.sparkContext.parallelize([0], 1).mapPartitions(parsed).sum()
"""
_COMMAND = "import sys; from lineage_merge.cli import main; sys.exit(main(prog_name='lineage-merge'))"


def seconds(words: Sequence[str], environment: dict[str, str]) -> float:
    """How long a process of Python takes. Raises CalledProcessError."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", *words], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=600
    )
    return time.perf_counter() - start


def measure(rounds: int, warm_up: int) -> dict[str, list[float]]:
    """Seconds of each of the three, round by round, after rounds that fill caches."""
    from lineage_merge.cli import sample

    found: dict[str, list[float]] = {"Spark's start and one job": [], "build": [], "demo": []}
    for number in range(-warm_up, rounds):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LINEAGE_MERGE_HOME": folder}
            build = [_COMMAND, "build", "--quiet", "--config", str(sample.config_file())]
            commands = {
                "Spark's start and one job": [_ONE_JOB],
                "build": [*build, "--out", str(Path(folder, "out"))],
                "demo": [_COMMAND, "demo", "--quiet"],
            }
            for name, words in commands.items():
                took = seconds(words, environment)
                if number >= 0:
                    found[name].append(took)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=1, metavar="ROUNDS", help="rounds that do not count")
    options.add_to(parser, smallest={"rounds": 1, "warm_up": 0})
    arguments = parser.parse_args()
    taken = measure(arguments.rounds, arguments.warm_up)
    medians = {name: statistics.median(each) for name, each in taken.items()}
    base = medians["Spark's start and one job"]
    figures = [Figure("the sample", name, took, "s") for name, took in medians.items()]
    for name, most in (("build", MOST_BUILD), ("demo", MOST_DEMO)):
        ratio = medians[name] / base
        print(f"{name}: {medians[name]:.1f} s, {ratio:.2f} times Spark's start and one job ({base:.1f} s)")
        figures.append(Figure("the sample", f"{name} / start and one job", ratio, "times", at_most=most))
    results.append(arguments.results, "small", figures)


if __name__ == "__main__":
    main()
