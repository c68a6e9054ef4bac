"""Random fault injection into the whole job: `python -m tests.chaos --rounds 100 --seed 7`."""

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
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session
from tests.chaos import draw
from tests.chaos.commands import InvariantViolated
from tests.chaos.round_runner import RoundRunner
from tests.chaos.rounds import Outcome
from tests.chaos.servers import PASSWORD, Servers, open_servers

_ABOUT = """Rounds of fault injection. In each a merge runs while at random moments the job, a Spark worker or
the ArangoDB stand-in is killed (-9), connections are cut, or the graph server is restarted; the merge is
repeated until it succeeds. Or two to eight merges load concurrently, or another command is killed while it
writes, and repeated. The final state must be that of fault-free runs."""

_MODES = """only rounds of one mode: a merge in this process's Spark (driver) or as a separate job (job), a
load of built files (load, or embedded: into the embedded graph), other commands that write (archive:
archive-history; decision: near-misses --apply), concurrent merges of several DAGs (dags) or of one (dag)
[default: random]"""


@contextmanager
def open_environment() -> Iterator[tuple[SparkSession, Servers]]:
    """Provide Spark with four concurrent tasks, each attempted four times, and the servers."""
    os.environ.update(PASSWORD)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    options = SparkOptions(master="local[4,4]")
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, session(options) as spark:
        spark.sparkContext.setLogLevel("OFF")
        with open_servers(Path(folder), spark) as servers:
            yield spark, servers


def main() -> int:
    """Run the rounds; returns 0 if every round ended in the expected graph, else 1."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # also stops the servers
    seeds = arguments.round or draw.seeds(arguments.seed, arguments.rounds)
    results: list[dict[str, object]] = []
    injected: Counter[str] = Counter()
    broken = 0
    with open_environment() as (_, servers), ExitStack() as cleanup:
        runner = RoundRunner(servers)
        cleanup.callback(runner.close)
        for number, seed in enumerate(seeds, 1):
            drawn = draw.draw_round(seed, arguments.mode)
            _log(f"round {number} of {len(seeds)}: --mode {drawn.mode} --round {seed}: {drawn}")
            started = time.monotonic()
            outcome, problem = Outcome(), ""
            try:
                outcome = runner.run_round(drawn)
            except InvariantViolated as error:
                problem = str(error)
                broken += 1
            seconds = time.monotonic() - started
            injected += outcome.injected
            for failure in outcome.failures:
                _log(f"    run failed: {failure}")
            _log(f"    {problem or f'expected graph after {outcome.runs} runs'} ({seconds:.1f} s)")
            results.append(
                {
                    "seed": seed,
                    "mode": drawn.mode,
                    "what": str(drawn),
                    "runs": outcome.runs,
                    "injected": outcome.injected,
                    "failures": outcome.failures,
                    "problem": problem,
                    "seconds": round(seconds, 1),
                }
            )
    if arguments.json:
        json.dump({"rounds": results, "broken": broken, "injected": injected}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _summary(results, injected, broken)
    return 1 if broken else 0


def _summary(results: list[dict[str, object]], injected: Counter[str], broken: int) -> None:
    def write_line(line: str) -> None:
        sys.stdout.write(f"{line}\n")

    modes = Counter(str(each["mode"]) for each in results)
    write_line(f"{len(results)} rounds: {', '.join(f'{count} {mode}' for mode, count in modes.items())}")
    write_line(f"faults: {', '.join(f'{count} {kind}' for kind, count in injected.most_common()) or 'none'}")
    write_line(f"rounds that violated an invariant: {broken}")
    for each in results:
        if each["problem"]:
            write_line(
                f"  python -m tests.chaos --mode {each['mode']} --round {each['seed']}: {each['problem']}"
            )


def _log(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=_ABOUT)
    parser.add_argument("--rounds", type=int, default=20, help="number of rounds  [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the rounds' seeds  [default: 1]")
    parser.add_argument(
        "--round", type=int, action="append", metavar="SEED", help="only this round, by its seed"
    )
    parser.add_argument("--mode", choices=draw.MODES, help=_MODES)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
