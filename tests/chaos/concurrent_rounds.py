"""Rounds in which two to eight merges load concurrently.

The final graph must be that of a sequential order. If merges conflict about a dataset (its label, or which of
two names is canonical), a merge may act on outdated values: then nothing may be lost, and the next merge of
each DAG must lead to the graph of a sequential order.
"""

import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.server.update import update
from lineage_merge.model.errors import LineageMergeError
from tests.chaos.commands import InvariantViolated
from tests.chaos.draw import Round
from tests.chaos.rounds import Outcome, compare
from tests.chaos.servers import Servers
from tests.load.changing_pipeline import Graph
from tests.made_merges import Made

_HANG_SECONDS = 900
_MAX_PAUSE = 0.5
# Two ids of one table: the path, known to one merge, and the name, used by the others.
_PATH, _NAME = "dev|s3://l|t", "dev|hive|t"


class ConcurrentLoads(NamedTuple):
    """Concurrent `merges`, `earlier` ones, and those that follow (`again`; empty if there is no conflict)."""

    earlier: list[Made]
    merges: list[Made]
    again: list[Made]


class ReferenceRun(NamedTuple):
    """The graph before the merges, and after them in sequential order."""

    start: Graph
    end: Graph


class ConcurrentRounds:
    """Runs rounds of concurrent merges. Caches the graphs of sequential orders."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._references: dict[tuple[str, int, bool], ReferenceRun] = {}

    def run_round(self, drawn: Round) -> Outcome:
        """Run a round. Raises InvariantViolated."""
        servers = self._servers
        scenario = SCENARIOS[drawn.mode, drawn.disputed](drawn.merges)
        reference = self._reference_order(drawn, scenario)
        started = time.monotonic()
        servers.restore(reference.start)
        chance = random.Random(drawn.seed)
        pauses = [chance.uniform(0, _MAX_PAUSE) for _ in scenario.merges]
        problems = self._load_concurrently(scenario.merges, pauses)
        if problems:
            raise InvariantViolated(f"{len(problems)} concurrent merges failed: {problems[0]}")
        if scenario.again:
            check_nothing_lost(servers.graph_content(), reference.end)
            self._load_sequentially(scenario.again)
        compare(servers.graph_content(), reference.end)
        return Outcome(runs=len(scenario.merges), seconds=time.monotonic() - started)

    def _reference_order(self, drawn: Round, scenario: ConcurrentLoads) -> ReferenceRun:
        key = (drawn.mode, drawn.merges, drawn.disputed)
        if key not in self._references:
            self._servers.restore(({}, {}))
            self._load_sequentially(scenario.earlier)
            start = self._servers.graph_content()
            self._load_sequentially(scenario.merges)
            self._load_sequentially(scenario.again)
            self._references[key] = ReferenceRun(start, self._servers.graph_content())
        return self._references[key]

    def _load_sequentially(self, merges: Iterable[Made]) -> None:
        for made in merges:
            self._load(made)

    def _load(self, made: Made) -> None:
        endpoint = Endpoint(self._servers.graph.url, timeout_seconds=30)
        update(made.merge(LocalEngine()), endpoint, "dev", made.dag, allow_retire=True)

    def _load_concurrently(self, merges: list[Made], pauses: list[float]) -> list[str]:
        problems: list[str] = []
        ended: list[bool] = []

        def load(made: Made, pause: float) -> None:
            time.sleep(pause)
            try:
                self._load(made)
            except LineageMergeError as error:
                problems.append(f"{made.dag}: {error.message[:500]}")
            except Exception as error:  # noqa: BLE001 # any error would be visible to users
                problems.append(f"{made.dag}: {error!r}"[:1000])
            ended.append(True)

        threads = [
            threading.Thread(target=load, args=each, daemon=True) for each in zip(merges, pauses, strict=True)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _HANG_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        if len(ended) < len(merges):
            raise InvariantViolated(f"concurrent merges hang: not ended after {_HANG_SECONDS} s")
        return problems


def check_nothing_lost(found: Graph, right: Graph) -> None:
    """Raise InvariantViolated if an element or a tag is missing."""
    lost = [f"{tag} on {key}" for key, tag in _tags(right) - _tags(found)]
    lost += [" ".join(edge) for edge in _edges(right) - _edges(found)]
    if lost:
        raise InvariantViolated(f"lost by concurrent merges: {'; '.join(sorted(lost)[:5])}")


def _tags(graph: Graph) -> set[tuple[str, str]]:
    return {(_known(key), tag) for key, (_, values) in graph[0].items() for tag in values["dag_name"]}


def _edges(graph: Graph) -> set[tuple[str, str, str, str, str]]:
    return {
        (_known(start), label, _known(end), values["dag_name"], values.get("job_name", ""))
        for start, label, end, values in graph[1].values()
    }


def _known(key: str) -> str:
    """Return the id of a vertex, mapping the table's name to its path."""
    return _PATH if key == _NAME else key


