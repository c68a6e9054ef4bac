"""How quickly questions are answered: ours next to two clients that walk by themselves, in one run.

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
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import made_graph, results
from benchmarks.results import Figure
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import open_executor
from lineage_merge.query.backends.gremlin import GremlinGraph
from lineage_merge.query.comparison import compare
from lineage_merge.query.cycles import cycles
from lineage_merge.query.elements import Edge, Subgraph, Vertex
from lineage_merge.query.graph import Direction, LineageGraph
from lineage_merge.query.impact import impact
from lineage_merge.query.layers import Layer, check_layers
from lineage_merge.query.lineage import completed, ends, lineage
from lineage_merge.query.paths import all_paths, edges_on_paths

IDS_A_LEVEL_REQUEST = 200
# What a client that asks hop by hop must at least be slower by: on this machine, and over a network.
TIMES, TIMES_FAR = 2.0, 10.0
FAR_MS = 5
# By number, as the data flows: nothing breaks their order, and what is timed is to find that out.
LAYERS = (Layer("first", ("*.table_0[0-4]*",)), Layer("second", ("*.table_*",)))


@dataclass
class Counted:
    """A connection that counts what it is asked."""

    ask: Any
    latency: float = 0
    requests: int = 0

    def __call__(self, traversal: Any) -> list[Any]:
        self.requests += 1
        time.sleep(self.latency)
        found: list[Any] = self.ask(traversal)
        return found


class ByItself(GremlinGraph):
    """A client that walks by itself, `batch` datasets a request, and keeps the edges that it was told."""

    def __init__(self, ask: Counted, batch: int) -> None:
        super().__init__(ask)
        self._batch = batch
        self._told: dict[tuple[str, str, Direction], list[Edge]] = {}

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
        unknown = [each for each in wanted if (each, label, direction) not in self._told]
        for some in _some(unknown, self._batch):
            at: dict[str, list[Edge]] = defaultdict(list)
            for edge in super()._edges(some, labels, direction, dag):
                at[edge.from_id if direction == "down" else edge.to_id].append(edge)
            self._told |= {(each, label, direction): at[each] for each in some}
        return [edge for each in wanted for edge in self._told[each, label, direction]]


def _some(ids: Iterable[str], number: int) -> Iterator[list[str]]:
    left = list(dict.fromkeys(ids))
    return (left[first : first + number] for first in range(0, len(left), number))


def way_by_itself(graph: LineageGraph, first: Vertex, last: Vertex) -> Subgraph:
    """The path for who walks by itself: one walk down, and what does not lead to the end left out."""
    inner = {first.id} | graph.reach([first.id], ["feeds"], "down")
    kept = edges_on_paths(graph.edges_from(sorted(inner), ["feeds"]), first.id, last.id)
    return completed(graph, {first.id, last.id} | ends(kept), kept)


@dataclass(frozen=True)
class Taken:
    """What an answer took: seconds, seconds of a processor in this process, requests; and the answer."""

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
    """For each question how ours asks, and how the others do."""

    def upstream(graph: GremlinGraph) -> Subgraph:
        return lineage(graph, last, "up")

    def below(graph: GremlinGraph) -> Any:
        return impact(graph, first)

    return {
        "upstream": (upstream, upstream),
        "impact": (below, below),
        "path": (
            lambda graph: all_paths(graph, first, last),
            lambda graph: way_by_itself(graph, first, last),
        ),
    }


def measure(ask: Counted, datasets: int, rounds: int, hop_rounds: int) -> dict[str, dict[str, list[Taken]]]:
    """For each question what each way took in each round; the ways take turns."""
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
            for way_name, each in of_round.items():
                if each.answer != of_round["ours"].answer:
                    raise SystemExit(f"{name}: {way_name} does not give the answer that ours gives")
                if number:
                    taken.setdefault(name, {}).setdefault(way_name, []).append(each)
    return taken


def measure_whole(ask: Counted) -> dict[str, dict[str, list[Taken]]]:
    """What the questions to a whole environment take, once each."""
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
    print(f"{'question':10} {'way':6} {'seconds':>9} {'client':>7} {'requests':>9} {'ours is quicker':>16}")
    for question, ways in taken.items():
        ours = median(ways["ours"])
        for name, rounds in ways.items():
            seconds = median(rounds)
            client = statistics.median(each.client / each.seconds for each in rounds)
            times = f"{seconds / ours:.1f} x" if name != "ours" else ""
            print(f"{question:10} {name:6} {seconds:9.2f} {client:7.0%} {rounds[-1].requests:9,} {times:>16}")


def median(rounds: Sequence[Taken]) -> float:
    return statistics.median(each.seconds for each in rounds)


def figures(case: str, taken: dict[str, dict[str, list[Taken]]], latency: float) -> Iterator[Figure]:
    """Seconds of each way, and how much longer the others took."""
    expected = TIMES_FAR if latency >= FAR_MS else TIMES
    for question, ways in taken.items():
        ours = median(ways["ours"])
        for name, rounds in ways.items():
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
    results.add_option(parser)
    arguments = parser.parse_args()
    kept: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.json"
        edges = len(made_graph.write(file, arguments.datasets))
        size = f"{arguments.datasets:,} datasets, {edges:,} edges"
        server = nullcontext() if arguments.endpoint else EmbeddedServer(file, heap="2g")
        with server as embedded, open_executor(Endpoint(arguments.endpoint or embedded.url)) as connection:
            for latency in arguments.latency:
                ask = Counted(connection, latency / 1000)
                taken = measure(ask, arguments.datasets, arguments.rounds, arguments.hop_rounds)
                print_table(f"{size}, {latency:g} ms added to a request", taken)
                kept += figures(f"{latency:g} ms", taken, latency)
            if not arguments.no_whole:
                whole = measure_whole(Counted(connection))
                print_table(f"{size}, the whole environment", whole)
                kept += figures("whole environment", whole, 0)
    results.append(arguments.results, "queries", kept)


if __name__ == "__main__":
    main()
