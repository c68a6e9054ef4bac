"""`EmbeddedServer`: a Gremlin Server with a copy of an embedded graph, as a context manager."""

from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from lineage_merge.infra.embedded.connection import remove_login
from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.infra.embedded.jars import gremlin_jars
from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.embedded.process import ServerProcess, Settings, free_port, port_is_free
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import EmbeddedError

_PORT_TRIES = 3


@dataclass(eq=False)
class EmbeddedServer:
    """A Gremlin Server 3.7 on this machine whose graph behaves as Neptune's.

    ::

        with EmbeddedServer(Path("graph")) as server:
            query(server.url)

    It begins with a copy of the embedded graph `graph` (None: empty), whose folder it never changes.
    `stored_in`: a file of GraphSON that it reads instead, if it exists, and writes at its end. `port`:
    default a free one; `password`: default random. `transactional`: concurrent writers conflict. `heap`:
    Java's ``-Xmx`` (default: by the machine's memory). `on_progress` receives a line per slow step. Raises
    `EmbeddedError` and `JavaMissing` on entry.
    """

    graph: Path | None
    port: int | None = None
    host: str = "127.0.0.1"
    transactional: bool = False
    on_progress: ProgressCallback = no_progress
    heap: str = ""
    password: str | None = field(default=None, repr=False)
    stored_in: Path | None = None
    _process: ServerProcess | None = field(default=None, init=False, repr=False)

    @property
    def url(self) -> str:
        """Return ``ws://USER:PASSWORD@127.0.0.1:PORT/gremlin``; messages contain the `address` instead.

        Raises `EmbeddedError` before the start.
        """
        if self._process is None:
            raise EmbeddedError("the embedded Gremlin Server is not started")
        return self._process.url

    @property
    def address(self) -> str:
        """Return the URL without user and password."""
        return remove_login(self.url)

    def alive(self) -> bool:
        """Whether the server runs."""
        return self._process is not None and self._process.alive()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start with the copy. Raises `EmbeddedError`."""
        tables = GraphFolder(self.graph).read() if self.graph else None
        java = find_java()
        jars = gremlin_jars(self.on_progress)
        self.on_progress("starting the embedded Gremlin Server")
        if self.port is not None and not port_is_free(self.host, self.port):
            raise EmbeddedError(f"port {self.port} on {self.host} is taken: choose another")
        for attempt in range(1, _PORT_TRIES + 1):
            port = self.port if self.port is not None else free_port(self.host)
            settings = Settings(self.host, port, self.transactional, self.heap, self.password, self.stored_in)
            try:
                self._process = ServerProcess(java, jars, settings, tables)
                break
            except EmbeddedError:
                # Another process may have taken the port since it was chosen.
                if attempt == _PORT_TRIES or self.port is not None or port_is_free(self.host, port):
                    raise
            except OSError as error:
                problem = f"{error.strerror or error}: {error.filename}"
                raise EmbeddedError(f"the embedded Gremlin Server: {problem}") from error

    def stop(self) -> None:
        """End the server. Repeated calls do nothing."""
        process, self._process = self._process, None
        if process:
            process.stop()
