"""A round of faults: a merge runs while they strike, and is run again until it ends well."""

import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial

from lineage_merge.load.gremlin.connection import connect
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.chaos import processes
from tests.chaos.draw import Change, Fault, Round
from tests.chaos.gate import Gate, Watch
from tests.chaos.world import PASSWORD, World
from tests.command_line import clean_environment, command
from tests.load.changing_pipeline import Graph

# After the last fault: Spark, too, may notice only now that a worker is gone.
_MOST_QUIET_RUNS = 3
_HANG_SECONDS = 900
_ORPHAN_SECONDS = 60


class Broken(Exception):
    """What must never be: a graph that differs, a run that hangs or shows a traceback."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """What a quiet run asks and how long it takes, and the graph before and after it."""

    start: Graph
    end: Graph
    seconds: float
    to_graph: int
    to_arango: int


@dataclass(slots=True)
class Outcome:
    """What became of a round: `struck` are the faults that happened, by kind, `failures` how runs ended."""

    runs: int = 0
    struck: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Rounds:
    """Rounds in a world. What quiet runs do is found out once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._quiet_runs: dict[Change, Quiet] = {}

    def quiet(self, change: Change) -> Quiet:
        """The run of a change without any fault."""
        if change not in self._quiet_runs:
            start = self._other if change == "first" else self._loaded
            self._quiet_runs[change] = self._quiet(start, _pipeline(change))
        return self._quiet_runs[change]

    @cached_property
    def _other(self) -> Graph:
        return self._quiet(({}, {}), "other").end

    @cached_property
    def _loaded(self) -> Graph:
        return self.quiet("first").end

    def _quiet(self, start: Graph, name: str) -> Quiet:
        world = self._world
        world.restore(start)
        if world.held() != start:
            raise Broken("a graph that was put back is not what it was")
        with _watching(world, [], []):
            began = time.monotonic()
            self._run_here(name, 0)
            seconds = time.monotonic() - began
            return Quiet(start, world.held(), seconds, world.to_graph.requests, world.to_arango.requests)

    @cached_property
    def job_seconds(self) -> float:
        """How long a quiet job takes, which must make of the first load what the driver makes."""
        quiet = self.quiet("first")
        self._world.restore(quiet.start)
        began = time.monotonic()
        job = _Job(self._world, "before", 0)
        failure = job.end()
        job.await_orphans()
        if failure:
            raise Broken(f"a quiet job failed: {failure}")
        seconds = time.monotonic() - began
        compare(self._world.held(), quiet.end)
        return seconds

    def play(self, drawn: Round) -> Outcome:
        """Do it. Raises Broken."""
        world, quiet = self._world, self.quiet(drawn.change)
        by_clock = any(fault.wire == "clock" for faults in drawn.faults for fault in faults)
        seconds = self.job_seconds if by_clock and drawn.way == "job" else quiet.seconds
        outcome = Outcome()
        began = time.monotonic()
        world.restore(quiet.start)
        chance = random.Random(drawn.seed)
        jobs: list[_Job] = []
        quiet_runs = 0
        while True:
            faults = drawn.faults[outcome.runs] if outcome.runs < len(drawn.faults) else ()
            outcome.runs += 1
            quiet_runs += not faults
            job = _Job(world, _pipeline(drawn.change), drawn.retry_seconds) if drawn.way == "job" else None
            jobs += [job] if job else []
            striking = [partial(self._strike, fault, job, chance, outcome.struck) for fault in faults]
            watches: dict[str, list[Watch]] = {"graph": [], "arango": []}
            timers = []
            for fault, strike in zip(faults, striking, strict=True):
                if fault.wire == "clock":
                    timers.append(threading.Timer(fault.moment * seconds, strike))
                    continue
                asked = quiet.to_graph if fault.wire == "graph" else quiet.to_arango
                at = 1 + int(fault.moment * asked)
                watches[fault.wire].append(Watch(at, strike, fault.arrives))
            with _watching(world, watches["graph"], watches["arango"]):
                for timer in timers:
                    timer.start()
                try:
                    failure = job.end() if job else self._here(_pipeline(drawn.change), drawn.retry_seconds)
                finally:
                    for timer in timers:
                        timer.cancel()
                        timer.join()
            if not failure:
                break
            outcome.failures.append(failure)
            if quiet_runs == _MOST_QUIET_RUNS:
                raise Broken(f"it does not end well, whatever is left alone: {outcome.failures}")
            if not faults or outcome.runs >= len(drawn.faults):
                world.await_mended()
        world.await_mended()
        for job in jobs:
            job.await_orphans()
        self._await_silence()
        compare(world.held(), quiet.end)
        outcome.seconds = time.monotonic() - began
        return outcome

    def play_removals(self, seed: int, times: int) -> None:
        """Remove elements of the DAG by hand, so many times, and merge again. Raises Broken."""
        world, quiet = self._world, self.quiet("first")
        chance = random.Random(seed)
        dag = world.settings("before", 0)["dag_name"]
        world.restore(quiet.start)
        for _ in range(2):  # the second one trusts what the first one left
            self._run_here("before", 0)
        for _ in range(times):
            vertices, edges = world.held()
            own = [
                key
                for key, (label, held) in vertices.items()
                if held["dag_name"] == [dag] and label != "merge_run"
            ]
            of_dag = [key for key, edge in edges.items() if edge[3]["dag_name"] == dag]
            with connect(world.graph) as g:
                # Without an id it would be every vertex.
                if removed := chance.sample(sorted(own), chance.randint(0, 2)):
                    g.V(*removed).drop().iterate()
                g.E(*chance.sample(sorted(of_dag), chance.randint(1, 3))).drop().iterate()
            self._run_here("before", 0)
            compare(world.held(), quiet.end)

    def _strike(
        self,
        fault: Fault,
        job: "_Job | None",
        chance: random.Random,
        struck: Counter[str],
    ) -> None:
        world = self._world
        match fault.kind:
            case "job":
                if job is None or not job.kill(fault.whom):
                    return
            case "worker":
                if not world.kill_worker(job.pid if job else world.pid, chance):
                    return
            case "arango":
                world.kill_arango(fault.down)
            case "cut graph":
                world.cut(world.to_graph, fault.down)
            case "cut arango":
                world.cut(world.to_arango, fault.down)
            case "restart":
                world.restart_server()
        struck[fault.kind] += 1

    def _here(self, name: str, retry_seconds: int) -> str:
        """A run in this process's Spark: "" where it ended well, else how it failed."""
        found: list[BaseException | None] = []

        def run() -> None:
            try:
                self._run_here(name, retry_seconds)
            except BaseException as error:  # noqa: BLE001 # it is judged by who waits
                found.append(error)
            else:
                found.append(None)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(_HANG_SECONDS)
        if not found:
            raise Broken(f"a run hangs: after {_HANG_SECONDS} s it has not ended")
        self._world.spark.catalog.clearCache()
        match found[0]:
            case None:
                return ""
            case LineageMergeError() as error:
                return _line(error.message)
            case error:
                raise Broken(f"a run raised what is not ours: {error!r}") from error

    def _run_here(self, name: str, retry_seconds: int) -> None:
        pipeline.run(self._world.spark, CONFIGURATION.parse(self._world.settings(name, retry_seconds)))

    def _await_silence(self) -> None:
        """Until nobody writes any more: tasks of a run that failed may outlive it."""
        deadline = time.monotonic() + _ORPHAN_SECONDS
        while self._world.to_graph.connections or self._world.to_arango.connections:
            if time.monotonic() > deadline:
                raise Broken("connections of a run are still open long after it ended")
            time.sleep(0.02)


