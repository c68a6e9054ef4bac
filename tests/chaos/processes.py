"""Processes of this machine, as /proc tells them."""

import contextlib
import os
import signal
import time
from collections import defaultdict
from pathlib import Path


def below(pid: int) -> list[int]:
    """All processes that a process started, and those that these started."""
    children = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name stands in brackets, and may hold any; then follow state and parent.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                children[int(fields[1])].append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        waiting = [child for each in waiting for child in children[each]]
        found += waiting
    return found


def command_of(pid: int) -> str:
    """The words that a process was started with; "" of one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def jvms(pids: list[int]) -> list[int]:
    """Those that are Spark's JVM."""
    return [pid for pid in pids if "org.apache.spark.deploy" in command_of(pid)]


def workers(pids: list[int]) -> list[int]:
    """Those that are Python workers: their parent, which forked them, has the same words."""
    daemons = [pid for pid in pids if "-m lineage_merge.infra.embedded.python_workers" in command_of(pid)]
    return [pid for pid in daemons if any(pid in below(parent) for parent in daemons)]


def kill(pids: list[int]) -> None:
    """SIGKILL to each that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def gone(pids: list[int], seconds: float) -> bool:
    """Whether all have ended after so many seconds at most."""
    deadline = time.monotonic() + seconds
    while any(command_of(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
