"""Processes of this machine, from /proc."""

import contextlib
import os
import signal
import time
from collections import defaultdict
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Return all direct and indirect child processes of a process."""
    children = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # Format: pid, name in parentheses (may contain any character), state, parent.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                children[int(fields[1])].append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        waiting = [child for each in waiting for child in children[each]]
        found += waiting
    return found


def command_of(pid: int) -> str:
    """Return the command line of a process; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def jvms(pids: list[int]) -> list[int]:
    """Return those that are JVMs: Spark's, and that of an embedded graph server."""
    return [pid for pid in pids if command_of(pid).partition(" ")[0].endswith("/java")]


def workers(pids: list[int]) -> list[int]:
    """Return those that are Python workers, which have the same command line as their parent."""
    daemons = [pid for pid in pids if "-m lineage_merge.infra.embedded.python_workers" in command_of(pid)]
    return [pid for pid in daemons if any(pid in descendants(parent) for parent in daemons)]


def kill(pids: list[int]) -> None:
    """Send SIGKILL to each process that still exists."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def all_ended(pids: list[int], seconds: float) -> bool:
    """Wait for the end of all processes; returns False after so many seconds."""
    deadline = time.monotonic() + seconds
    while any(command_of(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
