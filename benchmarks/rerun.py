"""What a merge costs when little or nothing has changed since the last one.

    python benchmarks/rerun.py --vertices 2000 20000 --rounds 3

The same made-up lineage as in `benchmarks/load.py` (twice as many edges as vertices, 200 jobs) goes
into the graph three times: into an empty graph, once more unchanged, and with one edge that reads
something else. The last two are compared with the graph first; the time includes that.
"""

import argparse
import statistics
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from load import EDGE_COLUMNS, NODE_COLUMNS, Bench, make_lineage
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.embedded import EmbeddedServer
from lineage_merge.graph.schema import edge_ddl, node_ddl
from lineage_merge.load.connection import Endpoint
from lineage_merge.load.loader import Loaded
from lineage_merge.load.retire import Coverage
from lineage_merge.load.update import Merge, update
from lineage_merge.model import JobKey, edge_id, job_id
from lineage_merge.spark import session

Row = dict[str, Any]
DAG = "benchmark"


@dataclass(frozen=True)
class Round:
    """Seconds and what was done."""

    seconds: float
    loaded: Loaded


def lineage(vertices: int) -> tuple[list[Row], list[Row]]:
    """Nodes and edges of one dbt project, with their jobs and true ids."""
    made = make_lineage(vertices)
    nodes, edges = made.nodes, []
    jobs: dict[str, Row] = {}
    for edge in made.edges:
        job = JobKey("dbt", f"model.p.{edge['job_name']}")
        identifier = job_id("dev", DAG, job)
        keys = {"environment": "dev", "dag_name": DAG}
        jobs[identifier] = {"id": identifier, "label": "job", "name": job.name, "job_type": "dbt", **keys}
        jobs[identifier] |= {"project": "p", "last_run_at": 1}
        edge = {**edge, "job_type": "dbt", "job_name": job.name}
        edges.append(edge | {"id": edge_id("dev", DAG, job, edge["from"], "feeds", edge["to"])})
    return [*nodes, *jobs.values()], list({edge["id"]: edge for edge in edges}.values())


def one_edge_changed(edges: list[Row], nodes: list[Row]) -> list[Row]:
    """The first edge comes from another table."""
    first, other = edges[0], nodes[len(nodes) // 2]["id"]
    job = JobKey("dbt", first["job_name"])
    identifier = edge_id("dev", DAG, job, other, "feeds", first["to"])
    return [{**first, "from": other, "id": identifier}, *edges[1:]]


def frame(spark: SparkSession, rows: list[Row], columns: tuple[str, ...], ddl: str) -> DataFrame:
    made = spark.createDataFrame([tuple(row.get(column) for column in columns) for row in rows], ddl).cache()
    made.count()  # making the input is not what is measured
    return made


def measure(bench: Bench, vertices: int) -> dict[str, Round]:
    nodes, edges = lineage(vertices)
    spark = bench.spark
    first = Merge(
        frame(spark, nodes, NODE_COLUMNS, node_ddl()),
        frame(spark, edges, EDGE_COLUMNS, edge_ddl()),
        coverage=Coverage(runs=True, dbt=True),
    )
    changed_edges = frame(spark, one_edge_changed(edges, nodes), EDGE_COLUMNS, edge_ddl())
    changed = replace(first, edges=changed_edges)
    rounds = {}
    bench.empty()
    for name, merge in (("first load", first), ("unchanged", first), ("one edge changed", changed)):
        started = time.perf_counter()
        loaded = update(merge, bench.endpoint, "dev", DAG)
        rounds[name] = Round(time.perf_counter() - started, loaded)
    spark.catalog.clearCache()
    return rounds


def print_table(vertices: int, taken: list[dict[str, Round]]) -> None:
    print(f"\n{vertices} vertices, {2 * vertices} edges")
    print(
        f"{'load':18} {'seconds':>8} {'lowest':>8} {'highest':>8} {'of first':>9} {'written':>9}"
        f" {'retired':>8}"
    )
    first = statistics.median(each["first load"].seconds for each in taken)
    for name in taken[0]:
        seconds = [each[name].seconds for each in taken]
        loaded = taken[0][name].loaded
        middle = statistics.median(seconds)
        written, retired = loaded.nodes + loaded.edges, loaded.retired_nodes + loaded.retired_edges
        print(
            f"{name:18} {middle:8.2f} {min(seconds):8.2f} {max(seconds):8.2f} {middle / first:8.0%}"
            f" {written:>10,} {retired:>8,}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="First load, unchanged second load, one-edge change")
    parser.add_argument("--vertices", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--endpoint", help="ws://host:port/gremlin; EMPTIES that graph. Default: an embedded server"
    )
    arguments = parser.parse_args()
    server = nullcontext() if arguments.endpoint else EmbeddedServer(None)
    with session(SparkOptions()) as spark, server as embedded:
        bench = Bench(spark, Endpoint(arguments.endpoint or embedded.url))
        measure(bench, 500)  # warms everything up
        for vertices in arguments.vertices:
            taken = []
            for number in range(1, arguments.rounds + 1):
                print(f"  {vertices} vertices, round {number}", file=sys.stderr)
                taken.append(measure(bench, vertices))
            print_table(vertices, taken)
        bench.empty()
    print("\nEach load also writes its merge_run vertex, which is not counted.")


if __name__ == "__main__":
    main()
