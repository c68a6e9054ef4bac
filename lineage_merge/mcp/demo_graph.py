"""The graph of the demo, built by a process of its own if there is none yet."""

import subprocess
import sys
from pathlib import Path

from lineage_merge.mcp.tool_errors import DemoMissing

_SECONDS = 600
_FAILED = "the graph of the demo cannot be built. Fix: lineage-merge demo"


class DemoGraph:
    """Builds the graph of the demo once, while the server already answers the protocol."""

    def __init__(self, graph_file: Path) -> None:
        self._file = graph_file
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start to build it, if it is missing."""
        if self._file.exists() or self._process is not None:
            return
        # -P: no modules of the folder in which a client starts the server.
        command = [sys.executable, "-P", "-m", "lineage_merge", "demo", "--quiet"]
        self._process = subprocess.Popen(  # noqa: S603 - this program
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    def wait(self) -> None:
        """Wait until it is built. Raises `DemoMissing`; the next call starts again."""
        self.start()
        if self._process is None:
            return
        try:
            code = self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self.stop()
            raise DemoMissing(_FAILED) from None
        self._process = None
        if code != 0 or not self._file.exists():
            raise DemoMissing(_FAILED)

    def stop(self) -> None:
        """End the process that builds it."""
        if self._process is not None:
            self._process.terminate()
            self._process = None
