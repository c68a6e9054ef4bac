"""Rounds of commands that write files: each run is killed, then the command is repeated.

After a kill the files are those of before or of after the command; the repeated command must succeed.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.command_scenarios import (
    ArchiveScenario,
    DecisionScenario,
    LoadScenario,
    Scenario,
)
from tests.chaos.commands import Command, InvariantViolated
from tests.chaos.draw import Fault, Mode, Round
from tests.chaos.rounds import Outcome
from tests.chaos.servers import Servers

_POLL_SECONDS = 0.001
# After the first change of a file: a command writes for less time.
_WRITE_SECONDS = 0.2

_SCENARIOS: dict[Mode, Callable[[Path, Servers], Scenario]] = {
    "embedded": LoadScenario,
    "archive": ArchiveScenario,
    "decision": DecisionScenario,
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A fault-free run: the state before and after it, and its duration."""

    start: Any
    end: Any
    seconds: float


@dataclass
class CommandRounds:
    """Runs rounds of commands. Caches the scenarios and their fault-free runs."""

    servers: Servers
    _scenarios: dict[Mode, Scenario] = field(default_factory=dict)
    _references: dict[Mode, Reference] = field(default_factory=dict)

    def run_round(self, drawn: Round) -> Outcome:
        """Run a round. Raises InvariantViolated."""
        scenario, reference = self._scenario(drawn.mode)
        outcome = Outcome()
        started = time.monotonic()
        scenario.reset()
        for (fault,) in drawn.faults:
            outcome.runs += 1
            if failure := _run(scenario, fault, reference.seconds):
                outcome.failures.append(failure)
                outcome.injected["job"] += 1
            found = scenario.state()
            if not scenario.may_be(found, reference.start, reference.end):
                raise InvariantViolated(f"{drawn.mode}: neither the state before nor after: {found!s:.2000}")
        outcome.runs += 1
        if failure := _run(scenario, None, 0):
            raise InvariantViolated(f"{drawn.mode}: fails without faults: {failure}")
        if (found := scenario.state()) != reference.end:
            raise InvariantViolated(f"{drawn.mode}: another result than without faults: {found!s:.2000}")
        outcome.seconds = time.monotonic() - started
        return outcome

    def close(self) -> None:
        """Close all scenarios."""
        for scenario in self._scenarios.values():
            scenario.close()

    def _scenario(self, mode: Mode) -> tuple[Scenario, Reference]:
        if mode not in self._references:
            folder = self.servers.folder / mode
            folder.mkdir()
            scenario = self._scenarios[mode] = _SCENARIOS[mode](folder, self.servers)
            scenario.reset()
            start = scenario.state()
            started = time.monotonic()
            if failure := _run(scenario, None, 0):
                raise InvariantViolated(f"{mode}: a fault-free run failed: {failure}")
            reference = Reference(start, scenario.state(), time.monotonic() - started)
            if reference.end == start:
                raise InvariantViolated(f"{mode}: the command changed nothing")
            self._references[mode] = reference
        return self._scenarios[mode], self._references[mode]


def _run(scenario: Scenario, fault: Fault | None, seconds: float) -> str:
    """Run the command once; returns "" or the error."""
    command = scenario.start()
    ended = threading.Event()
    kill = threading.Thread(target=_kill, args=(scenario, command, fault, seconds, ended), daemon=True)
    kill.start()
    try:
        failure = command.end()
    finally:
        ended.set()
        kill.join()
    command.await_orphans()
    return failure


def _kill(
    scenario: Scenario, command: Command, fault: Fault | None, seconds: float, ended: threading.Event
) -> None:
    if fault is None:
        return
    if fault.wire == "clock":
        delay = fault.moment * seconds
    else:
        before = _files(scenario.written)
        while _files(scenario.written) == before:
            if ended.wait(_POLL_SECONDS):
                return
        delay = fault.moment * _WRITE_SECONDS
    if not ended.wait(delay):
        command.kill(fault.victim)


def _files(folder: Path) -> list[tuple[str, int, int]]:
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            found.append((str(path), status.st_size, status.st_mtime_ns))
    return sorted(found)
