"""Rounds of chaos over the whole job: `python -m tests.chaos --rounds 100 --seed 7`."""

import argparse
import json
import logging
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session
from tests.chaos import draw
from tests.chaos.player import Player
from tests.chaos.rounds import Broken, Outcome
from tests.chaos.world import PASSWORD, World, world

_ABOUT = """Rounds of chaos. In each a merge runs while at random moments the job, a Spark worker or the
ArangoDB stand-in is killed (-9), connections are cut, or the graph server is stopped and started; it is run
again until it ends well. Or two to eight merges load at once. The final graph must be that of quiet runs."""

_WAYS = """only rounds of one kind: a merge in this process's Spark (driver) or as a job of its own (job),
merges at once of several DAGs (dags) or of one (dag); default: as drawn"""


@contextmanager
def playground() -> Iterator[tuple[SparkSession, World]]:
    """Spark with four tasks at once, each tried four times, as on a cluster; and a world."""
    os.environ.update(PASSWORD)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    options = SparkOptions(master="local[4,4]")
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, session(options) as spark:
        spark.sparkContext.setLogLevel("OFF")
        with world(Path(folder), spark) as made:
            yield spark, made


def main() -> int:
    """Returns 0 where every round ended in the right graph, else 1."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the servers are ended, too
    seeds = arguments.round or draw.seeds(arguments.seed, arguments.rounds)
    told: list[dict[str, object]] = []
    struck: Counter[str] = Counter()
    broken = 0
    with playground() as (_, made):
        player = Player(made)
        for number, seed in enumerate(seeds, 1):
            drawn = draw.drawn(seed, arguments.way)
            _say(f"round {number} of {len(seeds)}: --way {drawn.way} --round {seed}: {drawn}")
            began = time.monotonic()
            outcome, problem = Outcome(), ""
            try:
                outcome = player.play(drawn)
            except Broken as error:
                problem = str(error)
                broken += 1
            seconds = time.monotonic() - began
            struck += outcome.struck
            for failure in outcome.failures:
                _say(f"    run failed: {failure}")
            _say(f"    {problem or f'the same graph, after {outcome.runs} runs'} ({seconds:.1f} s)")
            told.append(
                {
                    "seed": seed,
                    "way": drawn.way,
                    "what": str(drawn),
                    "runs": outcome.runs,
                    "struck": outcome.struck,
                    "failures": outcome.failures,
                    "problem": problem,
                    "seconds": round(seconds, 1),
                }
            )
    if arguments.json:
        json.dump({"rounds": told, "broken": broken, "struck": struck}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _summary(told, struck, broken)
    return 1 if broken else 0


def _summary(told: list[dict[str, object]], struck: Counter[str], broken: int) -> None:
    def tell(line: str) -> None:
        sys.stdout.write(f"{line}\n")

    ways = Counter(str(each["way"]) for each in told)
    tell(f"{len(told)} rounds: {', '.join(f'{count} {way}' for way, count in ways.items())}")
    tell(f"faults: {', '.join(f'{count} {kind}' for kind, count in struck.most_common()) or 'none'}")
    tell(f"rounds with another graph than the quiet one: {broken}")
    for each in told:
        if each["problem"]:
            tell(f"  python -m tests.chaos --way {each['way']} --round {each['seed']}: {each['problem']}")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=_ABOUT)
    parser.add_argument("--rounds", type=int, default=20, help="how many (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of which the rounds' seeds are drawn (default: 1)"
    )
    parser.add_argument(
        "--round", type=int, action="append", metavar="SEED", help="this round alone, by its seed"
    )
    parser.add_argument("--way", choices=draw.WAYS, help=_WAYS)
    parser.add_argument("--json", action="store_true", help="the outcome as JSON on standard output")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
