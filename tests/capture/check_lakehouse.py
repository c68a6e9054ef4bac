"""Run the jobs of a lakehouse under a listener and compare their lineage to the truth.

    python -m tests.capture.check_lakehouse --spark 4.1.1

Started in an environment with the extra `test`, whose Spark is the default. Says in the last line how it
went.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from tests.capture.check_spark4 import with_spark
from tests.capture.lakehouse_jobs import JOBS
from tests.lakehouse_truth import LakehouseEdges, applications, compare_influences, compare_values, truth

# What the jobs do that are not in the capture; by hand.
_MORE_VALUES = {
    ("part_t", "order_id", "orders.csv", "order_id"): "I",
    ("part_t", "amount", "orders.csv", "amount"): "T",
    ("part_t", "country", "orders.csv", "country"): "I",
    ("mrgd_t", "order_id", "orders.csv", "order_id"): "I",
    ("mrgd_t", "customer_id", "orders.csv", "customer_id"): "I",
    ("mrgd_t", "amount", "orders.csv", "amount"): "IT",
    ("mrgd_t", "amount", "mrgd_t", "amount"): "T",
    ("mrgd_t", "status", "orders.csv", "status"): "I",
    ("mrgs_d", "amount", "orders.csv", "amount"): "T",
    ("mrgs_d", "amount", "mrgs_d", "fee"): "T",
    ("str_t", "id", "src_t", "order_id"): "I",
    ("str_t", "amount", "src_t", "amount"): "T",
    ("str_d", "id", "src_t", "order_id"): "I",
    ("str_d", "amount", "src_t", "amount"): "T",
}
_MORE_INFLUENCES = {
    ("part_t", "orders.csv", "status"): "F",
    ("mrgd_t", "orders.csv", "order_id"): "J",
    ("mrgd_t", "mrgd_t", "order_id"): "J",
    ("mrgd_t", "orders.csv", "status"): "F",
    ("del3_t", "del3_t", "customer_id"): "F",
    ("del3_t", "customers.json", "customer_id"): "F",
    ("del3_t", "customers.json", "name"): "F",
    ("mrgs_d", "orders.csv", "order_id"): "J",
    ("mrgs_d", "mrgs_d", "order_id"): "J",
    ("mrgs_d", "orders.csv", "status"): "F",
    ("str_t", "src_t", "country"): "F",
    ("str_d", "src_t", "country"): "F",
}
_MORE = {"part_t", "mrgd_t", "del3_t", "mrgs_d", "str_t", "str_d"}
# They read metadata tables, whose columns are none of the dataset.
_METADATA = {"i15_files", "i15_snaps"}


def main(given: Sequence[str] | None = None) -> int:
    """0 if every edge is right."""
    parser = argparse.ArgumentParser(prog="python -m tests.capture.check_lakehouse")
    parser.add_argument("--spark", default="", metavar="VERSION", help="default: the installed one")
    pyspark = parser.parse_args(given).spark
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lineage-merge-lakehouse-") as work:
        arguments = [sys.executable, "-m", "tests.capture.lakehouse_jobs", work]
        environment = with_spark(pyspark, work) if pyspark else None
        done = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    reported = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
    wrong = list(reported.get("errors", ["the jobs could not be run"]))
    jobs = applications()
    targets = {name for name, job in jobs.items() if job in JOBS} - _METADATA
    known = truth(fields=True).of(targets)
    expected = LakehouseEdges(
        {**known.values, **{edge: frozenset(kinds) for edge, kinds in _MORE_VALUES.items()}},
        {**known.influences, **{edge: frozenset(kinds) for edge, kinds in _MORE_INFLUENCES.items()}},
    )
    found = LakehouseEdges(
        {tuple(edge): frozenset(kinds) for *edge, kinds in reported.get("values", ())},
        {tuple(edge): frozenset(kinds) for *edge, kinds in reported.get("influences", ())},
    ).of(targets | _MORE)
    comparisons = (compare_values(expected, found), compare_influences(expected, found))
    for comparison in comparisons:
        wrong += [f"missing: {edge}" for edge in sorted(comparison.missing)]
        wrong += [f"wrong: {edge}" for edge in sorted(comparison.wrong)]
        wrong += [f"kinds of {edge}: {kinds}" for edge, kinds in sorted(comparison.wrong_kinds.items())]
    for line in wrong:
        sys.stdout.write(f"{line}\n")
    values, influences = (len(comparison.right) for comparison in comparisons)
    outcome = f"FAILED, {len(wrong)} faults:" if wrong else "OK:"
    what = f"{len(JOBS)} jobs, {values} value edges and {influences} influences right"
    sys.stdout.write(f"{outcome} {what} ({time.monotonic() - started:.0f} s)\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
