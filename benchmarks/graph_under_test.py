"""Graph that load.py and rerun.py write to, with their common options."""

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from lineage_merge.config import SparkOptions
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.infra.spark_session import session
from lineage_merge.load.gremlin.connection import Endpoint, connect

# Values of the common options for a test run.
SMALLEST = {"vertices": [400], "rounds": 1}


@dataclass(frozen=True)
class Bench:
    """The engine and the graph of a benchmark."""

    engine: Engine
    endpoint: Endpoint

    def empty(self) -> None:
        """Drop all elements of the graph."""
        with connect(self.endpoint) as g:
            while g.V().limit(1).count().next():
                g.V().limit(5_000).drop().to_list()


def graph_parser(text: str) -> argparse.ArgumentParser:
    """Return a parser with the common options; `text`: description of the benchmark."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--vertices", type=int, nargs="+", default=[2_000, 20_000])
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument(
        "--endpoint", help="ws://host:port/gremlin; EMPTIES that graph. Default: a server of its own"
    )
    made.add_argument(
        "--engine", choices=("local", "spark"), default="local", help="what computes the rows; default: local"
    )
    made.add_argument("--heap", default="1g", help="of that server, as Java's -Xmx; default: 1g")
    return made


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Bench]:
    """Provide engine and graph; the graph is emptied at the end."""
    with ExitStack() as stack:
        engine: Engine = LocalEngine(threads=os.cpu_count() or 1)
        if arguments.engine == "spark":
            from lineage_merge.infra.engine.on_spark import SparkEngine

            engine = SparkEngine(stack.enter_context(session(SparkOptions())))
        url = arguments.endpoint or stack.enter_context(EmbeddedServer(None, heap=arguments.heap)).url
        bench = Bench(engine, Endpoint(url))
        bench.empty()
        yield bench
        bench.empty()
