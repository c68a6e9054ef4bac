"""The process of the Gremlin Server."""

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gremlin_python.driver.protocol import GremlinServerError

from lineage_merge.infra.embedded import parent_watchdog
from lineage_merge.infra.embedded.connection import connect
from lineage_merge.infra.embedded.graph_tables import GraphTables
from lineage_merge.infra.embedded.graphson import write_graphson
from lineage_merge.infra.embedded.java import default_heap
from lineage_merge.infra.embedded.server_classes import MAIN, server_classes
from lineage_merge.model.errors import EmbeddedError

_START_SECONDS = 90
_PASSWORD_BYTES = 24
_POLL_SECONDS = 0.05
# Not the server's own main class, which starts a script engine: see the script.
_SOURCES = Path(__file__).parent
_LOGGED = "org.slf4j.simpleLogger"
_STACK_LINE = re.compile(r"^\s*(at |\.\.\. \d+ more|$)")
_ERROR_LINE = re.compile(r"Caused by: |ERROR|Error|Exception|OutOfMemory")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a server: see `EmbeddedServer`."""

    host: str
    port: int
    transactional: bool = False
    heap: str = ""
    password: str | None = None
    stored_in: Path | None = None


class ServerProcess:
    """One running server. `url` is its address with user and password, `log` the file that it writes to.

    Ends with this process, even when that is killed.
    """

    def __init__(self, java: Path, jars: Path, settings: Settings, graph: GraphTables | None) -> None:
        """Start the server with a copy of a graph, and wait until it answers. Raises `EmbeddedError`.

        `jars`: directory of jars.
        """
        password = settings.password or secrets.token_urlsafe(_PASSWORD_BYTES)
        self._port = settings.port
        self._saves = settings.stored_in is not None
        self.url = f"ws://{USER}:{password}@{settings.host}:{settings.port}/gremlin"
        self._directory = Path(tempfile.mkdtemp(prefix="lineage-merge-gremlin-"))
        self.log = self._directory / "server.log"
        location = settings.stored_in
        if graph and not location:
            location = self._directory / "graph.json"
            write_graphson(location, graph)
        configuration = write_settings(self._directory, settings, password, location)
        classes = server_classes(java, jars, _SOURCES, self._directory)
        # The watchdog only needs the standard library: isolated and without site, it starts fast.
        command = [
            sys.executable,
            "-I",
            "-S",
            parent_watchdog.__file__,
            str(os.getpid()),
            str(self._directory),
        ]
        command += [str(java), f"-Xmx{settings.heap or default_heap()}", "-XX:TieredStopAtLevel=1"]
        command += ["-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Dfile.encoding=UTF-8"]
        command += [
            f"-D{_LOGGED}.defaultLogLevel=warn",
            "-cp",
            f"{jars}/*:{classes}",
            MAIN,
            str(configuration),
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the Java that was chosen
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must not reach it before this process ends it
                umask=0o077,
            )
        try:
            self._await_answer()
        except BaseException:
            self._kill()
            raise

    def alive(self) -> bool:
        return self._process.poll() is None

    def failure(self) -> EmbeddedError:
        """Return an error with the last error in the server's log."""
        return EmbeddedError(
            f"the embedded Gremlin Server ended: {_last_error(self.log)} (its log: {self.log})"
        )

    def stop(self) -> None:
        """End the server and delete its files; the log of a crashed server stays."""
        was_alive = self.alive()
        if was_alive and self._saves:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()
        self._kill()  # at once: a regular end takes 2 s
        if was_alive:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _await_answer(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        # The log, not the port: another process may have taken the port and would answer.
        opened = f"Channel started at port {self._port}."
        while opened not in self.log.read_text(errors="replace"):
            if not self.alive():
                raise self.failure()
            if time.monotonic() > deadline:
                slow = f"the embedded Gremlin Server did not start in {_START_SECONDS} seconds"
                raise EmbeddedError(f"{slow} (its log: {self.log})")
            time.sleep(_POLL_SECONDS)
        try:
            with connect(self.url) as g:
                g.V().limit(1).count().next()
        except (GremlinServerError, OSError) as error:
            raise self.failure() from error


def free_port(host: str) -> int:
    """Return a currently free port on `host`."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def port_is_free(host: str, port: int) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _last_error(log: Path) -> str:
    lines = [
        line.strip() for line in log.read_text(errors="replace").splitlines() if not _STACK_LINE.match(line)
    ]
    if not lines:
        return "its log is empty"
    last = max((at for at, line in enumerate(lines) if _ERROR_LINE.search(line)), default=len(lines) - 1)
    # Java's messages have the reason on the next line; lines of the server's log start with "[".
    reason = [line for line in lines[last + 1 : last + 2] if not line.startswith("[")]
    return ": ".join([lines[last], *reason])


# Neptune's limits: request size in bytes, query time in milliseconds.
MAX_CONTENT_LENGTH = 10 * 1024 * 1024
EVALUATION_TIMEOUT = 120_000

_LOCATION = "gremlin.tinkergraph.graphLocation"
_STRUCTURE = "org.apache.tinkerpop.gremlin.tinkergraph.structure"
_SERIALIZERS = (
    "GraphBinaryMessageSerializerV1",
    "GraphSONMessageSerializerV3",
    "GraphSONMessageSerializerV2",
)
# SASL and HTTP require a user name.
USER = "lineage"


def write_settings(directory: Path, settings: Settings, password: str, location: Path | None = None) -> Path:
    """Write the server's configuration into `directory`; return its main file.

    String ids and vertex properties of cardinality `set`, as in Neptune. `location`: the file that the graph
    is read from, if it exists, and written to. The returned file contains the password: mode 0600.
    """
    graph = directory / "graph.properties"
    kind = "TinkerTransactionGraph" if settings.transactional else "TinkerGraph"
    graph.write_text(
        f"gremlin.graph={_STRUCTURE}.{kind}\n"
        "gremlin.tinkergraph.vertexIdManager=ANY\n"
        "gremlin.tinkergraph.edgeIdManager=ANY\n"
        "gremlin.tinkergraph.defaultVertexPropertyCardinality=set\n"
        + (f"gremlin.tinkergraph.graphFormat=graphson\n{_LOCATION}={location}\n" if location else "")
    )
    server = directory / "server.yaml"
    values = {
        "host": settings.host,
        "port": settings.port,
        "evaluationTimeout": EVALUATION_TIMEOUT,
        "maxContentLength": MAX_CONTENT_LENGTH,
        # TinkerGraph's collections of edges and sets are not thread-safe: concurrent writes to one vertex
        # would leave edges without a vertex.
        **({} if settings.transactional else {"gremlinPool": 1}),
        # Ends the process if the graph does not open; the default manager continues without it.
        "graphManager": "org.apache.tinkerpop.gremlin.server.util.CheckedGraphManager",
        "graphs": {"graph": str(graph)},
        "scriptEngines": {"gremlin-lang": {}},
        "authentication": {"config": {"user": USER, "password": password}},
        "serializers": [
            {"className": f"org.apache.tinkerpop.gremlin.util.ser.{name}"} for name in _SERIALIZERS
        ],
    }
    server.touch(mode=0o600)
    server.write_text(json.dumps(values, indent=1))  # JSON is valid YAML, and quotes paths correctly
    return server
