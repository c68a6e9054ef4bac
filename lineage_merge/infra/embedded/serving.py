"""`serve`: run the embedded server until it is interrupted."""

import signal
import threading
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from lineage_merge.infra.embedded.server import EmbeddedServer
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError

_POLL_SECONDS = 0.5
# After an interrupt, wait only briefly for other processes that use the server.
_USER_SECONDS = 10


def serve(graph_file: Path, port: int | None, on_progress: ProgressCallback) -> None:
    """Serve `graph_file` until SIGINT or SIGTERM, then save and stop.

    `on_progress` receives the lines for the user: progress, the URL, how to connect. If another server serves
    the file already, reports its URL and returns. Call it from the main thread. Raises `EmbeddedError`.
    """
    ended = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        ended.set()

    server = EmbeddedServer.attach_or_start(
        graph_file, port, on_progress=on_progress, user_seconds=_USER_SECONDS
    )
    with server:
        if server.attached:
            on_progress(f"already running: {server.address}")
            _report_connection(server, on_progress)
            return
        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            on_progress(f"Gremlin Server: {server.address}")
            on_progress(f"graph file: {graph_file}")
            _report_connection(server, on_progress)
            on_progress("stop with Ctrl-C")
            while not ended.wait(_POLL_SECONDS):
                if not server.alive():
                    raise EmbeddedError("the embedded Gremlin Server ended unexpectedly")
            on_progress("saving and stopping")
            server.stop()
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
