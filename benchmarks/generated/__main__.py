"""Writes a made-up Spline database and a dbt manifest, of any size, for benchmarks and trials.

    python -m benchmarks.generated --plans 10000 --models 500 --to /tmp/company
    lineage-merge build -c /tmp/company/lineage_merge.yml --out /tmp/company/built

The same seed and numbers give the same bytes. Plans have 5 to 200 operations and about 10 to 500
attributes, most of them few; applications read what others wrote, a few datasets are read by very
many; most plans are run every day, some are new every day, some runs fail. The dbt project's sources
are tables that Spark writes. All collections of Spline's server are there, a line a document.
"""

import argparse
import statistics
import time
from pathlib import Path

from benchmarks.generated.export import write


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.generated",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--plans", type=int, default=1000, help="how many execution plans (default 1000)")
    parser.add_argument("--models", type=int, default=100, help="how many dbt models; 0: no manifest")
    parser.add_argument("--days", type=int, default=14, help="for how many days applications have run")
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument(
        "--packed", action="store_true", help="as arangodump packs it, in parts: a tenth the size"
    )
    parser.add_argument("--to", type=Path, required=True, help="the folder to write into")
    arguments = parser.parse_args()
    start = time.perf_counter()
    content = write(
        arguments.to,
        arguments.plans,
        arguments.models,
        arguments.seed,
        arguments.days,
        packed=arguments.packed,
    )
    took = time.perf_counter() - start
    operations = content.operations or [0]
    print(f"{content.plans:,} plans, {content.runs:,} runs ({content.failed:,} failed)")
    print(f"operations a plan: {min(operations)} to {max(operations)}, half of them up to", end=" ")
    print(f"{statistics.median(operations):.0f}, {statistics.mean(operations):.1f} on average")
    print(
        f"{content.documents:,} documents, {content.text_bytes / 1e6:,.0f} MB of text,"
        f" {content.datasets:,} datasets"
    )
    print(f"{content.models:,} dbt models")
    print(
        f"{took:.1f} s, {content.plans / took:,.0f} plans/s; configuration: {arguments.to}/lineage_merge.yml"
    )


if __name__ == "__main__":
    main()
