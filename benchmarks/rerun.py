"""What a merge costs when little or nothing has changed since the last one.

    python benchmarks/rerun.py --vertices 2000 20000 --rounds 3

The lineage of `made_lineage.project` (twice as many edges as vertices, 200 jobs) goes into the graph
three times: into an empty graph, once more unchanged, and with one in a hundred tables and edges
changed. The last two are compared with the graph first; the time includes that.
"""

import statistics
import sys
import time
from dataclasses import dataclass

from benchmarks import results
from benchmarks.graph_under_test import Bench, opened, parser
from benchmarks.made_lineage import DAG, changed, frames, project
from benchmarks.results import Figure
from lineage_merge.load.outcome import Loaded
from lineage_merge.load.update import Merge, update
from lineage_merge.merge.coverage import Coverage

FIRST, UNCHANGED, CHANGED = "first load", "unchanged", "1% changed"
# Not a hundred, of which the number of jobs is a multiple: some would lose every edge they had.
EVERY = 101


@dataclass(frozen=True)
class Round:
    """Seconds and what was done."""

    seconds: float
    loaded: Loaded


def measure(bench: Bench, vertices: int) -> dict[str, Round]:
    """One round of the three loads."""
    made = project(vertices)
    coverage = Coverage(runs=True, projects={"dbt": True})
    first = Merge(*frames(bench.spark, made.nodes, made.edges), coverage=coverage)
    anew = changed(made, EVERY)
    other = Merge(*frames(bench.spark, anew.nodes, anew.edges), coverage=coverage)
    rounds = {}
    bench.empty()
    for name, merge in ((FIRST, first), (UNCHANGED, first), (CHANGED, other)):
        started = time.perf_counter()
        loaded = update(merge, bench.endpoint, "dev", DAG)
        rounds[name] = Round(time.perf_counter() - started, loaded)
    bench.spark.catalog.clearCache()
    return rounds


def print_table(vertices: int, taken: list[dict[str, Round]]) -> None:
    print(f"\n{vertices} vertices, {2 * vertices} edges")
    print(
        f"{'load':18} {'seconds':>8} {'lowest':>8} {'highest':>8} {'of first':>9} {'written':>9}"
        f" {'retired':>8}"
    )
    for name, share in of_first(taken).items():
        seconds = [each[name].seconds for each in taken]
        loaded = taken[0][name].loaded
        written, retired = loaded.nodes + loaded.edges, loaded.retired_nodes + loaded.retired_edges
        print(
            f"{name:18} {statistics.median(seconds):8.2f} {min(seconds):8.2f} {max(seconds):8.2f}"
            f" {share:8.0%} {written:>10,} {retired:>8,}"
        )


def of_first(taken: list[dict[str, Round]]) -> dict[str, float]:
    """Times of each kind of load as parts of a first one's."""
    middle = {name: statistics.median(each[name].seconds for each in taken) for name in taken[0]}
    return {name: seconds / middle[FIRST] for name, seconds in middle.items()}


def figures(vertices: int, taken: list[dict[str, Round]]) -> list[Figure]:
    case = f"{vertices:,} vertices"
    seconds = statistics.median(each[FIRST].seconds for each in taken)
    shares = of_first(taken)
    return [
        Figure(case, FIRST, seconds, "s"),
        *(Figure(case, f"{name} / {FIRST}", shares[name], "times") for name in (UNCHANGED, CHANGED)),
    ]


def main() -> None:
    options = parser(__doc__ or "")
    results.add_option(options)
    arguments = options.parse_args()
    kept: list[Figure] = []
    with opened(arguments) as bench:
        measure(bench, 500)  # warms everything up
        for vertices in arguments.vertices:
            taken = []
            for number in range(1, arguments.rounds + 1):
                print(f"  {vertices} vertices, round {number}", file=sys.stderr)
                taken.append(measure(bench, vertices))
            print_table(vertices, taken)
            kept += figures(vertices, taken)
    print("\nEach load also writes its merge_run vertex, which is not counted.")
    results.append(arguments.results, "rerun", kept)


if __name__ == "__main__":
    main()
