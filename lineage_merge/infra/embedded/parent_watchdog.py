"""Run a command while its parent process lives. A script without other imports.

    python parent_watchdog.py PARENT_PID DIRECTORY COMMAND...

Ends the command on SIGTERM and after the parent has ended. A killed parent cannot clean up, so the command's
DIRECTORY is then deleted too. Exits with the command's code.
"""

import os
import shutil
import signal
import subprocess
import sys
from types import FrameType

_POLL_SECONDS = 0.25
_GRACE_SECONDS = 60


def main(parent: int, directory: str, command: list[str]) -> int:
    stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as child:  # noqa: S603 - what the caller gave
        # Polls the parent's id: a pipe would stay open in forks of the parent.
        while not stopped and os.getppid() == parent:
            try:
                return child.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        child.terminate()
        try:
            child.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    if os.getppid() != parent:
        shutil.rmtree(directory, ignore_errors=True)
    return child.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
