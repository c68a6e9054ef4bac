"""Duration of queries: our client and two clients that traverse paths themselves, in one run.

    python benchmarks/queries.py --datasets 100000 --rounds 3

1. `ours`: `lineage_merge.query`: the server walks, what it finds is fetched in batches.
2. `level`: the client asks for all that is next to a level of the graph, level by level, 200 ids a request
   (as this project did before).
3. `hop`: the client asks for what is next to each dataset, one at a time.

All three give the same answer, which is checked: the same edges and vertices with the same properties. The
graph has groups of datasets, each fed by three others, some hundred hops deep; questions begin at the end of
one group (upstream) or at its beginning (impact, path). `--latency` adds what a network would to each
request, in ms: a server on this machine has none. `client` is the share of this process: the time that its
threads used of a processor, in the seconds that the answer took; the rest is the server, the wire, waiting.

Then the questions that read a whole environment: cycles, layers and the difference of two environments.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import made_graph, options, results
from benchmarks.results import Figure
from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import open_executor
from lineage_merge.questions.backends.gremlin import GremlinGraph
from lineage_merge.questions.comparison import compare
from lineage_merge.questions.cycles import cycles
from lineage_merge.questions.graph import Direction, LineageGraph
from lineage_merge.questions.layers import Layer, check_layers
from lineage_merge.questions.lineage import all_paths, edges_on_paths
from lineage_merge.questions.traversal.impact import impact
from lineage_merge.questions.traversal.lineage import complete_subgraph, ends, lineage

IDS_A_LEVEL_REQUEST = 200
# Minimum ratio of a client with one request per hop: on this machine, and over a network.
TIMES, TIMES_FAR = 2.0, 10.0
FAR_MS = 5
# By number, in the order of the data flow: no violation, so the full check is timed.
LAYERS = (Layer("first", ("*.table_0[0-4]*",)), Layer("second", ("*.table_*",)))


@dataclass
class Counted:
    """A connection that counts requests."""

    ask: Any
    latency: float = 0
    requests: int = 0

    def __call__(self, traversal: Any) -> list[Any]:
        self.requests += 1
        time.sleep(self.latency)
        found: list[Any] = self.ask(traversal)
        return found


class ByItself(GremlinGraph):
    """A client that traverses paths itself, `batch` datasets per request, and caches edges."""

    def __init__(self, ask: Counted, batch: int) -> None:
        super().__init__(ask)
        self._batch = batch
        self._known_edges: dict[tuple[str, str, Direction], list[Edge]] = {}

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        return [
            each for some in _some(ids, IDS_A_LEVEL_REQUEST) for each in super(ByItself, self).vertices(some)
        ]

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        found: set[str] = set()
        frontier = set(ids)
        while frontier:
            edges = self._edges(sorted(frontier), labels, direction, dag)
            frontier = {edge.to_id if direction == "down" else edge.from_id for edge in edges} - found
            found |= frontier
        return found

    def _edges(
        self, ids: Iterable[str], labels: Sequence[str], direction: Direction, dag: str | None
    ) -> list[Edge]:
        (label,) = labels
        wanted = list(ids)
        unknown = [each for each in wanted if (each, label, direction) not in self._known_edges]
        for some in _some(unknown, self._batch):
            at: dict[str, list[Edge]] = defaultdict(list)
            for edge in super()._edges(some, labels, direction, dag):
                at[edge.from_id if direction == "down" else edge.to_id].append(edge)
            self._known_edges |= {(each, label, direction): at[each] for each in some}
        return [edge for each in wanted for edge in self._known_edges[each, label, direction]]


def _some(ids: Iterable[str], number: int) -> Iterator[list[str]]:
    left = list(dict.fromkeys(ids))
    return (left[first : first + number] for first in range(0, len(left), number))


def client_side_paths(graph: LineageGraph, first: Vertex, last: Vertex) -> Subgraph:
    """Return the paths of such a client: one traversal downstream, without edges that miss the end."""
    inner = {first.id} | graph.reach([first.id], ["feeds"], "down")
    edges = edges_on_paths(graph.edges_from(sorted(inner), ["feeds"]), first.id, last.id)
    return complete_subgraph(graph, {first.id, last.id} | ends(edges), edges)


@dataclass(frozen=True)
class Taken:
    """Cost of an answer: seconds, CPU seconds of this process and requests; and the answer."""

    seconds: float
    client: float
    requests: int
    answer: Any


Question = Callable[[GremlinGraph], Any]


def timed(ask: Counted, graph: GremlinGraph, question: Question) -> Taken:
    ask.requests = 0
    started, client = time.perf_counter(), time.process_time()
    answer = question(graph)
    return Taken(time.perf_counter() - started, time.process_time() - client, ask.requests, answer)


def questions(first: Vertex, last: Vertex) -> dict[str, tuple[Question, Question]]:
    """Return each question with the functions for our client and for the others."""

    def upstream(graph: GremlinGraph) -> Subgraph:
        return lineage(graph, last, "up")

    def below(graph: GremlinGraph) -> Any:
        return impact(graph, first)

    return {
        "upstream": (upstream, upstream),
        "impact": (below, below),
        "path": (
            lambda graph: all_paths(graph, first, last),
            lambda graph: client_side_paths(graph, first, last),
        ),
    }


def measure(ask: Counted, datasets: int, rounds: int, hop_rounds: int) -> dict[str, dict[str, list[Taken]]]:
    """Measure each question per client and round; clients alternate."""
    group = min(datasets, made_graph.GROUP)
    first, last = (Vertex(made_graph.dataset(n), "table") for n in (0, group - 1))
    taken: dict[str, dict[str, list[Taken]]] = {}
    for number in range(rounds + 1):  # the first warms the server up
        for name, (question, by_itself) in questions(first, last).items():
            print(f"  round {number}: {name}", file=sys.stderr)
            of_round = {
                "ours": timed(ask, GremlinGraph(ask), question),
                "level": timed(ask, ByItself(ask, IDS_A_LEVEL_REQUEST), by_itself),
            }
            if 0 < number <= hop_rounds:
                of_round["hop"] = timed(ask, ByItself(ask, 1), by_itself)
            for client_name, each in of_round.items():
                if each.answer != of_round["ours"].answer:
                    raise SystemExit(f"{name}: {client_name} returns another answer than ours")
                if number:
                    taken.setdefault(name, {}).setdefault(client_name, []).append(each)
    return taken


def measure_whole(ask: Counted) -> dict[str, dict[str, list[Taken]]]:
    """Measure the questions about a whole environment, once each."""
    whole: dict[str, Question] = {
        "cycles": lambda graph: cycles(graph, "dev"),
        "layers": lambda graph: check_layers(graph, LAYERS, "dev"),
        "diff": lambda graph: compare(graph, "dev", "dev"),  # with itself: both sides are as large
    }
    taken = {}
    for name, question in whole.items():
        print(f"  {name}", file=sys.stderr)
        taken[name] = {"ours": [timed(ask, GremlinGraph(ask), question)]}
    return taken


def print_table(title: str, taken: dict[str, dict[str, list[Taken]]]) -> None:
    print(f"\n{title}")
    print(f"{'question':10} {'client':6} {'seconds':>9} {'CPU':>7} {'requests':>9} {'ours is faster':>16}")
    for question, clients in taken.items():
        ours = median(clients["ours"])
        for name, rounds in clients.items():
            seconds = median(rounds)
            client = statistics.median(each.client / each.seconds for each in rounds)
            times = f"{seconds / ours:.1f} x" if name != "ours" else ""
            print(f"{question:10} {name:6} {seconds:9.2f} {client:7.0%} {rounds[-1].requests:9,} {times:>16}")


def median(rounds: Sequence[Taken]) -> float:
    return statistics.median(each.seconds for each in rounds)


def figures(case: str, taken: dict[str, dict[str, list[Taken]]], latency: float) -> Iterator[Figure]:
    """Yield the seconds of each client, and the ratios to ours."""
    expected = TIMES_FAR if latency >= FAR_MS else TIMES
    for question, clients in taken.items():
        ours = median(clients["ours"])
        for name, rounds in clients.items():
            seconds = median(rounds)
            yield Figure(f"{question}, {case}", name, round(seconds, 3), "s")
            if name != "ours":
                at_least = expected if name == "hop" else None
                yield Figure(
                    f"{question}, {case}",
                    f"{name} / ours",
                    round(seconds / ours, 2),
                    "times",
                    at_least=at_least,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds and requests of questions, next to simpler clients")
    parser.add_argument("--datasets", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hop-rounds", type=int, default=1, help="of them with `hop`, which is slow")
    parser.add_argument("--latency", type=float, nargs="+", default=[0, 5], help="in ms, added to a request")
    parser.add_argument("--no-whole", action="store_true", help="not the questions to a whole environment")
    parser.add_argument("--endpoint", help="ws://... of a server that has a graph of made_graph already")
    options.add_to(parser, smallest={"datasets": 200, "rounds": 1, "latency": [0, 1]})
    arguments = parser.parse_args()
    figures_found: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph"
        edges = len(made_graph.write(file, arguments.datasets))
        size = f"{arguments.datasets:,} datasets, {edges:,} edges"
        with ExitStack() as stack:
            url = arguments.endpoint or stack.enter_context(EmbeddedServer(file, heap="2g")).url
            connection = stack.enter_context(open_executor(Endpoint(url)))
            for latency in arguments.latency:
                ask = Counted(connection, latency / 1000)
                taken = measure(ask, arguments.datasets, arguments.rounds, arguments.hop_rounds)
                print_table(f"{size}, {latency:g} ms added to a request", taken)
                figures_found += figures(f"{latency:g} ms", taken, latency)
            if not arguments.no_whole:
                whole = measure_whole(Counted(connection))
                print_table(f"{size}, the whole environment", whole)
                figures_found += figures("whole environment", whole, 0)
    results.append(arguments.results, "queries", figures_found)


if __name__ == "__main__":
    main()
