"""How fast the graph is loaded: our loader next to two simpler ways, on one server in one run.

    python benchmarks/load.py --vertices 2000 20000 --rounds 3

1. `loader`: `lineage_merge.load.loader.load`; Spark has started and its workers are warm.
2. `by id`: one upsert by id a request (`mergeV`, `mergeE`), one request at a time.
3. `by name`: how the first prototype did it: look a vertex up by its name, add it if it is
   absent; an edge looks both of its ends up by name. One request at a time.

All three write the same elements (twice as many edges as vertices) into an empty graph.
Where a slow way would take too long, only the last elements are timed, with all the others
in the graph, and the rest is reckoned at the same rates; the table marks those with `~`.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.process.traversal import Cardinality, Direction, Merge, T
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.embedded import EmbeddedServer
from lineage_merge.graph.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    NODE_KEYS,
    NODE_PROPERTIES,
    edge_ddl,
    node_ddl,
)
from lineage_merge.load.connection import Endpoint, connect
from lineage_merge.load.loader import load
from lineage_merge.spark import session

Row = dict[str, Any]
NODE_COLUMNS = (*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
EDGE_COLUMNS = (*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))
ELEMENTS_TIMED_IN_FULL = 15_000
SAMPLE_VERTICES = 500


@dataclass(frozen=True)
class Lineage:
    """Made-up tables, each feeding two others, with the properties that real ones have."""

    nodes: list[Row]
    edges: list[Row]

    def __len__(self) -> int:
        return len(self.nodes) + len(self.edges)


def make_lineage(vertices: int) -> Lineage:
    nodes = []
    for i in range(vertices):
        schema, table = f"schema_{i % 20}", f"table_{i:06d}"
        nodes.append(
            {
                "id": f"dev|redshift://warehouse.eu-west-1:5439|dev.{schema}.{table}",
                "label": "table",
                "environment": "dev",
                "dag_name": "benchmark",
                "name": table,
                "namespace": "redshift://warehouse.eu-west-1:5439",
                "qualified_name": f"dev.{schema}.{table}",
                "format": "redshift",
            }
        )
    edges = []
    for i in range(2 * vertices):
        source, target = nodes[i % vertices], nodes[(i * 7 + 1 + i // vertices) % vertices]
        edges.append(
            {
                "id": f"{i:020x}",
                "label": "feeds",
                "from": source["id"],
                "to": target["id"],
                "environment": "dev",
                "dag_name": "benchmark",
                "job_type": "spark",
                "job_name": f"job_{i % 200}",
                "write_mode": "overwrite",
                "names": (source["name"], target["name"]),
            }
        )
    return Lineage(nodes, edges)


@dataclass(frozen=True)
class Bench:
    """The two servers of the measurement."""

    spark: SparkSession
    endpoint: Endpoint

    def frames(self, nodes: list[Row], edges: list[Row]) -> tuple[DataFrame, DataFrame]:
        def frame(rows: list[Row], columns: tuple[str, ...], ddl: str) -> DataFrame:
            made = self.spark.createDataFrame([tuple(row.get(c) for c in columns) for row in rows], ddl)
            made = made.cache()
            made.count()  # making the input is not what is measured
            return made

        return frame(nodes, NODE_COLUMNS, node_ddl()), frame(edges, EDGE_COLUMNS, edge_ddl())

    def empty(self) -> None:
        with connect(self.endpoint) as g:
            while g.V().limit(1).count().next():
                g.V().limit(5_000).drop().iterate()

    def loader(self, lineage: Lineage) -> float:
        """Elements a second."""
        frames = self.frames(lineage.nodes, lineage.edges)
        started = time.perf_counter()
        load(*frames, self.endpoint)
        seconds = time.perf_counter() - started
        for frame in frames:
            frame.unpersist()
        return len(lineage) / seconds

    def one_by_one(self, lineage: Lineage, way: "Way", *, sampled: bool) -> float:
        """Elements a second of a way that takes vertices, then edges."""
        v, e = lineage.nodes, lineage.edges
        cut = len(v) - SAMPLE_VERTICES if sampled else 0
        if cut:
            load(*self.frames(v[:cut], []), self.endpoint)
        with way(self.endpoint) as (add_vertex, add_edge):
            vertex_rate = rate(add_vertex, v[cut:])
        if cut:
            # Not those of the last vertices: a way may have given these ids of its own.
            there = {row["id"] for row in v[:cut]}
            before = [row for row in e[: 2 * cut] if row["from"] in there and row["to"] in there]
            load(*self.frames([], before), self.endpoint)
        with way(self.endpoint) as (add_vertex, add_edge):
            edge_rate = rate(add_edge, e[2 * cut :])
        return len(lineage) / (len(v) / vertex_rate + len(e) / edge_rate)


def rate(add: Callable[[Row], None], rows: list[Row]) -> float:
    started = time.perf_counter()
    for row in rows:
        add(row)
    return len(rows) / (time.perf_counter() - started)


Adders = tuple[Callable[[Row], None], Callable[[Row], None]]
Way = Callable[[Endpoint], Any]


@contextmanager
def by_id(endpoint: Endpoint) -> Iterator[Adders]:
    with connect(endpoint) as g:
        yield lambda row: add_vertex_by_id(g, row), lambda row: add_edge_by_id(g, row)


def add_vertex_by_id(g: GraphTraversalSource, row: Row) -> None:
    values = {key: value for key, value in row.items() if key not in ("id", "label", "dag_name")}
    adding = g.merge_v({T.id: row["id"]})
    adding = adding.option(Merge.on_create, {T.id: row["id"], T.label: row["label"]})
    for key, value in values.items():
        adding = adding.property(Cardinality.single, key, value)
    adding.property(Cardinality.set_, "dag_name", row["dag_name"]).iterate()


def add_edge_by_id(g: GraphTraversalSource, row: Row) -> None:
    values = {key: row[key] for key in row if key not in ("id", "label", "from", "to", "names")}
    ends = {Direction.OUT: row["from"], Direction.IN: row["to"]}
    adding = g.merge_e({T.id: row["id"]})
    adding = adding.option(Merge.on_create, {T.id: row["id"], T.label: row["label"], **ends, **values})
    adding.option(Merge.on_match, values).iterate()


@contextmanager
def by_name(endpoint: Endpoint) -> Iterator[Adders]:
    with connect(endpoint) as g:
        yield lambda row: add_vertex_by_name(g, row), lambda row: add_edge_by_name(g, row)


def add_vertex_by_name(g: GraphTraversalSource, row: Row) -> None:
    if g.V().has("name", row["name"]).has_next():
        return
    adding = g.add_v(row["label"])
    for key, value in row.items():
        if key not in ("id", "label"):
            adding = adding.property(Cardinality.single, key, value)
    adding.iterate()


def add_edge_by_name(g: GraphTraversalSource, row: Row) -> None:
    source, target = row["names"]
    adding = g.V().has("name", source).as_("from").V().has("name", target)
    adding = adding.add_e(row["label"]).from_("from")
    for key, value in row.items():
        if key not in ("id", "label", "from", "to", "names"):
            adding = adding.property(key, value)
    adding.iterate()


WAYS: dict[str, Way] = {"by id": by_id, "by name": by_name}


def measure(bench: Bench, vertices: int, rounds: int) -> dict[str, list[float]]:
    """Rates of each way in each round; the ways take turns, so that all meet the same load."""
    lineage = make_lineage(vertices)
    sampled = len(lineage) > ELEMENTS_TIMED_IN_FULL
    rates: dict[str, list[float]] = {"loader": [], **{way: [] for way in WAYS}}
    for number in range(1, rounds + 1):
        for way, taken in rates.items():
            bench.empty()
            print(f"  {vertices} vertices, round {number}: {way}", file=sys.stderr)
            taken.append(
                bench.one_by_one(lineage, WAYS[way], sampled=sampled)
                if way in WAYS
                else bench.loader(lineage)
            )
    return rates


def print_table(vertices: int, rates: dict[str, list[float]]) -> None:
    sampled = 3 * vertices > ELEMENTS_TIMED_IN_FULL
    ours = statistics.median(rates["loader"])
    print(f"\n{vertices} vertices, {2 * vertices} edges")
    print(f"{'way':10} {'elements/s':>12} {'lowest':>9} {'highest':>9} {'loader is':>10}")
    for way, taken in rates.items():
        middle = statistics.median(taken)
        mark = "~" if sampled and way in WAYS else " "
        times = f"{ours / middle:.1f} x" if way in WAYS else ""
        rate_text = mark + format(middle, ",.0f")
        print(f"{way:10} {rate_text:>12} {min(taken):>9,.0f} {max(taken):>9,.0f} {times:>10}")
    if sampled:
        print(
            f"~ timed over the last {SAMPLE_VERTICES} vertices and {2 * SAMPLE_VERTICES} edges, "
            "all the others being in the graph"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Elements per second of the loader and of two simpler ways")
    parser.add_argument("--vertices", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--endpoint", help="ws://host:port/gremlin; EMPTIES that graph. Default: an embedded server"
    )
    arguments = parser.parse_args()
    server = nullcontext() if arguments.endpoint else EmbeddedServer(None)
    with session(SparkOptions()) as spark, server as embedded:
        bench = Bench(spark, Endpoint(arguments.endpoint or embedded.url))
        warm_up = make_lineage(500)
        bench.empty()
        for _ in range(3):
            bench.loader(warm_up)
        for way in WAYS.values():
            bench.empty()
            bench.one_by_one(warm_up, way, sampled=False)
        for vertices in arguments.vertices:
            print_table(vertices, measure(bench, vertices, arguments.rounds))
        bench.empty()


if __name__ == "__main__":
    main()
