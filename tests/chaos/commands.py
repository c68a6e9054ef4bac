"""Commands as processes that are killed."""

import subprocess
from pathlib import Path

from tests.chaos import processes
from tests.command_line import clean_environment, command

HANG_SECONDS = 900
_ORPHAN_SECONDS = 60


class InvariantViolated(Exception):
    """An invariant is violated: a different graph, a run that hangs or prints a traceback."""


class Command:
    """A command of `lineage-merge` as a process."""

    def __init__(self, *words: str | Path, **variables: str) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command(*words),
            env=clean_environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        self.pid = self._process.pid
        self._killed = False
        self._descendants: list[int] = []

    def kill(self, victim: str) -> bool:
        """Kill the driver, its JVMs or all processes; returns whether the command was running."""
        if self._process.poll() is not None:
            return False
        self._descendants = processes.descendants(self.pid)
        jvms = processes.jvms(self._descendants)
        if victim == "jvm" and not jvms:
            return False
        self._killed = True
        match victim:
            case "jvm":
                processes.kill(jvms)
            case "driver":
                processes.kill([self.pid])
            case _:
                processes.kill([self.pid, *self._descendants])
        return True

    def end(self) -> str:
        """Wait for the end of the command; returns "" or the error. Raises InvariantViolated."""
        try:
            # Not the pipes, which orphan processes may keep open.
            code = self._process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill("all")
            raise InvariantViolated(f"a command hangs: not ended after {HANG_SECONDS} s") from None
        if code == 0:
            self._process.communicate()
            return ""
        if code < 0 and self._killed:
            return f"killed by signal {-code}"
        out, err = self._process.communicate(timeout=_ORPHAN_SECONDS)
        if "Traceback" in out + err:
            raise InvariantViolated(f"a command printed a traceback: {out}{err}")
        return f"exit code {code}: {one_line(err)}"

    def await_orphans(self) -> None:
        """Wait for the end of orphan processes. Raises InvariantViolated."""
        if not processes.all_ended(self._descendants, _ORPHAN_SECONDS):
            left = [processes.command_of(pid) for pid in self._descendants]
            processes.kill(self._descendants)
            raise InvariantViolated(
                f"processes of a killed command have not ended: {[each[:200] for each in left if each]}"
            )
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()


def one_line(text: str) -> str:
    """Return the text as one short line."""
    return " ".join(text.split())[:300]
