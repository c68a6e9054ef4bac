"""Capture the same frames and statements on Spark 4, also of Iceberg and Delta, and say what is wrong.

    python -m tests.capture.check_spark4 --spark 4.0.1

Started in an environment with the extra `test`. PySpark 4 (default: 4.1.1, as Glue 6 has it) comes from an
environment of its own, which ``LINEAGE_MERGE_SPARK4_CACHE`` keeps; all else is that of this one. Says in the
last line how it went.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lineage_merge.config import SparkOptions
from tests.capture.lakehouse_cases import expected
from tests.sources.openlineage.check_listener import CACHE, installed

# As AWS Glue 6.
SPARK = "4.1.1"
HERE = Path(__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every case has the lineage that it has on Spark 3.5."""
    parser = argparse.ArgumentParser(prog="python -m tests.capture.check_spark4")
    parser.add_argument("--spark", default=SPARK, metavar="VERSION", help=f"default: {SPARK}")
    pyspark = parser.parse_args(arguments).spark
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lineage-merge-spark4-") as work:
        environment = with_spark(pyspark, work)
        reported = _run("tests.capture.check_spark4", "cases", work, environment)
        lakehouse = _run("tests.capture.lakehouse_cases", f"{work}/lakehouse", work, environment)
    wrong = reported.get("wrong", ["the cases could not be run"])
    if reported and reported["version"] != pyspark:
        wrong.append(f"ran on Spark {reported['version']}")
    statements = expected()
    wrong += [
        f"{name}: {lakehouse.get(name)}" for name in statements if lakehouse.get(name) != statements[name]
    ]
    for line in wrong:
        sys.stdout.write(f"{line}\n")
    outcome = (
        f"FAILED, {len(wrong)} faults:" if wrong else f"OK, {reported['cases'] + len(statements)} cases:"
    )
    sys.stdout.write(f"{outcome} Spark {pyspark} ({time.monotonic() - started:.0f} s)\n")
    return 1 if wrong else 0


def with_spark(pyspark: str, work: str) -> dict[str, str]:
    """The variables of processes that import another version of PySpark, and all else from here."""
    python = installed(Path(os.environ.get(CACHE) or work), pyspark)
    [packages] = python.parent.parent.glob("lib/python*/site-packages")
    paths = [str(packages), str(HERE.parent.parent)]  # its PySpark comes before ours
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _run(module: str, argument: str, work: str, environment: dict[str, str]) -> dict[str, Any]:
    """What a module prints as its last line; empty if it fails."""
    arguments = [sys.executable, "-m", module, argument]
    done = subprocess.run(
        arguments, cwd=work, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
    return found


def cases() -> None:
    """Run where PySpark is the other one: prints what was found as JSON, in the last line."""
    from lineage_merge import capture
    from lineage_merge.infra.spark_session import session
    from tests.capture.capture_cases import CASES, flows_of, influences_of, prepare

    wrong: list[str] = []
    with session(SparkOptions(master="local[1]")) as spark:
        prepare(spark, Path("data").resolve())
        for name, case in CASES.items():
            captured = capture(case.make(spark), name="daily", target="s3://lake/out")
            found = (flows_of(captured), influences_of(captured))
            if found != (case.flows, case.influences) or captured.problems:
                wrong.append(f"{name}: {found} {captured.problems}")
        reported = {"version": spark.version, "cases": len(CASES), "wrong": wrong}
    sys.stdout.write(json.dumps(reported) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["cases"]:
        cases()
    else:
        sys.exit(main())
