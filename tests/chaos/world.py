"""The servers of a chaos, the gates before them, and what is done to them. Nothing here draws or judges."""

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
from lineage_merge.load.gremlin.connection import Endpoint, connect
from tests.chaos import pipelines, processes
from tests.chaos.gate import Gate, http, websocket
from tests.command_line import clean_environment
from tests.graph_reading import whole
from tests.load.changing_pipeline import Graph, restore

PASSWORD = {"CHAOS_PASSWORD": "secret"}
# What legitimately differs between a run and its repeat: when it was, and how much was left to do.
_OF_RUNS = {
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


class World:
    """Both servers run, each on a port that stays, with a gate before it. The folder holds what is merged."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder = folder
        self.spark = spark
        pipelines.write(folder)
        self._arango_port = free_port("127.0.0.1")
        self._arango = self._started_arango()
        self._graph_port = free_port("127.0.0.1")
        self._server = self._started_server()
        self._busy = threading.Lock()
        self._mending: list[threading.Thread] = []
        self.to_arango = Gate(self._arango_port, http)
        self.to_graph = Gate(self._graph_port, websocket)

    # What is asked

    @property
    def pid(self) -> int:
        """The process below which Spark's workers are."""
        return os.getpid()

    @property
    def graph(self) -> Endpoint:
        """The graph, past the gate."""
        return Endpoint(self._server.url)

    def settings(self, pipeline: str, retry_seconds: int) -> dict[str, Any]:
        """The configuration of a pipeline whose ways lead through the gates."""
        ports = (self.to_arango.port, self.to_graph.port)
        return pipelines.settings(self.folder, pipeline, *ports, retry_seconds)

    def config_file(self, pipeline: str, retry_seconds: int) -> Path:
        """The same as a file, for a job."""
        file = self.folder / f"{pipeline}-{retry_seconds}.yml"
        settings = self.settings(pipeline, retry_seconds) | {"spark": {"master": "local[2]"}}
        file.write_text(yaml.safe_dump(settings))
        return file

    def held(self) -> Graph:
        """The whole graph: every element with all its values, but for those that each run has anew."""
        with connect(self.graph) as g:
            vertices, edges = whole(g, merge_runs=True)
        for label, values in vertices.values():
            for name in _OF_RUNS.get(label, ()):
                values.pop(name, None)
        return vertices, edges

    def restore(self, held: Graph) -> None:
        """Make the graph what it was."""
        restore(self.graph, held)

    # What is done to it

    def kill_worker(self, jvm_of: int, chance: random.Random) -> bool:
        """SIGKILL to one of the Python workers below a process; whether there was one."""
        found = processes.workers(processes.below(jvm_of))
        processes.kill([chance.choice(found)] if found else [])
        return bool(found)

    def kill_arango(self, down: float) -> None:
        """SIGKILL to the stand-in, which is started again on its port."""
        with self._busy:
            self._end_arango()

        def start() -> None:
            time.sleep(down)
            with self._busy:
                if self._arango.poll() is not None:
                    self._arango = self._started_arango()

        self._later(start)

    def cut(self, gate: Gate, down: float) -> None:
        """End all connections through a gate, and let nobody through for a while."""
        gate.shut()

        def open_again() -> None:
            time.sleep(down)
            with self._busy:  # a server that is being restarted has its gate shut for as long
                gate.open()

        self._later(open_again)

    def restart_server(self) -> None:
        """A clean stop and start of the graph server, with its data folder. Clients are sent away first."""

        def anew() -> None:
            with self._busy:
                self.to_graph.shut()
                self._server.stop()
                self._server = self._started_server()
                self.to_graph.open()

        self._later(anew)

    def await_mended(self) -> None:
        """Until all servers run again."""
        for thread in self._mending:
            thread.join()
        self._mending.clear()

    def close(self) -> None:
        """End everything."""
        self.await_mended()
        self.to_arango.close()
        self.to_graph.close()
        self._server.stop()
        self._end_arango()

    def _end_arango(self) -> None:
        self._arango.kill()
        self._arango.communicate()

    def _later(self, act: Callable[[], None]) -> None:
        thread = threading.Thread(target=act, daemon=True)
        self._mending.append(thread)
        thread.start()

    def _started_arango(self) -> "subprocess.Popen[str]":
        words = [sys.executable, "-m", "tests.arango_standin", str(self._arango_port)]
        process = subprocess.Popen(
            [*words, str(self.folder / "arango")],
            cwd=Path(__file__).parents[2],
            env=clean_environment(),
            stdin=subprocess.PIPE,  # it ends with this process, even when that is killed
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        if "listening" not in process.stdout.readline():
            raise RuntimeError("the ArangoDB stand-in did not start")
        return process

    def _started_server(self) -> EmbeddedServer:
        file = self.folder / "graph" / "graph.json"
        server = EmbeddedServer(
            file, self._graph_port, transactional=True, heap="400m", password=pipelines.PASSWORD
        )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                server.start()
            except Exception:
                # Connections of before may still hold the port.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return server


@contextmanager
def world(folder: Path, spark: SparkSession) -> Iterator[World]:
    """A world, as long as the block lasts."""
    made = World(folder, spark)
    try:
        yield made
    finally:
        with contextlib.suppress(ProcessLookupError):
            made.close()
