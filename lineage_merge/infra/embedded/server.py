"""`EmbeddedServer`: a Gremlin Server with a graph file, as a context manager."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from gremlin_python.driver.protocol import GremlinServerError

from lineage_merge.infra import graph_files
from lineage_merge.infra.embedded import file_lock, graph_store
from lineage_merge.infra.embedded.connection import connected, without_login
from lineage_merge.infra.embedded.element_batches import require_arrow
from lineage_merge.infra.embedded.file_lock import make_folder
from lineage_merge.infra.embedded.jars import gremlin_jars
from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.embedded.process import ServerProcess, free_port, port_is_free
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import EmbeddedError

_ATTACH_SECONDS = 180
_POLL_SECONDS = 0.25
_PORT_TRIES = 3


@dataclass(eq=False)
class EmbeddedServer:
    """A Gremlin Server 3.7 on this machine whose graph behaves as Neptune's.

    ::

        with EmbeddedServer(Path("graph")) as server:
            load(server.url)
            server.save()

    `graph_file` (a folder, see `graph_store`) is read at the start and written by `save` and at the end;
    without one the graph is deleted at the end. `port`: default a free one; `password`: default random.
    `transactional`: concurrent writers conflict. `heap`: Java's ``-Xmx`` (default: by the machine's memory).
    `on_progress` receives a line per slow step. `user_seconds`: maximum wait at the end for other processes
    that use this server. Raises `EmbeddedError` and `JavaMissing` on entry.
    """

    graph_file: Path | None
    port: int | None = None
    host: str = "127.0.0.1"
    transactional: bool = False
    on_progress: ProgressCallback = no_progress
    heap: str = ""
    user_seconds: float = 300
    password: str | None = field(default=None, repr=False)
    may_attach: bool = False
    _process: ServerProcess | None = field(default=None, init=False, repr=False)
    _hold: file_lock.Hold | None = field(default=None, init=False, repr=False)
    _url: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.graph_file:
            self.graph_file = self.graph_file.resolve()  # one lock per file

    @classmethod
    def attach_or_start(
        cls,
        graph_file: Path,
        port: int | None = None,
        on_progress: ProgressCallback = no_progress,
        user_seconds: float = 300,
    ) -> Self:
        """Return the server of another process for this file, left running at the end; else a new one."""
        return cls(graph_file, port, on_progress=on_progress, user_seconds=user_seconds, may_attach=True)

    @property
    def url(self) -> str:
        """Return ``ws://USER:PASSWORD@127.0.0.1:PORT/gremlin``; messages contain the `address` instead.

        Raises `EmbeddedError` before the start.
        """
        if self._url is None:
            raise EmbeddedError("the embedded Gremlin Server is not started")
        return self._url

    @property
    def address(self) -> str:
        """Return the URL without user and password."""
        return without_login(self.url)

    @property
    def attached(self) -> bool:
        """Whether the server belongs to another process."""
        return self._url is not None and self._process is None

    def alive(self) -> bool:
        """Whether the server process runs, or the server of another process answers."""
        if self._process is not None:
            return self._process.alive()
        return self._url is not None and _answers(self._url)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start (or attach) and read the graph file. Raises `EmbeddedError`."""
        try:
            if not self._own_or_attach():
                return
            self._start_process()
            if self._hold:
                file_lock.announce(self._hold, self.url)
        except OSError as error:
            self._abandon()
            raise EmbeddedError(
                f"the embedded Gremlin Server: {error.strerror or error}: {error.filename}"
            ) from error
        except BaseException:
            self._abandon()
            raise

    def save(self) -> None:
        """Write the graph to its folder atomically, if it has changed; does nothing without a folder."""
        if not self.graph_file:
            return
        if self._process and not self._process.alive():
            raise self._process.failure()
        graph_store.save(self.url, self.graph_file, self.on_progress)

    def stop(self) -> None:
        """Save and end the server; detach from that of another process. Repeated calls do nothing."""
        process, self._process = self._process, None
        hold, self._hold = self._hold, None
        url, self._url = self._url, None
        users_lock: file_lock.Hold | None = None
        try:
            if process and self.graph_file and url:
                if not process.alive():
                    raise process.failure()
                try:
                    users_lock = file_lock.wait_for_users(self.graph_file, 0)
                    if not users_lock and self.user_seconds:
                        self.on_progress("another process still uses this server: waiting for it")
                        users_lock = file_lock.wait_for_users(self.graph_file, self.user_seconds)
                finally:  # Ctrl-C interrupts the wait, not the save
                    graph_store.save(url, self.graph_file, self.on_progress)
        finally:
            if process:
                process.stop()
                if hold:
                    hold.write("")  # questions need not ask whether the server still runs
            for held in (hold, users_lock):
                if held:
                    held.release()

    def _own_or_attach(self) -> bool:
        """Return True if this process owns the file, False if it attached to the owner's server."""
        if not self.graph_file:
            return True
        folder = self.graph_file.parent
        make_folder(folder, own=graph_files.is_private_folder(folder))
        deadline = time.monotonic() + _ATTACH_SECONDS
        while True:
            if hold := file_lock.own(self.graph_file):
                self._hold = hold
                return True
            if self.may_attach and self._attach(self.graph_file):
                return False
            if not self.may_attach or time.monotonic() > deadline:
                url = file_lock.served_at(self.graph_file)
                where = without_login(url) if url else "an unknown address"
                raise EmbeddedError(f"{self.graph_file} is already served by another process, at {where}")
            time.sleep(_POLL_SECONDS)

    def _attach(self, graph_file: Path) -> bool:
        hold = file_lock.use(graph_file)
        url = file_lock.served_at(graph_file) if hold else None
        if hold and url and _answers(url):
            self._hold, self._url = hold, url
            return True
        if hold:
            hold.release()
        return False

    def _start_process(self) -> None:
        snapshot = None
        if self.graph_file:
            require_arrow()
            snapshot = graph_store.snapshot_folder(self.graph_file)
        java = find_java()
        jars = gremlin_jars(self.on_progress)
        self.on_progress("starting the embedded Gremlin Server")
        if self.port is not None and not port_is_free(self.host, self.port):
            raise EmbeddedError(f"port {self.port} on {self.host} is taken: choose another")
        for attempt in range(1, _PORT_TRIES + 1):
            port = self.port if self.port is not None else free_port(self.host)
            try:
                process = ServerProcess(
                    java, jars, self.host, port, self.transactional, self.heap, self.password
                )
                break
            except EmbeddedError:
                # Another process may have taken the port since it was chosen.
                if attempt == _PORT_TRIES or self.port is not None or port_is_free(self.host, port):
                    raise
        self._process, self._url = process, process.url
        if self.graph_file and snapshot:
            graph_store.restore(self._url, self.graph_file, snapshot, self.on_progress)

    def _abandon(self) -> None:
        """Undo a failed start without saving: the file may contain more than the graph."""
        if self._process:
            self._process.stop()
        if self._hold:
            self._hold.release()
        self._process = self._hold = self._url = None


def _answers(url: str) -> bool:
    try:
        with connected(url) as g:
            g.V().limit(1).count().next()
    except (GremlinServerError, OSError):
        return False
    return True
