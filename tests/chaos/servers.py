"""ArangoDB stand-in and graph server with fault proxies, and operations that inject faults."""

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.embedded.process import free_port
from lineage_merge.infra.progress import no_progress
from lineage_merge.load.gremlin.connection import Endpoint, connect
from lineage_merge.orchestration import stages
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.chaos import pipelines, processes
from tests.chaos.fault_proxy import FaultProxy, http, websocket
from tests.command_line import clean_environment
from tests.graph_reading import whole
from tests.load.changing_pipeline import Graph, restore

PASSWORD = {"CHAOS_PASSWORD": "secret"}
# Properties that may differ between a run and its repetition: times and amounts of work.
OF_RUNS = {
    "merge_run": (
        "last_merged_at",
        "elements_written",
        "elements_retired",
        "requests",
        "elements_read",
        "state",
        "touched",
    )
}
_START_SECONDS = 60


class Servers:
    """Both servers, each on a fixed port behind a proxy. The folder has the input of merges."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder = folder
        self.spark = spark
        pipelines.write(folder)
        self._arango_port = free_port("127.0.0.1")
        self._arango = self._start_arango()
        self._graph_port = free_port("127.0.0.1")
        self._server = self._start_server()
        self._busy = threading.Lock()
        self._repairs: list[threading.Thread] = []
        self.arango_proxy = FaultProxy(self._arango_port, http)
        self.graph_proxy = FaultProxy(self._graph_port, websocket)

    # Queries

    @property
    def pid(self) -> int:
        """Return the parent process of Spark's workers."""
        return os.getpid()

    @property
    def graph(self) -> Endpoint:
        """Return the endpoint of the graph without the proxy."""
        return Endpoint(self._server.url)

    def settings(self, pipeline: str, retry_seconds: int) -> dict[str, Any]:
        """Return the configuration of a pipeline that connects through the proxies."""
        ports = (self.arango_proxy.port, self.graph_proxy.port)
        return pipelines.settings(self.folder, pipeline, *ports, retry_seconds)

    def config_file(self, pipeline: str, retry_seconds: int) -> Path:
        """Write the configuration for a job; returns the file."""
        file = self.folder / f"{pipeline}-{retry_seconds}.yml"
        settings = self.settings(pipeline, retry_seconds) | {"spark": {"master": "local[2]"}}
        file.write_text(yaml.safe_dump(settings))
        return file

    def built(self, pipeline: str) -> Path:
        """Return the folder of a pipeline's node and edge files."""
        folder = self.folder / "built" / pipeline
        if not folder.exists():
            config = CONFIGURATION.parse(self.settings(pipeline, 0))
            stages.build(self.spark, config, str(folder), no_progress)
        return folder

    def graph_content(self) -> Graph:
        """Read the whole graph, without properties that differ in each run."""
        with connect(self.graph) as g:
            vertices, edges = whole(g, merge_runs=True)
        for label, values in vertices.values():
            for name in OF_RUNS.get(label, ()):
                values.pop(name, None)
        return vertices, edges

    def restore(self, graph_content: Graph) -> None:
        """Restore an earlier content of the graph."""
        restore(self.graph, graph_content)

    # Faults

    def kill_worker(self, jvm_of: int, chance: random.Random) -> bool:
        """Kill a Python worker among the descendants of a process; returns whether there was one."""
        found = processes.workers(processes.descendants(jvm_of))
        processes.kill([chance.choice(found)] if found else [])
        return bool(found)

    def kill_arango(self, down: float) -> None:
        """Kill the ArangoDB stand-in and restart it after `down` seconds."""
        with self._busy:
            self._stop_arango()

        def start() -> None:
            time.sleep(down)
            with self._busy:
                if self._arango.poll() is not None:
                    self._arango = self._start_arango()

        self._in_background(start)

    def cut(self, proxy: FaultProxy, down: float) -> None:
        """Cut all connections of a proxy, and reject new ones for `down` seconds."""
        proxy.shut()

        def open_again() -> None:
            time.sleep(down)
            with self._busy:  # the proxy of a server that restarts stays closed
                proxy.open()

        self._in_background(open_again)

    def restart_server(self) -> None:
        """Restart the graph server with its data folder, after cutting connections."""

        def restart() -> None:
            with self._busy:
                self.graph_proxy.shut()
                self._server.stop()
                self._server = self._start_server()
                self.graph_proxy.open()

        self._in_background(restart)

    def await_repairs(self) -> None:
        """Wait until all servers run again."""
        for thread in self._repairs:
            thread.join()
        self._repairs.clear()

    def close(self) -> None:
        """Stop all servers and proxies."""
        self.await_repairs()
        self.arango_proxy.close()
        self.graph_proxy.close()
        self._server.stop()
        self._stop_arango()

    def _stop_arango(self) -> None:
        self._arango.kill()
        self._arango.communicate()

    def _in_background(self, act: Callable[[], None]) -> None:
        thread = threading.Thread(target=act, daemon=True)
        self._repairs.append(thread)
        thread.start()

    def _start_arango(self) -> "subprocess.Popen[str]":
        arguments = [sys.executable, "-m", "tests.arango_standin", str(self._arango_port)]
        process = subprocess.Popen(
            [*arguments, str(self.folder / "arango")],
            cwd=Path(__file__).parents[2],
            env=clean_environment(),
            stdin=subprocess.PIPE,  # the stand-in ends with this process, even if that is killed
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        if "listening" not in process.stdout.readline():
            raise RuntimeError("the ArangoDB stand-in did not start")
        return process

    def _start_server(self) -> EmbeddedServer:
        server = EmbeddedServer(
            None,
            self._graph_port,
            transactional=True,
            heap="400m",
            password=pipelines.PASSWORD,
            stored_in=self.folder / "graph.json",
        )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                server.start()
            except Exception:
                # Old connections may still occupy the port.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return server


@contextmanager
def open_servers(folder: Path, spark: SparkSession) -> Iterator[Servers]:
    """Provide running servers."""
    servers = Servers(folder, spark)
    try:
        yield servers
    finally:
        with contextlib.suppress(ProcessLookupError):
            servers.close()
