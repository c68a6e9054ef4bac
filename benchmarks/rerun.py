"""Cost of a merge when little or nothing has changed since the last one.

    python benchmarks/rerun.py --vertices 2000 20000 --rounds 3
    python benchmarks/rerun.py --tables 19500 --rounds 1 --heap 6g       # a million elements

A lineage goes into the graph three times: into an empty graph, once more unchanged, and with one in a hundred
elements changed. The last two are compared with the graph first; the time includes that. `--vertices`: that
of `made_lineage.project` (twice as many edges as vertices, 200 jobs), of which tables and edges change.
`--tables`: the company of `made_company` (52 elements per table), of which columns change.

Each load is then added to a history (`history`), as a run does that has one.

All of it is repeated with each answer taking longer by each of `--latency`, in milliseconds, as over a
network. `in sequence` are the round trips that wait for another's end, handshakes included.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

from benchmarks import made_company, options, results
from benchmarks.delaying_proxy import RoundTrips, delaying
from benchmarks.graph_under_test import SMALLEST, Bench, graph_parser, opened
from benchmarks.made_lineage import DAG, Lineage, changed, project, rows
from benchmarks.results import Figure
from lineage_merge.config import Config
from lineage_merge.history.layout import DagScope
from lineage_merge.history.recording import Recorder
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.result import LoadChanges, LoadResult
from lineage_merge.load.server.update import update
from lineage_merge.merge.source_completeness import SourceCompleteness

FIRST, UNCHANGED, CHANGED = "first load", "unchanged", "1% changed"
WARM_UP = 500
# Not a hundred, of which the number of jobs is a multiple: some would lose every edge they had.
EVERY = 101
# Maximum times relative to a first load, of a project of which edges are retired, and of a company.
EXPECTED = {UNCHANGED: 0.08, CHANGED: 0.3}
EXPECTED_OF_COMPANY = {UNCHANGED: 0.05, CHANGED: 0.12}
# Vertices from which they are expected.
EXPECTED_FROM = 20_000
MAX_REQUESTS_UNCHANGED = 12


@dataclass(frozen=True)
class Pipeline:
    """A lineage, the same with 1 % changed, their environment and DAG, and the times that are expected."""

    name: str
    before: Lineage
    after: Lineage
    environment: str
    dag_name: str
    expected: Mapping[str, float]


@dataclass(frozen=True)
class Round:
    """Seconds, result and round trips in sequence of a load, and seconds of adding it to a history."""

    seconds: float
    history: float
    loaded: LoadResult
    round_trips: int


@dataclass(frozen=True)
class Network:
    """The graph behind a proxy, and what the proxy counts."""

    endpoint: Endpoint
    trips: RoundTrips


# Rounds by added milliseconds and kind of load.
Taken = dict[float, dict[str, list[Round]]]


def of_vertices(vertices: int) -> Pipeline:
    """Return a dbt project."""
    made = project(vertices)
    name = f"{vertices:,} vertices"
    return Pipeline(
        name, made, changed(made, EVERY), "dev", DAG, EXPECTED if vertices >= EXPECTED_FROM else {}
    )


def of_tables(tables: int) -> Pipeline:
    """Return a company."""
    made = made_company.company(tables)
    before = Lineage([dict(node) for node in made.nodes.values()], list(made.edges.values()))
    made.change(0)
    after = Lineage(list(made.nodes.values()), before.edges)
    expected = EXPECTED_OF_COMPANY if len(before.nodes) >= EXPECTED_FROM else {}
    return Pipeline(f"{tables:,} tables", before, after, *made_company.SCOPE, expected)


def merge_of(bench: Bench, made: Lineage) -> MergeOutput:
    """Return the merge of a lineage, with all sources complete."""
    coverage = SourceCompleteness(runs=True, projects={"dbt": True})
    return MergeOutput(rows(bench.engine, made.nodes), rows(bench.engine, made.edges), coverage=coverage)


def measure(bench: Bench, pipeline: Pipeline, network: Network) -> dict[str, Round]:
    """Run one round of the three loads."""
    first = merge_of(bench, pipeline.before)
    other = merge_of(bench, pipeline.after)
    rounds = {}
    bench.empty()
    scope = DagScope(pipeline.environment, pipeline.dag_name)
    config = Config(pipeline.dag_name, pipeline.environment)
    with TemporaryDirectory() as history:
        for name, merge in ((FIRST, first), (UNCHANGED, first), (CHANGED, other)):
            recorder = Recorder.read_last_load(history, scope, network.endpoint)
            before, started = network.trips.number, time.perf_counter()
            changed: list[LoadChanges] = []
            loaded = update(merge, network.endpoint, *scope, on_changed=changed.append)
            trips, loaded_at = network.trips.number - before, time.perf_counter()
            recorder.record(bench.engine, None, config, loaded, None, changed=next(iter(changed), None))
            rounds[name] = Round(loaded_at - started, time.perf_counter() - loaded_at, loaded, trips)
    bench.engine.unpersist_all()
    return rounds


def measure_all(bench: Bench, pipeline: Pipeline, networks: Mapping[float, Network], rounds: int) -> Taken:
    """Run all rounds; the latencies alternate, so that all have the same conditions."""
    taken: Taken = {milliseconds: {FIRST: [], UNCHANGED: [], CHANGED: []} for milliseconds in networks}
    for number in range(1, rounds + 1):
        for milliseconds, network in networks.items():
            print(f"  {pipeline.name}, {milliseconds:g} ms, round {number}", file=sys.stderr)
            for name, measured in measure(bench, pipeline, network).items():
                taken[milliseconds][name].append(measured)
    return taken


def median_seconds(rounds: Sequence[Round]) -> float:
    return statistics.median(each.seconds for each in rounds)


def print_table(pipeline: Pipeline, taken: Taken) -> None:
    made = pipeline.before
    print(f"\n{pipeline.name}: {len(made.nodes):,} vertices, {len(made.edges):,} edges")
    print(
        f"{'load':12} {'added':>7} {'history':>8}"
        f" {'seconds':>8} {'lowest':>8} {'highest':>8} {'of first':>9} {'written':>9}"
        f" {'retired':>8} {'requests':>9} {'in sequence':>12} {'read':>9}"
    )
    for name in (FIRST, UNCHANGED, CHANGED):
        for milliseconds, rounds_of in taken.items():
            rounds, first = rounds_of[name], median_seconds(rounds_of[FIRST])
            seconds = [each.seconds for each in rounds]
            loaded = rounds[0].loaded
            written, retired = loaded.nodes + loaded.edges, loaded.retired_nodes + loaded.retired_edges
            print(
                f"{name:12} {milliseconds:4g} ms {statistics.median(each.history for each in rounds):8.2f}"
                f" {median_seconds(rounds):8.2f} {min(seconds):8.2f}"
                f" {max(seconds):8.2f} {median_seconds(rounds) / first:9.1%} {written:>9,} {retired:>8,}"
                f" {loaded.all_requests:>9,} {rounds[0].round_trips:>12,}"
                f" {loaded.elements_read:>9,}"
            )


def figures(pipeline: Pipeline, taken: Taken) -> list[Figure]:
    found = []
    for milliseconds, rounds_of in taken.items():
        case = pipeline.name + (f", {milliseconds:g} ms" if milliseconds else "")
        first = median_seconds(rounds_of[FIRST])
        found.append(Figure(case, FIRST, first, "s"))
        found += [
            Figure(
                case,
                f"{name} / {FIRST}",
                median_seconds(rounds_of[name]) / first,
                "times",
                at_most=None if milliseconds else pipeline.expected.get(name),
            )
            for name in (UNCHANGED, CHANGED)
        ]
        found += [
            Figure(case, f"history of {name}", statistics.median(each.history for each in rounds), "s")
            for name, rounds in rounds_of.items()
        ]
    for name, rounds in next(iter(taken.values())).items():
        most_requests = MAX_REQUESTS_UNCHANGED if name == UNCHANGED else None
        requests = rounds[0].loaded.all_requests
        found.append(Figure(pipeline.name, f"{name}, requests", requests, "requests", at_most=most_requests))
    for name, rounds in taken[max(taken)].items():
        trips = statistics.median(each.round_trips for each in rounds)
        found.append(Figure(pipeline.name, f"{name}, round trips in sequence", trips, "requests"))
    return found


def parsed() -> argparse.Namespace:
    parser = graph_parser(__doc__ or "")
    parser.add_argument("--tables", type=int, nargs="*", default=[], help="companies of so many tables")
    parser.add_argument(
        "--latency", type=float, nargs="+", default=[0, 2, 20], metavar="MS", help="added to each answer"
    )
    options.add_to(parser, {**SMALLEST, "tables": [10], "latency": [0, 1]})
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    figures_found: list[Figure] = []
    with opened(arguments) as bench, ExitStack() as stack:
        networks = {}
        for milliseconds in arguments.latency:
            trips = RoundTrips()
            url = stack.enter_context(delaying(bench.endpoint.url, milliseconds, trips))
            networks[milliseconds] = Network(replace(bench.endpoint, url=url), trips)
        measure(bench, of_vertices(WARM_UP), networks[arguments.latency[0]])
        sizes = [] if arguments.tables and not arguments.smallest else arguments.vertices
        for pipeline in (*map(of_vertices, sizes), *map(of_tables, arguments.tables)):
            taken = measure_all(bench, pipeline, networks, arguments.rounds)
            print_table(pipeline, taken)
            figures_found += figures(pipeline, taken)
    print("\nEach load also writes its merge_run vertex, which is not counted as written.")
    results.append(arguments.results, "rerun", figures_found)


if __name__ == "__main__":
    main()
