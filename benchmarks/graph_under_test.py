"""The graph that load.py and rerun.py write to, with the options that both of them have."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from pyspark.sql import SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.embedded import EmbeddedServer
from lineage_merge.load.connection import Endpoint, connect
from lineage_merge.spark import session


@dataclass(frozen=True)
class Bench:
    """Spark and the graph."""

    spark: SparkSession
    endpoint: Endpoint

    def empty(self) -> None:
        """Take everything out of the graph."""
        with connect(self.endpoint) as g:
            while g.V().limit(1).count().next():
                g.V().limit(5_000).drop().iterate()


def parser(text: str) -> argparse.ArgumentParser:
    """The options that both have; `text` says what the benchmark is."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--vertices", type=int, nargs="+", default=[2_000, 20_000])
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument(
        "--endpoint", help="ws://host:port/gremlin; EMPTIES that graph. Default: an embedded server"
    )
    return made


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Bench]:
    """What is measured on; the graph is left empty."""
    server = nullcontext() if arguments.endpoint else EmbeddedServer(None)
    with session(SparkOptions()) as spark, server as embedded:
        bench = Bench(spark, Endpoint(arguments.endpoint or embedded.url))
        bench.empty()
        yield bench
        bench.empty()
