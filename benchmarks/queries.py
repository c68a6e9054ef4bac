"""How quickly questions are answered: ours next to two clients that walk by themselves, in one run.

    python benchmarks/queries.py --datasets 100000 --rounds 3

1. `ours`: `lineage_merge.query`: the server walks, what it finds is fetched in batches.
2. `level`: the client asks for all that is next to a level of the graph, level by level, 200 ids a request
   (as this project did before).
3. `hop`: the client asks for what is next to each dataset, one at a time.

All three get the same edges with the same properties, and then the datasets, 200 ids a request. The graph
has groups of datasets, each fed by three others, some hundred hops deep; questions begin at the end of one
group (upstream) or at its beginning (impact, path). `--latency` adds what a network would to each request,
in ms: a server on this machine has none. `hop` is timed over its first `--hops` requests and reckoned from
there, which the table marks with `~`.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import made_graph

from lineage_merge.embedded import EmbeddedServer
from lineage_merge.load.connection import Endpoint
from lineage_merge.load.sending import asking
from lineage_merge.query.elements import Vertex
from lineage_merge.query.graph import Direction
from lineage_merge.query.impact import impact
from lineage_merge.query.lineage import lineage
from lineage_merge.query.on_gremlin import OnGremlin, edges_at, vertices_at
from lineage_merge.query.way import way

IDS_A_LEVEL_REQUEST = 200
FEEDS = ["feeds"]


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


@dataclass(frozen=True)
class Taken:
    """What an answer took, and how many edges it has."""

    seconds: float
    requests: float
    edges: float
    reckoned: bool = False


def walked(
    ask: Counted, start: str, direction: Direction, batch: int, most: int | None = None
) -> tuple[int, set[str]]:
    """A client's own walk: how many edges it met, and which datasets."""
    seen, frontier, edges, asked = {start}, [start], 0, 0
    while frontier:
        following = []
        for first in range(0, len(frontier), batch):
            some = frontier[first : first + batch]
            asked += len(some)
            for row in ask(lambda g: edges_at(g, some, FEEDS, direction, None)):  # noqa: B023
                edges += 1
                there = row["to"] if direction == "down" else row["from"]
                if there not in seen:
                    seen.add(there)
                    following.append(there)
            if most and asked >= most:
                return edges, seen
        frontier = following
    return edges, seen


def fetch(ask: Counted, ids: list[str]) -> None:
    for first in range(0, len(ids), IDS_A_LEVEL_REQUEST):
        ask(lambda g: vertices_at(g, ids[first : first + IDS_A_LEVEL_REQUEST]))  # noqa: B023


def timed(ask: Counted, question: Callable[[], int]) -> Taken:
    ask.requests = 0
    started = time.perf_counter()
    edges = question()
    return Taken(time.perf_counter() - started, ask.requests, edges)


def by_level(ask: Counted, start: str, direction: Direction) -> Taken:
    def question() -> int:
        edges, seen = walked(ask, start, direction, IDS_A_LEVEL_REQUEST)
        fetch(ask, sorted(seen))
        return edges

    return timed(ask, question)


def by_hop(ask: Counted, start: str, direction: Direction, hops: int, reached: list[str]) -> Taken:
    walk = timed(ask, lambda: walked(ask, start, direction, 1, hops)[0])
    factor = max(1.0, len(reached) / walk.requests)
    rest = timed(ask, lambda: fetch(ask, reached) or 0)
    return Taken(
        walk.seconds * factor + rest.seconds,
        walk.requests * factor + rest.requests,
        walk.edges * factor,
        factor > 1,
    )


def measure(
    endpoint: Endpoint, datasets: int, rounds: int, hops: int, latency: float
) -> dict[str, dict[str, list[Taken]]]:
    """For each question what each way took in each round; the ways take turns."""
    group = min(datasets, made_graph.GROUP)
    first, last = (Vertex(made_graph.dataset(n), "table") for n in (0, group - 1))
    taken: dict[str, dict[str, list[Taken]]] = {}
    with asking(endpoint) as connection:
        ask = Counted(connection, latency)
        graph = OnGremlin(ask)
        ours: dict[str, tuple[Callable[[], int], str, Direction]] = {
            "upstream": (lambda: len(lineage(graph, last, "up").edges), last.id, "up"),
            "impact": (lambda: len(impact(graph, first).subgraph.edges), first.id, "down"),
            "path": (lambda: len(way(graph, first, last).edges), first.id, "down"),
        }
        for number in range(rounds + 1):  # the first warms the server up
            for name, (question, start, direction) in ours.items():
                print(f"  round {number}: {name}", file=sys.stderr)
                reached = sorted({start} | graph.reach([start], FEEDS, direction))
                of_round = {
                    "ours": timed(ask, question),
                    "level": by_level(ask, start, direction),
                    "hop": by_hop(ask, start, direction, hops, reached),
                }
                if number:
                    for way_name, each in of_round.items():
                        taken.setdefault(name, {}).setdefault(way_name, []).append(each)
    return taken


def print_table(datasets: int, edges: int, latency: float, taken: dict[str, dict[str, list[Taken]]]) -> None:
    print(f"\n{datasets:,} datasets, {edges:,} edges, {latency:g} ms added to a request")
    print(f"{'question':10} {'way':6} {'seconds':>9} {'requests':>9} {'edges':>8} {'ours is quicker':>16}")
    for question, ways in taken.items():
        ours = statistics.median(each.seconds for each in ways["ours"])
        for name, rounds in ways.items():
            seconds = statistics.median(each.seconds for each in rounds)
            last = rounds[-1]
            mark = "~" if last.reckoned else ""
            times = f"{seconds / ours:.1f} x" if name != "ours" else ""
            took = f"{mark}{seconds:.2f}"
            asked, found = (f"{mark}{number:,.0f}" for number in (last.requests, last.edges))
            print(f"{question:10} {name:6} {took:>9} {asked:>9} {found:>8} {times:>16}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds and requests of questions, next to simpler clients")
    parser.add_argument("--datasets", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=float, nargs="+", default=[0, 5], help="in ms, added to a request")
    parser.add_argument("--hops", type=int, default=300, help="requests after which `hop` is reckoned")
    parser.add_argument("--endpoint", help="ws://... of a server that has a graph of made_graph already")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.json"
        edges = len(made_graph.write(file, arguments.datasets))
        server = nullcontext() if arguments.endpoint else EmbeddedServer(file, heap="2g")
        with server as embedded:
            endpoint = Endpoint(arguments.endpoint or embedded.url)
            for latency in arguments.latency:
                taken = measure(
                    endpoint, arguments.datasets, arguments.rounds, arguments.hops, latency / 1000
                )
                print_table(arguments.datasets, edges, latency, taken)


if __name__ == "__main__":
    main()
