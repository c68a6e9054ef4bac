"""`serve`: keep the embedded server running until somebody ends it."""

import signal
import threading
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from lineage_merge.infra.embedded.server import EmbeddedServer
from lineage_merge.infra.progress import Say
from lineage_merge.model.errors import EmbeddedError

_LOOK_SECONDS = 0.5
# Whoever ends the server by hand does not want to wait long for another process that uses it.
_USER_SECONDS = 10


def serve(graph_file: Path, port: int | None, say: Say) -> None:
    """Serve `graph_file` until SIGINT or SIGTERM, then save and stop.

    `say` gets each line that a person should read: progress, the URL, how to connect.
    Where a server already serves the file, says where and returns at once. To be called
    from the main thread. Raises `EmbeddedError`.
    """
    ended = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        ended.set()

    server = EmbeddedServer.attach_or_start(graph_file, port, on_progress=say, user_seconds=_USER_SECONDS)
    with server:
        if server.attached:
            say(f"already running: {server.address}")
            _say_how_to_connect(server, say)
            return
        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            say(f"Gremlin Server: {server.address}")
            say(f"graph file: {graph_file}")
            _say_how_to_connect(server, say)
            say("stop with Ctrl-C")
            while not ended.wait(_LOOK_SECONDS):
                if not server.alive():
                    raise EmbeddedError("the embedded Gremlin Server ended by itself")
            say("saving and stopping")
            server.stop()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _say_how_to_connect(server: EmbeddedServer, say: Say) -> None:
    login = urlsplit(server.url)
    say(f"user: {login.username}, password of this start: {login.password}")
    say("connect from Python:")
    say("    from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection")
    say("    from gremlin_python.process.anonymous_traversal import traversal")
    say(f'    g = traversal().with_remote(DriverRemoteConnection("{server.url}", "g"))')
