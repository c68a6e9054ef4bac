"""`serve`: run the embedded server until it is interrupted."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from lineage_merge.infra.embedded.server import EmbeddedServer
from lineage_merge.infra.graph_files import EMBEDDED, default_graph_file
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


class EarlyStart:
    """A server start in progress."""

    def __init__(self, server: EmbeddedServer | None) -> None:
        self._server = server
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._left = False
        self._lock = threading.Lock()
        if server is None:
            self._ended.set()
            return
        # A daemon: the process does not wait for a download at its end.
        threading.Thread(target=self._start, args=(server,), name="embedded server", daemon=True).start()

    def check(self) -> None:
        """Raise the error of the start, if it has failed so far."""
        if self._error is not None:
            raise self._error

    def wait(self) -> None:
        """Wait until the server runs. Raises the error of the start: `EmbeddedError`, `JavaMissing`."""
        self._ended.wait()
        self.check()

    def leave(self) -> None:
        """Save and stop the server, after its start if that is still in progress."""
        with self._lock:
            self._left = True
            started = self._ended.is_set() and self._error is None
        if started and self._server is not None:
            self._server.stop()

    def _start(self, server: EmbeddedServer) -> None:
        try:
            server.start()
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            self._error = error
        with self._lock:
            left = self._left
            self._ended.set()
        if left and self._error is None:
            server.stop()


@contextmanager
def started_ahead(
    endpoint: str, on_progress: ProgressCallback, graph_file: Path | None = None
) -> Iterator[EarlyStart]:
    """Start the server of a graph file in the background, if `endpoint` is the embedded graph.

    In the block, `pipeline.endpoint` attaches to it. It is stopped at the end, unless another process started
    it.
    """
    file = graph_file or default_graph_file()
    embedded = endpoint == EMBEDDED
    ahead = EarlyStart(EmbeddedServer.attach_or_start(file, on_progress=on_progress) if embedded else None)
    try:
        yield ahead
    finally:
        ahead.leave()
