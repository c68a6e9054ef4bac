"""Run experiments with statements that are drawn by a seed, and print what the lineage does not explain."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from tests.experiment.changes import Executor, experiment
from tests.experiment.dataframes import SparkLaboratory, local_spark
from tests.experiment.execution import TABLES, TARGET, Laboratory, StatementError
from tests.experiment.product import Lineage, sql_lineage
from tests.experiment.programs import programs
from tests.experiment.statements import statements


class UnknownDependencyError(AssertionError):
    """The lineage of a statement does not explain a change."""


def _lineage_of_sql(statement: str) -> Lineage:
    return sql_lineage(statement, (*TABLES, TARGET))


def check(
    laboratory: Executor,
    statement: str,
    counts: Counter[str],
    lineage_of: Callable[[str], Lineage] = _lineage_of_sql,
) -> None:
    """Raise `UnknownDependencyError` if a change is not explained."""
    try:
        laboratory.run(statement)
    except StatementError:
        counts["invalid"] += 1
        return
    lineage = lineage_of(statement)
    counts["statements"] += 1
    if lineage.problems:
        counts["reported"] += 1
    verdict = experiment(laboratory, statement, lineage)
    counts["confirmed"] += len(verdict.confirmed)
    counts["never"] += len(verdict.never)
    if verdict.unknown:
        raise UnknownDependencyError(f"{statement}\n  {verdict.unknown}\n  {lineage}")


def run(seed: int, number: int, spark: SparkLaboratory | None = None) -> Counter[str]:
    """Draw statements, or programs for Spark, and check each.

    Raises `UnknownDependencyError` with the smallest one that fails.
    """
    laboratory = spark or Laboratory()
    lineage_of = spark.lineage if spark else _lineage_of_sql
    counts: Counter[str] = Counter()

    @hypothesis.seed(seed)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(programs() if spark else statements())
    def test(statement: str) -> None:
        check(laboratory, statement, counts, lineage_of)

    test()
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every change is explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.experiment", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=1000, metavar="N", help="default: 1000")
    parser.add_argument("--spark", action="store_true", help="draw DataFrame programs in place of SQL")
    given_ = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        if given_.spark:
            with local_spark() as laboratory:
                counts = run(given_.seed, given_.statements, laboratory)
        else:
            counts = run(given_.seed, given_.statements)
    except UnknownDependencyError as error:
        sys.stdout.write(f"seed {given_.seed}: unknown dependency\n{error}\n")
        return 1
    shown = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    sys.stdout.write(f"seed {given_.seed}: {shown} ({time.monotonic() - started:.0f} s)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