class _Job:
    """`lineage-merge run` as a process."""

    def __init__(self, world: World, name: str, retry_seconds: int) -> None:
        words = command("run", "--config", world.config_file(name, retry_seconds), "--quiet")
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            words,
            env=clean_environment(**PASSWORD),
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        self.pid = self._process.pid
        self._killed = False
        self._below: list[int] = []

    def kill(self, whom: str) -> bool:
        """SIGKILL to the driver (the rest has to notice), to its JVM, or to all of it; whether it ran."""
        if self._process.poll() is not None:
            return False
        self._below = processes.below(self.pid)
        jvms = processes.jvms(self._below)
        if whom == "jvm" and not jvms:
            return False
        self._killed = True
        match whom:
            case "jvm":
                processes.kill(jvms)
            case "driver":
                processes.kill([self.pid])
            case _:
                processes.kill([self.pid, *self._below])
        return True

    def end(self) -> str:
        """Wait for it: "" where it ended well, else what it said. Raises Broken."""
        try:
            # Not its pipes: processes that it left may hold those.
            code = self._process.wait(_HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill("all")
            raise Broken(f"a job hangs: after {_HANG_SECONDS} s it has not ended") from None
        if code == 0:
            self._process.communicate()
            return ""
        if code < 0 and self._killed:
            return f"killed by signal {-code}"
        out, err = self._process.communicate(timeout=_ORPHAN_SECONDS)
        if "Traceback" in out + err:
            raise Broken(f"a job shows a traceback: {out}{err}")
        return f"exit code {code}: {_line(err)}"

    def await_orphans(self) -> None:
        """What a kill left must end by itself. Raises Broken."""
        if not processes.gone(self._below, _ORPHAN_SECONDS):
            left = [processes.command_of(pid) for pid in self._below]
            processes.kill(self._below)
            raise Broken(f"processes of a killed job live on: {[each[:200] for each in left if each]}")
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()


def compare(found: Graph, right: Graph) -> None:
    """Raises Broken where they differ, and says in what."""
    differing = []
    for kind, there, wanted in zip(("vertex", "edge"), found, right, strict=True):
        differing += [f"{kind} {key} is lost" for key in wanted.keys() - there.keys()]
        differing += [f"{kind} {key} is too many: {there[key]}" for key in there.keys() - wanted.keys()]
        differing += [
            f"{kind} {key} is {there[key]}, not {wanted[key]}"
            for key in there.keys() & wanted.keys()
            if there[key] != wanted[key]
        ]
    if differing:
        more = f" and {len(differing) - 5} more" if len(differing) > 5 else ""
        raise Broken(f"the graph differs: {'; '.join(sorted(differing)[:5])}{more}")


@contextmanager
def _watching(world: World, of_graph: list[Watch], of_arango: list[Watch]) -> Iterator[None]:
    gates: tuple[tuple[Gate, list[Watch]], ...] = ((world.to_graph, of_graph), (world.to_arango, of_arango))
    for gate, watches in gates:
        gate.begin(watches)
    yield
    # Also those that were never due.
    for gate, _ in gates:
        gate.forget()


def _pipeline(change: Change) -> str:
    return "after" if change == "changed" else "before"


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
