"""A round in which two to eight merges load at the same moment.

The graph must be what some quiet order of them leaves. Where they dispute about a dataset (which label it
has, which of two names is its own) a merge may decide on what another changes in that moment: then nothing
may be lost, and the next merge of each, as it comes the next day, must leave what a quiet order leaves.
"""

import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.update import update
from lineage_merge.model.errors import LineageMergeError
from tests.chaos.draw import Round
from tests.chaos.rounds import Broken, Outcome, compare
from tests.chaos.world import World
from tests.load.changing_pipeline import Graph
from tests.made_merges import Made

_HANG_SECONDS = 900
_LONGEST_PAUSE = 0.5
# Of one table: what one merge learns, and what the others call it.
_PATH, _NAME = "dev|s3://l|t", "dev|hive|t"


class Meeting(NamedTuple):
    """Merges that meet after `earlier` ones, and those that come `again` (none: all is settled)."""

    earlier: list[Made]
    merges: list[Made]
    again: list[Made]


class Quiet(NamedTuple):
    """The graph before the merges, and after them in a quiet order."""

    start: Graph
    end: Graph


class Meetings:
    """Rounds of merges at once in a world. What quiet orders leave is found out once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._quiet: dict[tuple[str, int, bool], Quiet] = {}

    def play(self, drawn: Round) -> Outcome:
        """Do it. Raises Broken."""
        world = self._world
        meeting = MEETINGS[drawn.way, drawn.disputed](drawn.merges)
        quiet = self._quiet_order(drawn, meeting)
        began = time.monotonic()
        world.restore(quiet.start)
        chance = random.Random(drawn.seed)
        pauses = [chance.uniform(0, _LONGEST_PAUSE) for _ in meeting.merges]
        problems = self._at_once(meeting.merges, pauses)
        if problems:
            raise Broken(f"of merges at once failed {len(problems)}: {problems[0]}")
        if meeting.again:
            nothing_lost(world.held(), quiet.end)
            self._one_by_one(meeting.again)
        compare(world.held(), quiet.end)
        return Outcome(runs=len(meeting.merges), seconds=time.monotonic() - began)

    def _quiet_order(self, drawn: Round, meeting: Meeting) -> Quiet:
        key = (drawn.way, drawn.merges, drawn.disputed)
        if key not in self._quiet:
            self._world.restore(({}, {}))
            self._one_by_one(meeting.earlier)
            start = self._world.held()
            self._one_by_one(meeting.merges)
            self._one_by_one(meeting.again)
            self._quiet[key] = Quiet(start, self._world.held())
        return self._quiet[key]

    def _one_by_one(self, merges: Iterable[Made]) -> None:
        for made in merges:
            self._load(made)

    def _load(self, made: Made) -> None:
        endpoint = Endpoint(self._world.graph.url, timeout_seconds=30)
        update(made.merge(LocalEngine()), endpoint, "dev", made.dag, allow_retire=True)

    def _at_once(self, merges: list[Made], pauses: list[float]) -> list[str]:
        problems: list[str] = []
        ended: list[bool] = []

        def load(made: Made, pause: float) -> None:
            time.sleep(pause)
            try:
                self._load(made)
            except LineageMergeError as error:
                problems.append(f"{made.dag}: {error.message[:500]}")
            except Exception as error:  # noqa: BLE001 # whatever it is, a person would see it
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
            raise Broken(f"merges at once hang: after {_HANG_SECONDS} s they have not ended")
        return problems


def nothing_lost(found: Graph, right: Graph) -> None:
    """Raises Broken where an element or a tag is not there."""
    lost = [f"{tag} on {key}" for key, tag in _tags(right) - _tags(found)]
    lost += [" ".join(edge) for edge in _edges(right) - _edges(found)]
    if lost:
        raise Broken(f"of merges at once is lost: {'; '.join(sorted(lost)[:5])}")


def _tags(graph: Graph) -> set[tuple[str, str]]:
    return {(_known(key), tag) for key, (_, values) in graph[0].items() for tag in values["dag_name"]}


def _edges(graph: Graph) -> set[tuple[str, str, str, str, str]]:
    return {
        (_known(start), label, _known(end), values["dag_name"], values.get("job_name", ""))
        for start, label, end, values in graph[1].values()
    }


def _known(key: str) -> str:
    """The id of a vertex, whichever of its two names a merge knew."""
    return _PATH if key == _NAME else key


def several_dags(count: int) -> Meeting:
    """DAGs with the same sources, that read what others build, and that all drop what they all had."""
    return Meeting([_of_dags(number, count, old=True) for number in range(count)], _newer(count), [])


def disputing_dags(count: int) -> Meeting:
    """The same; besides, they disagree on labels, and one learns that a table is a path."""
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
    return Meeting([_of_dags(number, count, old=True) for number in range(count)], merges, merges)


def one_dag(count: int) -> Meeting:
    """The same merge of one DAG, so many times, after an earlier one."""
    return Meeting([_version(1)], [_version(2) for _ in range(count)], [])


def versions_of_one_dag(count: int) -> Meeting:
    """Later and later merges of one DAG."""
    return Meeting([_version(1)], [_version(2 + number) for number in range(count)], [_version(1 + count)])


MEETINGS: dict[tuple[str, bool], Callable[[int], Meeting]] = {
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
        gone = [f"gone{each}" for each in range(8)]
        made.job("dbt", "model.p.gone", {f"gone_of{number}": gone}, at, "p")
    else:
        fresh = {f"new{each}": [built, "s3|shared1"] for each in range(30)}
        # The same datasets, told by each DAG for the first time in the same moment.
        made.job("dbt", "model.p.fresh", {f"own{number}": list(fresh)}, at, "p")
    return made


def _version(at: int) -> Made:
    made = Made("versions").job("dbt", "model.p.kept", {"kept": ["a", f"source{at}"]}, at, "p")
    made.job("dbt", "model.p.many", {f"t{each}": ["a", "kept"] for each in range(20 + 5 * at)}, at, "p")
    made.feeds_column(("dbt", "model.p.kept"), ("a", "id"), ("kept", f"id{at}"), expression=f"id + {at}")
    return made.job("dbt", f"model.p.only{at}", {f"only{at}": ["kept"]}, at, "p")
