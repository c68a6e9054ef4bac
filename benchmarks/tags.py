"""What carries a tag in a graph of many columns: our client and one that asks per column, in one run.

    python benchmarks/tags.py --tables 10000

1. `ours` (`questions.traversal.tag_propagation`): the server walks, its edges are fetched in batches.
2. `one by one`: the same rules; the client asks for the edges of each column, and for each element.

Both return the same carriers, which is checked. Each table has ten columns. The tag is on a column of one in
fifty tables and reaches about one column in ten, and a dashboard per fifty tables. It is propagated without
settings, and with settings whose functions need expressions to be parsed.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import made_columns, options, results
from benchmarks.queries import Counted
from benchmarks.results import Figure
from lineage_merge.config import Propagation
from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.questions.backends.gremlin import GremlinGraph
from lineage_merge.questions.graph import Direction
from lineage_merge.questions.traversal.tag_propagation import PropagatedTags, propagate

MAX_REQUESTS = 20
# Minimum ratio to a client that asks per column.
TIMES = 5.0
SETTINGS: Mapping[str, Mapping[str, Propagation]] = {
    "everywhere": {},
    "with stops": {
        made_columns.TAG: Propagation(
            frozenset({"AGGREGATION", "influences"}), ("md5", "sha2"), ("*.schema_7.*",)
        )
    },
}


class OneByOne(GremlinGraph):
    """A client that asks for each element by itself, and walks from column to column."""

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        return [found for each in ids for found in super(OneByOne, self).vertices([each])]

    def edges_below(
        self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None, ends: Sequence[str] = ()
    ) -> list[Edge]:
        found: list[Edge] = []
        seen = set(ids)
        left = sorted(seen)
        while left:
            leaving = self.edges_from([left.pop()], [*labels, *ends], dag)
            found += leaving
            new = {edge.to_id for edge in leaving} - seen
            seen |= new
            left += sorted(new)
        return found

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        return {edge.to_id for edge in self.edges_below(ids, labels, dag)}

    def feeds_without_columns(self, ids: Iterable[str], dag: str | None = None) -> list[Edge]:
        return [edge for each in ids for edge in super(OneByOne, self).feeds_without_columns([each], dag)]

    def _edges(
        self, ids: Iterable[str], labels: Sequence[str], direction: Direction, dag: str | None
    ) -> list[Edge]:
        return [edge for each in ids for edge in super(OneByOne, self)._edges([each], labels, direction, dag)]


@dataclass(frozen=True)
class Taken:
    """Cost of an answer, and the answer."""

    seconds: float
    requests: int
    answer: PropagatedTags


def timed(ask: Counted, graph: GremlinGraph, settings: Mapping[str, Propagation]) -> Taken:
    ask.requests = 0
    started = time.perf_counter()
    answer = propagate(graph, [made_columns.TAG], settings, "dev")
    return Taken(time.perf_counter() - started, ask.requests, answer)


def measure(ask: Counted, rounds: int) -> dict[str, dict[str, list[Taken]]]:
    """Measure each setting per client; `one by one` only once."""
    taken: dict[str, dict[str, list[Taken]]] = {}
    for number in range(rounds + 1):  # the first warms the server up
        for name, settings in SETTINGS.items():
            print(f"  round {number}: {name}", file=sys.stderr)
            ours = timed(ask, GremlinGraph(ask), settings)
            clients = taken.setdefault(name, {"ours": [], "one by one": []})
            if number:
                clients["ours"].append(ours)
            if number == 1:
                other = timed(ask, OneByOne(ask), settings)
                if other.answer != ours.answer:
                    raise SystemExit(f"{name}: one by one returns other carriers than ours")
                clients["one by one"].append(other)
    return taken


def figures(taken: dict[str, dict[str, list[Taken]]]) -> list[Figure]:
    """Print a table; return seconds, requests and ratios."""
    found = []
    print(
        f"{'settings':12} {'client':12} {'seconds':>9} {'requests':>9} {'carriers':>9} {'ours is faster':>16}"
    )
    for name, clients in taken.items():
        ours = statistics.median(each.seconds for each in clients["ours"])
        for client, rounds in clients.items():
            seconds = statistics.median(each.seconds for each in rounds)
            requests = rounds[-1].requests
            is_ours = client == "ours"
            ratio = "" if is_ours else f"{seconds / ours:.1f} x"
            carriers = len(rounds[-1].answer.carriers)
            print(f"{name:12} {client:12} {seconds:9.2f} {requests:9,} {carriers:9,} {ratio:>16}")
            found.append(Figure(name, client, round(seconds, 3), "s"))
            most = MAX_REQUESTS if is_ours else None
            found.append(Figure(name, f"{client}, requests", requests, "requests", at_most=most))
            if not is_ours:
                ratio_of = round(seconds / ours, 2)
                found.append(Figure(name, f"{client} / ours", ratio_of, "times", at_least=TIMES))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds and requests of a tag's propagation")
    parser.add_argument("--tables", type=int, default=10_000, help="each has ten columns")
    parser.add_argument("--rounds", type=int, default=3)
    options.add_to(parser, smallest={"tables": 100, "rounds": 1})
    arguments = parser.parse_args()
    with made_columns.served(arguments.tables) as connection:
        found = figures(measure(Counted(connection), arguments.rounds))
    results.append(arguments.results, "tags", found)


if __name__ == "__main__":
    main()
