"""`serve`: keep the embedded server running until somebody ends it."""

import signal
import threading
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from lineage_merge.infra.embedded.server import EmbeddedServer
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError

_LOOK_SECONDS = 0.5
# Whoever ends the server by hand does not want to wait long for another process that uses it.
_USER_SECONDS = 10


def serve(graph_file: Path, port: int | None, on_progress: ProgressCallback) -> None:
    """Serve `graph_file` until SIGINT or SIGTERM, then save and stop.

    `on_progress` gets each line that a person should read: progress, the URL, how to connect.
    Where a server already serves the file, says where and returns at once. To be called
    from the main thread. Raises `EmbeddedError`.
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
            _say_how_to_connect(server, on_progress)
            return
        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            on_progress(f"Gremlin Server: {server.address}")
            on_progress(f"graph file: {graph_file}")
            _say_how_to_connect(server, on_progress)
            on_progress("stop with Ctrl-C")
            while not ended.wait(_LOOK_SECONDS):
                if not server.alive():
                    raise EmbeddedError("the embedded Gremlin Server ended by itself")
            on_progress("saving and stopping")
            server.stop()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _say_how_to_connect(server: EmbeddedServer, on_progress: ProgressCallback) -> None:
    login = urlsplit(server.url)
    on_progress(f"user: {login.username}, password of this start: {login.password}")
    on_progress("connect from Python:")
    on_progress("    from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection")
    on_progress("    from gremlin_python.process.anonymous_traversal import traversal")
    on_progress(f'    g = traversal().with_remote(DriverRemoteConnection("{server.url}", "g"))')