def several_dags(count: int) -> ConcurrentLoads:
    """Return merges of DAGs with common sources that read each other's datasets and all delete models."""
    return ConcurrentLoads([_of_dags(number, count, old=True) for number in range(count)], _newer(count), [])


def disputing_dags(count: int) -> ConcurrentLoads:
    """Return such merges that also conflict about labels and about the name of a table."""
    merges = _newer(count)
    for number, made in enumerate(merges):
        for other in range(count):
            if other != number:
                made.node(
                    f"built{other}", "view" if number % 2 else "table", description=f"as {number} reads it"
                )
        made.node("hive|t").job("dbt", "model.p.reader", {f"of_t{number}": ["hive|t"]}, 2, "p")
    knows = merges[0]
    knows.node("s3://l|t", location="s3://l/t").alias("hive|t", "s3://l|t")
    del knows.nodes[_NAME]
    for key, edge in list(knows.edges.items()):
        if edge["from"] == _NAME:
            del knows.edges[key]
    knows.job("dbt", "model.p.reader", {"of_t0": ["s3://l|t"]}, 2, "p")
    return ConcurrentLoads([_of_dags(number, count, old=True) for number in range(count)], merges, merges)


def one_dag(count: int) -> ConcurrentLoads:
    """Return `count` identical merges of one DAG, after an earlier one."""
    return ConcurrentLoads([_version(1)], [_version(2) for _ in range(count)], [])


def versions_of_one_dag(count: int) -> ConcurrentLoads:
    """Return successive versions of one DAG's merge."""
    return ConcurrentLoads(
        [_version(1)], [_version(2 + number) for number in range(count)], [_version(1 + count)]
    )


SCENARIOS: dict[tuple[str, bool], Callable[[int], ConcurrentLoads]] = {
    ("dags", False): several_dags,
    ("dags", True): disputing_dags,
    ("dag", False): one_dag,
    ("dag", True): versions_of_one_dag,
}


def _newer(count: int) -> list[Made]:
    return [_of_dags(number, count, old=False) for number in range(count)]


def _of_dags(number: int, count: int, *, old: bool) -> Made:
    made = Made(f"dag{number}")
    at = 1 if old else 2
    for shared in range(12):
        made.node(f"s3|shared{shared}", "file", tags=[made.dag])
    built = f"built{number}"
    made.node(built, description=f"of {made.dag}", tags=[made.dag])
    sources = [f"s3|shared{shared}" for shared in range(12)]
    made.job("dbt", f"model.p.{made.dag}", {built: sources}, at, "p")
    made.feeds_column(("dbt", f"model.p.{made.dag}"), ("s3|shared0", "id"), (built, "id"))
    others = [f"built{other}" for other in range(count) if other != number]
    made.job("dbt", "model.p.sum", {f"sum{number}": others}, at, "p")
    for other in others:
        made.feeds_column(("dbt", "model.p.sum"), (other, "id"), (f"sum{number}", "id"))
    if old:
        dropped = [f"dropped{each}" for each in range(8)]
        made.job("dbt", "model.p.dropped", {f"dropped_of{number}": dropped}, at, "p")
    else:
        fresh = {f"new{each}": [built, "s3|shared1"] for each in range(30)}
        # The same new datasets in every DAG.
        made.job("dbt", "model.p.fresh", {f"own{number}": list(fresh)}, at, "p")
    return made


def _version(at: int) -> Made:
    made = Made("versions").job("dbt", "model.p.stable", {"stable": ["a", f"source{at}"]}, at, "p")
    made.job("dbt", "model.p.many", {f"t{each}": ["a", "stable"] for each in range(20 + 5 * at)}, at, "p")
    made.feeds_column(("dbt", "model.p.stable"), ("a", "id"), ("stable", f"id{at}"), expression=f"id + {at}")
    return made.job("dbt", f"model.p.only{at}", {f"only{at}": ["stable"]}, at, "p")
