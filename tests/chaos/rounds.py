"""Rounds of faults: a merge runs during faults, and is repeated until it succeeds."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from lineage_merge.load.gremlin.connection import connect
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.chaos.commands import HANG_SECONDS, Command, InvariantViolated, one_line
from tests.chaos.draw import Change, Fault, Round
from tests.chaos.fault_proxy import FaultProxy, Watch
from tests.chaos.servers import PASSWORD, Servers
from tests.load.changing_pipeline import Graph

# Maximum runs after the last fault: Spark may detect a killed worker late.
_MAX_FAULT_FREE_RUNS = 3
_ORPHAN_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """A fault-free run: the graph before and after it, its duration and numbers of requests."""

    start: Graph
    end: Graph
    seconds: float
    graph_requests: int
    arango_requests: int


@dataclass(slots=True)
class Outcome:
    """The outcome of a round: `injected` faults by kind, and `failures` of runs."""

    runs: int = 0
    injected: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Rounds:
    """Runs rounds of faults. Caches the results of fault-free runs."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._reference_runs: dict[Change, ReferenceRun] = {}

    def reference(self, change: Change) -> ReferenceRun:
        """Return the fault-free run of a change."""
        if change not in self._reference_runs:
            start = self._other if change == "first" else self._loaded
            self._reference_runs[change] = self._run_reference(start, _pipeline(change))
        return self._reference_runs[change]

    @cached_property
    def _other(self) -> Graph:
        return self._run_reference(({}, {}), "other").end

    @cached_property
    def _loaded(self) -> Graph:
        return self.reference("first").end

    def _run_reference(self, start: Graph, name: str) -> ReferenceRun:
        servers = self._servers
        servers.restore(start)
        if servers.graph_content() != start:
            raise InvariantViolated("the restored graph differs")
        with _watching(servers, [], []):
            started = time.monotonic()
            self._run_here(name, 0)
            seconds = time.monotonic() - started
            return ReferenceRun(
                start,
                servers.graph_content(),
                seconds,
                servers.graph_proxy.requests,
                servers.arango_proxy.requests,
            )

    @cached_property
    def job_seconds(self) -> float:
        """Return the duration of a fault-free job; its graph must be that of the driver."""
        reference = self.reference("first")
        self._servers.restore(reference.start)
        started = time.monotonic()
        job = self._start(Round(0, "job", "first", 0, (), 0, False))
        failure = job.end()
        job.await_orphans()
        if failure:
            raise InvariantViolated(f"a fault-free job failed: {failure}")
        seconds = time.monotonic() - started
        compare(self._servers.graph_content(), reference.end)
        return seconds

    def run_round(self, drawn: Round) -> Outcome:
        """Run a round. Raises InvariantViolated."""
        servers, reference = self._servers, self.reference(drawn.change)
        by_clock = any(fault.wire == "clock" for faults in drawn.faults for fault in faults)
        seconds = self.job_seconds if by_clock and drawn.mode != "driver" else reference.seconds
        outcome = Outcome()
        started = time.monotonic()
        servers.restore(reference.start)
        chance = random.Random(drawn.seed)
        jobs: list[Command] = []
        fault_free_runs = 0
        while True:
            faults = drawn.faults[outcome.runs] if outcome.runs < len(drawn.faults) else ()
            outcome.runs += 1
            fault_free_runs += not faults
            job = None if drawn.mode == "driver" else self._start(drawn)
            jobs += [job] if job else []
            injections = [partial(self._inject, fault, job, chance, outcome.injected) for fault in faults]
            watches: dict[str, list[Watch]] = {"graph": [], "arango": []}
            timers = []
            for fault, injection in zip(faults, injections, strict=True):
                if fault.wire == "clock":
                    timers.append(threading.Timer(fault.moment * seconds, injection))
                    continue
                requests = reference.graph_requests if fault.wire == "graph" else reference.arango_requests
                at = 1 + int(fault.moment * requests)
                watches[fault.wire].append(Watch(at, injection, fault.arrives))
            with _watching(servers, watches["graph"], watches["arango"]):
                for timer in timers:
                    timer.start()
                try:
                    failure = (
                        job.end()
                        if job
                        else self._run_in_thread(_pipeline(drawn.change), drawn.retry_seconds)
                    )
                finally:
                    for timer in timers:
                        timer.cancel()
                        timer.join()
            if not failure:
                break
            outcome.failures.append(failure)
            if fault_free_runs == _MAX_FAULT_FREE_RUNS:
                raise InvariantViolated(f"fails without faults: {outcome.failures}")
            if not faults or outcome.runs >= len(drawn.faults):
                servers.await_repairs()
        servers.await_repairs()
        for job in jobs:
            job.await_orphans()
        self._await_closed_connections()
        compare(servers.graph_content(), reference.end)
        outcome.seconds = time.monotonic() - started
        return outcome

    def run_removals(self, seed: int, times: int) -> None:
        """Remove elements of the DAG and merge again, `times` times. Raises InvariantViolated."""
        servers, reference = self._servers, self.reference("first")
        chance = random.Random(seed)
        dag = servers.settings("before", 0)["dag_name"]
        servers.restore(reference.start)
        for _ in range(2):  # the second one compares incrementally
            self._run_here("before", 0)
        for _ in range(times):
            vertices, edges = servers.graph_content()
            own = [
                key
                for key, (label, graph_content) in vertices.items()
                if graph_content["dag_name"] == [dag] and label != "merge_run"
            ]
            of_dag = [key for key, edge in edges.items() if edge[3]["dag_name"] == dag]
            with connect(servers.graph) as g:
                # Without ids, `V()` would match every vertex.
                if removed := chance.sample(sorted(own), chance.randint(0, 2)):
                    g.V(*removed).drop().to_list()
                g.E(*chance.sample(sorted(of_dag), chance.randint(1, 3))).drop().to_list()
            self._run_here("before", 0)
            compare(servers.graph_content(), reference.end)

    def _inject(
        self,
        fault: Fault,
        job: Command | None,
        chance: random.Random,
        injected: Counter[str],
    ) -> None:
        servers = self._servers
        match fault.kind:
            case "job":
                if job is None or not job.kill(fault.victim):
                    return
            case "worker":
                if not servers.kill_worker(job.pid if job else servers.pid, chance):
                    return
            case "arango":
                servers.kill_arango(fault.down)
            case "cut graph":
                servers.cut(servers.graph_proxy, fault.down)
            case "cut arango":
                servers.cut(servers.arango_proxy, fault.down)
            case "restart":
                servers.restart_server()
        injected[fault.kind] += 1

    def _start(self, drawn: Round) -> Command:
        name = _pipeline(drawn.change)
        words: list[str | Path] = ["run"] if drawn.mode == "job" else ["load", self._servers.built(name)]
        file = self._servers.config_file(name, drawn.retry_seconds)
        return Command(*words, "--config", file, "--quiet", **PASSWORD)

    def _run_in_thread(self, name: str, retry_seconds: int) -> str:
        """Run in this process's Spark; returns "" or the error."""
        found: list[BaseException | None] = []

        def run() -> None:
            try:
                self._run_here(name, retry_seconds)
            except BaseException as error:  # noqa: BLE001 # evaluated by the waiting thread
                found.append(error)
            else:
                found.append(None)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(HANG_SECONDS)
        if not found:
            raise InvariantViolated(f"a run hangs: not ended after {HANG_SECONDS} s")
        self._servers.spark.catalog.clearCache()
        match found[0]:
            case None:
                return ""
            case LineageMergeError() as error:
                return one_line(error.message)
            case error:
                raise InvariantViolated(f"a run raised an unexpected error: {error!r}") from error

    def _run_here(self, name: str, retry_seconds: int) -> None:
        pipeline.run(self._servers.spark, CONFIGURATION.parse(self._servers.settings(name, retry_seconds)))

    def _await_closed_connections(self) -> None:
        """Wait until all connections are closed: tasks of a failed run may outlive it."""
        deadline = time.monotonic() + _ORPHAN_SECONDS
        while self._servers.graph_proxy.connections or self._servers.arango_proxy.connections:
            if time.monotonic() > deadline:
                raise InvariantViolated("connections of an ended run are still open")
            time.sleep(0.02)


