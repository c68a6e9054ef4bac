"""Growth of the time to translate one Spline plan with its size, which must be linear.

    python benchmarks/translate.py
    python benchmarks/translate.py --profile        # and where the time of the largest goes

Documents to elements, in this process, without Spark. Each case grows in one dimension: a chain of
projections over five columns, a join of two wide tables of which each column is computed, a join of
many tables, sums over groups, one deep expression. Time is the CPU's, the best of some rounds, by part
of the plan (the documents that it consists of); the last column is that time against the smallest size's.
"""

import argparse
import cProfile
import json
import pstats
import time
from collections.abc import Callable, Iterator

from benchmarks import options, results
from benchmarks.generated.pipeline import At, Dataset, Made, Plan
from benchmarks.generated.spline import Documents, plan_documents
from benchmarks.results import Figure
from lineage_merge.merge import dataset_resolver
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble, parse
from lineage_merge.sources.spline.translator import translate

# Maximum time per part of the largest plan, relative to the smallest: larger memory is slower.
MOST_GROWTH = 2.0

NAMES = dataset_resolver.from_config(
    CONFIGURATION.parse({"dag_name": "benchmark", "environment": "dev", "spline": {"export": "nowhere"}})
)


def columns(count: int) -> tuple[str, ...]:
    return tuple(f"column_{number}" for number in range(count))


def chain(operations: int) -> Plan:
    """Return a chain of projections that each recompute one of five columns."""
    read = Dataset("s3://raw/a", columns(5))
    made = tuple(Made(name, "transformation", (At(0, name),)) for name in read.columns)
    return Plan("chain", (read,), "s3://lake/chain", made, (At(0, "column_0"),), steps=operations - 4)


def wide_join(width: int) -> Plan:
    """Return a join of two tables; half of the columns are copied, half computed from both tables."""
    half = columns(width // 2)
    sides = (Dataset("s3://raw/a", half), Dataset("s3://raw/b", half))
    passed = tuple(Made(name, "identity", (At(0, name),)) for name in half)
    both = tuple(Made(f"{name}_both", "transformation", (At(0, name), At(1, name))) for name in half)
    return Plan("wide", sides, "s3://lake/wide", passed + both, joins=((At(0, half[0]), At(1, half[0])),))


def many_reads(count: int) -> Plan:
    """Return a join of many small tables."""
    reads = tuple(
        Dataset(f"s3://raw/{number}", (f"id_{number}", f"value_{number}")) for number in range(count)
    )
    made = tuple(
        Made(f"value_{number}", "identity", (At(number, f"value_{number}"),)) for number in range(count)
    )
    joins = tuple(
        (At(number - 1, f"id_{number - 1}"), At(number, f"id_{number}")) for number in range(1, count)
    )
    return Plan("reads", reads, "s3://lake/reads", made, joins=joins)


def one_group(width: int) -> Plan:
    """Return sums over groups of as many columns."""
    read = Dataset("s3://raw/a", columns(width))
    half = width // 2
    made = tuple(Made(name, "identity", (At(0, name),)) for name in read.columns[:half])
    made += tuple(Made(name, "aggregation", (At(0, name),)) for name in read.columns[half:])
    return Plan("group", (read,), "s3://lake/group", made)


def one_condition(tests: int) -> Plan:
    """Return a CASE over as many columns, with nested ANDs."""
    read = Dataset("s3://raw/a", columns(tests))
    sources = tuple(At(0, name) for name in read.columns)
    return Plan("condition", (read,), "s3://lake/condition", (Made("flag", "conditional", sources),))


CASES: dict[str, tuple[Callable[[int], Plan], tuple[int, ...]]] = {
    "operations in a chain": (chain, (500, 1500, 5000)),
    "columns of a join": (wide_join, (200, 600, 2000)),
    "reads of a join": (many_reads, (50, 150, 500)),
    "columns of an aggregation": (one_group, (200, 600, 2000)),
    "columns in one condition": (one_condition, (200, 600, 2000)),
}


def translated(texts: list[tuple[str, str]], key: str) -> int:
    """Translate one plan's documents like a worker; returns the number of records."""
    documents: Documents = {}
    for collection, text in texts:
        document = parse(collection, text)
        assert isinstance(document, dict)
        documents.setdefault(collection, []).append(document)
    plan, problems = assemble(key, documents, EVERYTHING)
    assert not problems
    return sum(1 for _ in NAMES.records(translate(plan)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, default=3, metavar="N", help="the N smallest sizes of each case")
    parser.add_argument(
        "--profile", action="store_true", help="print where the time of each largest plan goes"
    )
    options.add_to(parser, smallest={"rounds": 1, "sizes": 2})
    arguments = parser.parse_args()
    figures = [*_figures(arguments.rounds, arguments.sizes, arguments.profile)]
    results.append(arguments.results, "translate", figures)


def _timed(plan: Plan, rounds: int) -> tuple[list[tuple[str, str]], int, float]:
    """Measure a plan: its documents, the number of records, and the seconds of the best round."""
    found = plan_documents(plan, key="plan")
    texts = [(collection, json.dumps(each)) for collection, some in found.items() for each in some]
    seconds: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        made = translated(texts, "plan")
        seconds.append(time.process_time() - start)
    return texts, made, min(seconds)


def _figures(rounds: int, number_of_sizes: int, is_profiled: bool) -> Iterator[Figure]:
    # The schema checks are compiled with the first document.
    _timed(chain(5), 1)
    print(f"{'':>26} {'size':>6} {'parts':>8} {'records':>8} {'seconds':>8} {'us/part':>8} {'growth':>7}")
    for name, (make, sizes) in CASES.items():
        first = 0.0
        for size in sizes[:number_of_sizes]:
            texts, made, took = _timed(make(size), rounds)
            each = took / len(texts)
            first = first or each
            print(
                f"{name:>26} {size:>6,} {len(texts):>8,} {made:>8,} {took:>8.2f} {each * 1e6:>8.1f}"
                f" {each / first:>7.2f}",
                flush=True,
            )
            yield Figure(name, f"a plan of {size:,}", each * 1e6, "us/part")
        yield Figure(name, "a part of the largest / smallest", each / first, "times", at_most=MOST_GROWTH)
        if is_profiled:
            profile = cProfile.Profile()
            profile.runcall(translated, texts, "plan")
            pstats.Stats(profile).sort_stats("tottime").print_stats(12)


if __name__ == "__main__":
    main()
