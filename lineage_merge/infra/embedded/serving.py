"""`serve`: run a Gremlin Server until it is interrupted."""

import signal
import threading
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from lineage_merge.infra.embedded.server import EmbeddedServer
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError

_POLL_SECONDS = 0.5


def serve(graph: Path, port: int | None, on_progress: ProgressCallback) -> None:
    """Serve a copy of `graph` until SIGINT or SIGTERM.

    `on_progress` receives the lines for the user: progress, the URL, how to connect. Call it from the main
    thread. Raises `EmbeddedError`.
    """
    ended = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        ended.set()

    with EmbeddedServer(graph, port, on_progress=on_progress) as server:
        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            on_progress(f"Gremlin Server: {server.address}")
            on_progress(
                f"with a copy of {graph}: later loads do not change it, and its changes are not saved"
            )
            _report_connection(server, on_progress)
            on_progress("stop with Ctrl-C")
            while not ended.wait(_POLL_SECONDS):
                if not server.alive():
                    raise EmbeddedError("the embedded Gremlin Server ended unexpectedly")
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _report_connection(server: EmbeddedServer, on_progress: ProgressCallback) -> None:
    login = urlsplit(server.url)
    on_progress(f"user: {login.username}, password of this start: {login.password}")
    on_progress("connect from Python:")
    on_progress("    from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection")
    on_progress("    from gremlin_python.process.anonymous_traversal import traversal")
    on_progress(f'    g = traversal().with_remote(DriverRemoteConnection("{server.url}", "g"))')
