"""Twelve policies on a graph of many columns: our client and one that asks per element, in one run.

    python benchmarks/policies.py --tables 10000

1. `ours`: `lineage_merge.questions.policies`: what the policies need is read once, in batches.
2. `one by one`: the same rules; the client asks for each dataset, each column, and the edges of each.

Both return the same violations, which is checked. The graph is that of `tags.py`: ten columns per table, a
tag that reaches one column in ten. CPU is the time of this process. Some policies are violated by hundreds
of datasets, others by none.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import made_columns, options, results
from benchmarks.queries import Counted
from benchmarks.results import Figure
from benchmarks.tags import OneByOne
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.gremlin import GremlinGraph
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.policies import PolicyCheck, check_policies

MAX_SECONDS = 5.0
# Minimum ratio to a client that asks per element.
TIMES = 5.0
LAYERS = {"raw": "*.schema_0.*", "staging": "*.schema_[1-9].*", "mart": "*.schema_1?.*"}
POLICIES = [
    {"name": "no-pii-in-marts", "tag": "pii", "must_not_reach": "*.schema_19.*"},
    {"name": "no-pii-in-keys", "tag": "pii", "must_not_reach": "*#column_0"},
    {"name": "no-pii-on-dashboards", "tag": "pii", "must_not_reach": "dashboard_*"},
    {"name": "marts-read-no-raw", "layer": "mart", "must_not_read": "raw"},
    {"name": "staging-reads-no-raw", "layer": "staging", "must_not_read": "raw"},
    {"name": "raw-reads-no-staging", "layer": "raw", "must_not_read": "staging"},
    {"name": "marts-are-tested", "datasets": "*.schema_19.*", "must_have": ["test", "owner"]},
    {"name": "raw-is-fresh", "datasets": "*.schema_0.*", "must_have": "freshness", "severity": "warning"},
    {"name": "first-tables-are-described", "datasets": "*.table_0000*", "must_have": "description"},
    {"name": "marts-are-fed-by-raw", "datasets": "*.schema_19.*", "must_be_fed_by": "*.schema_0.*"},
    {"name": "dashboards-are-fed", "datasets": "dashboard_*", "must_be_fed_by": "*.schema_1.*"},
    {"name": "last-table-is-fed", "datasets": "*.table_000049", "must_be_fed_by": "*.table_000000"},
]


class EachElement(OneByOne):
    """A client that asks for each element by itself, also for pairs of datasets."""

    def pairs(
        self, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> set[tuple[str, str]]:
        starts = ("assertion",) if "checks" in labels else ("table", "exposure")
        edges = self.edges_from(sorted(self.ids(starts, environment, dag)), labels, dag)
        return {(each.from_id, each.to_id) for each in edges}


@dataclass(frozen=True)
class Taken:
    """Cost of a check, and its result."""

    seconds: float
    client: float
    requests: int
    answer: PolicyCheck


def timed(ask: Counted, graph: GremlinGraph) -> Taken:
    settings = {"dag_name": "made", "environment": "dev", "query": {"layers": LAYERS}, "policies": POLICIES}
    config = CONFIGURATION.parse(settings, needs_source=False)
    ask.requests = 0
    started, client = time.perf_counter(), time.process_time()
    answer = check_policies(
        graph,
        config.policies,
        layers=[Layer(name, globs) for name, globs in config.query.layers.items()],
        environment="dev",
    )
    seconds, client = time.perf_counter() - started, time.process_time() - client
    return Taken(seconds, client, ask.requests, answer)


def measure(ask: Counted, rounds: int) -> dict[str, list[Taken]]:
    """Measure each client; `one by one` only once."""
    taken: dict[str, list[Taken]] = {"ours": [], "one by one": []}
    for number in range(rounds + 1):  # the first warms the server up
        print(f"  round {number}", file=sys.stderr)
        ours = timed(ask, GremlinGraph(ask))
        if number:
            taken["ours"].append(ours)
        if number == 1:
            other = timed(ask, EachElement(ask))
            if other.answer != ours.answer:
                raise SystemExit("one by one returns other violations than ours")
            taken["one by one"].append(other)
    return taken


def figures(taken: dict[str, list[Taken]]) -> list[Figure]:
    """Print a table; return seconds, requests and the ratio."""
    case = f"{len(POLICIES)} policies"
    ours = statistics.median(each.seconds for each in taken["ours"])
    other = statistics.median(each.seconds for each in taken["one by one"])
    print(f"{'client':12} {'seconds':>9} {'CPU':>9} {'requests':>9}")
    for client, rounds in taken.items():
        seconds = statistics.median(each.seconds for each in rounds)
        cpu = statistics.median(each.client for each in rounds)
        print(f"{client:12} {seconds:9.2f} {cpu:9.2f} {rounds[-1].requests:9,}")
    check = taken["ours"][-1].answer
    print(f"{check.summary}; ours is {other / ours:.1f} times as fast")
    for result in check.results:
        print(
            f"  {result.policy.name:28} {result.checked:7,} checked, {len(result.violations):7,} violations"
        )
    return [
        Figure(case, "ours", round(ours, 3), "s", at_most=MAX_SECONDS),
        Figure(case, "one by one", round(other, 3), "s"),
        Figure(case, "ours, requests", taken["ours"][-1].requests, "requests"),
        Figure(case, "one by one, requests", taken["one by one"][-1].requests, "requests"),
        Figure(case, "one by one / ours", round(other / ours, 2), "times", at_least=TIMES),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds and requests of a check of policies")
    parser.add_argument("--tables", type=int, default=10_000, help="each has ten columns")
    parser.add_argument("--rounds", type=int, default=3)
    options.add_to(parser, smallest={"tables": 100, "rounds": 1})
    arguments = parser.parse_args()
    with made_columns.served(arguments.tables) as connection:
        found = figures(measure(Counted(connection), arguments.rounds))
    results.append(arguments.results, "policies", found)


if __name__ == "__main__":
    main()