def compare(found: Graph, right: Graph) -> None:
    """Raise InvariantViolated with the first differences, if there are any."""
    differing = []
    for kind, actual, expected in zip(("vertex", "edge"), found, right, strict=True):
        differing += [f"{kind} {key} is missing" for key in expected.keys() - actual.keys()]
        differing += [f"{kind} {key} is unexpected: {actual[key]}" for key in actual.keys() - expected.keys()]
        differing += [
            f"{kind} {key} is {actual[key]}, not {expected[key]}"
            for key in actual.keys() & expected.keys()
            if actual[key] != expected[key]
        ]
    if differing:
        more = f" and {len(differing) - 5} more" if len(differing) > 5 else ""
        raise InvariantViolated(f"the graph differs: {'; '.join(sorted(differing)[:5])}{more}")


@contextmanager
def _watching(servers: Servers, of_graph: list[Watch], of_arango: list[Watch]) -> Iterator[None]:
    gates: tuple[tuple[FaultProxy, list[Watch]], ...] = (
        (servers.graph_proxy, of_graph),
        (servers.arango_proxy, of_arango),
    )
    for proxy, watches in gates:
        proxy.begin(watches)
    yield
    # Including watches that were never due.
    for proxy, _ in gates:
        proxy.forget()


def _pipeline(change: Change) -> str:
    return "after" if change == "changed" else "before"
