"""Cost of a merge when little or nothing has changed since the last one.

    python benchmarks/rerun.py --vertices 2000 20000 --rounds 3

The lineage of `made_lineage.project` (twice as many edges as vertices, 200 jobs) goes into the graph three
times: into an empty graph, once more unchanged, and with one in a hundred tables and edges changed. The last
two are compared with the graph first; the time includes that. With `--latency 5` each answer takes 5 ms more,
as over a network.
"""

import statistics
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from benchmarks import options, results
from benchmarks.delaying_proxy import delaying
from benchmarks.graph_under_test import SMALLEST, Bench, graph_parser, opened
from benchmarks.made_lineage import DAG, Lineage, changed, project, rows
from benchmarks.results import Figure
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.result import LoadResult
from lineage_merge.load.update import update
from lineage_merge.merge.source_completeness import SourceCompleteness

FIRST, UNCHANGED, CHANGED = "first load", "unchanged", "1% changed"
WARM_UP = 500
# Not a hundred, of which the number of jobs is a multiple: some would lose every edge they had.
EVERY = 101
# Maximum times relative to a first load of 20,000 vertices.
EXPECTED = {UNCHANGED: 0.25, CHANGED: 0.35}


@dataclass(frozen=True)
class Round:
    """Seconds and result of a load."""

    seconds: float
    loaded: LoadResult


def merge_of(bench: Bench, made: Lineage) -> MergeOutput:
    """Return the merge of a lineage, with all sources complete."""
    coverage = SourceCompleteness(runs=True, projects={"dbt": True})
    return MergeOutput(rows(bench.engine, made.nodes), rows(bench.engine, made.edges), coverage=coverage)


def measure(bench: Bench, vertices: int) -> dict[str, Round]:
    """Run one round of the three loads."""
    made = project(vertices)
    first = merge_of(bench, made)
    other = merge_of(bench, changed(made, EVERY))
    rounds = {}
    bench.empty()
    for name, merge in ((FIRST, first), (UNCHANGED, first), (CHANGED, other)):
        started = time.perf_counter()
        loaded = update(merge, bench.endpoint, "dev", DAG)
        rounds[name] = Round(time.perf_counter() - started, loaded)
    bench.engine.unpersist_all()
    return rounds


def print_table(vertices: int, taken: list[dict[str, Round]]) -> None:
    print(f"\n{vertices} vertices, {2 * vertices} edges")
    print(
        f"{'load':18} {'seconds':>8} {'lowest':>8} {'highest':>8} {'of first':>9} {'written':>9}"
        f" {'retired':>8} {'requests':>9} {'read':>9}"
    )
    for name, share in of_first(taken).items():
        seconds = [each[name].seconds for each in taken]
        loaded = taken[0][name].loaded
        written, retired = loaded.nodes + loaded.edges, loaded.retired_nodes + loaded.retired_edges
        print(
            f"{name:18} {statistics.median(seconds):8.2f} {min(seconds):8.2f} {max(seconds):8.2f}"
            f" {share:8.0%} {written:>10,} {retired:>8,} {loaded.all_requests:>9,} {loaded.elements_read:>9,}"
        )


def of_first(taken: list[dict[str, Round]]) -> dict[str, float]:
    """Return the times of each kind of load relative to a first load."""
    middle = {name: statistics.median(each[name].seconds for each in taken) for name in taken[0]}
    return {name: seconds / middle[FIRST] for name, seconds in middle.items()}


def figures(vertices: int, taken: list[dict[str, Round]]) -> list[Figure]:
    case = f"{vertices:,} vertices"
    seconds = statistics.median(each[FIRST].seconds for each in taken)
    shares = of_first(taken)
    return [
        Figure(case, FIRST, seconds, "s"),
        *(
            Figure(case, f"{name} / {FIRST}", shares[name], "times", at_most=most)
            for name, most in EXPECTED.items()
        ),
        *(
            Figure(case, f"{name}, requests", taken[0][name].loaded.all_requests, "requests")
            for name in (FIRST, UNCHANGED, CHANGED)
        ),
    ]


def main() -> None:
    parser = graph_parser(__doc__ or "")
    parser.add_argument("--latency", type=float, default=0, metavar="MS", help="added to each answer")
    options.add_to(parser, {**SMALLEST, "latency": 1})
    arguments = parser.parse_args()
    figures_found: list[Figure] = []
    with opened(arguments) as direct, ExitStack() as stack:
        bench = direct
        if arguments.latency:
            url = stack.enter_context(delaying(direct.endpoint.url, arguments.latency))
            bench = replace(direct, endpoint=Endpoint(url))
        measure(bench, min(WARM_UP, *arguments.vertices))
        for vertices in arguments.vertices:
            taken = []
            for number in range(1, arguments.rounds + 1):
                print(f"  {vertices} vertices, round {number}", file=sys.stderr)
                taken.append(measure(bench, vertices))
            print_table(vertices, taken)
            figures_found += figures(vertices, taken)
    print("\nEach load also writes its merge_run vertex, which is not counted.")
    results.append(arguments.results, "rerun", figures_found)


if __name__ == "__main__":
    main()
