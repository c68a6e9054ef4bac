"""Loading rate of the graph: the loader and other clients, on one server in one run.

    python benchmarks/load.py --vertices 2000 20000 --rounds 3 --awswrangler /somewhere/bin/python

loader       `lineage_merge.load.gremlin.writer.load`; the engine is warm
by name      one request per element, as in the first prototype: look a vertex up by its name, add it
             if it is missing; an edge looks up both ends by name
by id        one upsert by id (`mergeV`, `mergeE`) per request, one request at a time
awswrangler  `awswrangler.neptune.to_property_graph` (see clients/awswrangler_writer.py); only if its
             Python is given, or it is installed in this environment
prepared     a minimal client with as many processes as the loader, which sends batches prepared before
             the measurement (see clients/prepared.py)

All write the same new elements (twice as many edges as vertices) into an empty graph. Of slow clients only
the last elements are timed, with all others in the graph, and the total is extrapolated; the table marks them
with `~`.
"""

import importlib.util
import json
import statistics
import subprocess
import sys
import time
from base64 import b64encode
from urllib.parse import urlsplit

from benchmarks import options, results
from benchmarks.clients import awswrangler_writer, one_by_one, prepared
from benchmarks.graph_under_test import SMALLEST, Bench, graph_parser, opened
from benchmarks.made_lineage import Lineage, Row, lineage, new, rows
from benchmarks.results import Figure
from lineage_merge.load.gremlin.writer import load

LOADER, BY_NAME, BY_ID, AWSWRANGLER, PREPARED = "loader", "by name", "by id", "awswrangler", "prepared"
WARM_UP = 300
# Expected minimum rates of the loader relative to each client.
EXPECTED = {BY_NAME: 25.0, AWSWRANGLER: 5.0, PREPARED: 1.0}
CLIENTS = {
    BY_NAME: (one_by_one.add_vertex_by_name, one_by_one.add_edge_by_name),
    BY_ID: (one_by_one.add_vertex_by_id, one_by_one.add_edge_by_id),
}


def of_loader(bench: Bench, made: Lineage) -> float:
    """Return elements per second."""
    both = rows(bench.engine, made.nodes), rows(bench.engine, made.edges)
    started = time.perf_counter()
    load(*both, bench.endpoint)
    seconds = time.perf_counter() - started
    bench.engine.unpersist_all()
    return len(made) / seconds


def of_awswrangler(bench: Bench, made: Lineage, python: str) -> float:
    """Return elements per second."""
    where = urlsplit(bench.endpoint.url)
    last = one_by_one.SAMPLE_VERTICES
    nodes, edges = made.nodes, made.edges
    if one_by_one.is_sampled(len(made)):
        nodes, edges = made.nodes[-last:], made.edges[-2 * last :]
        others = rows(bench.engine, made.nodes[:-last]), rows(bench.engine, [])
        load(*others, bench.endpoint)
    user = where.netloc.rpartition("@")[0]
    headers = {"Authorization": f"Basic {b64encode(user.encode()).decode()}"} if user else {}
    given = {"host": where.hostname, "port": where.port, "headers": headers}
    elements = {"nodes": [_headed(row) for row in nodes], "edges": [_headed(row) for row in edges]}
    run = subprocess.run(
        [python, awswrangler_writer.__file__],
        input=json.dumps(given | elements),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    of_nodes, of_edges = json.loads(run.stdout)
    seconds = of_nodes * len(made.nodes) / len(nodes) + of_edges * len(made.edges) / len(edges)
    return len(made) / float(seconds)


def _headed(row: Row) -> Row:
    """With awswrangler's keys; it knows cardinality of vertices only."""
    is_edge = "from" in row
    headed = {}
    for name, value in row.items():
        if name in ("id", "label", "from", "to"):
            headed[f"~{name}"] = value
        else:
            headed[name if is_edge or name == "dag_name" else f"{name}(single)"] = value
    return headed


def measure(bench: Bench, vertices: int, rounds: int, awswrangler: str) -> dict[str, list[float]]:
    """Measure the rates per client and round; clients alternate, so that all have the same conditions."""
    made = new(lineage(vertices))
    processes = bench.engine.parallelism
    clients = {
        LOADER: lambda: of_loader(bench, made),
        **{client: lambda add=add: one_by_one.rate(bench, made, *add) for client, add in CLIENTS.items()},
        **({AWSWRANGLER: lambda: of_awswrangler(bench, made, awswrangler)} if awswrangler else {}),
        PREPARED: lambda: prepared.rate(bench.endpoint.url, made, processes),
    }
    rates: dict[str, list[float]] = {client: [] for client in clients}
    for number in range(1, rounds + 1):
        for client, taken in rates.items():
            bench.empty()
            print(f"  {vertices} vertices, round {number}: {client}", file=sys.stderr)
            taken.append(clients[client]())
    return rates


def print_table(vertices: int, rates: dict[str, list[float]]) -> None:
    sampled = one_by_one.is_sampled(3 * vertices)
    ours = statistics.median(rates[LOADER])
    print(f"\n{vertices} vertices, {2 * vertices} edges")
    print(f"{'client':12} {'elements/s':>12} {'lowest':>9} {'highest':>9} {'loader is':>10}")
    for client, taken in rates.items():
        middle = statistics.median(taken)
        mark = "~" if sampled and client not in (LOADER, PREPARED) else " "
        times = f"{ours / middle:.2f} x" if client != LOADER else ""
        rate_text = mark + format(middle, ",.0f")
        print(f"{client:12} {rate_text:>12} {min(taken):>9,.0f} {max(taken):>9,.0f} {times:>10}")
    if sampled:
        print(f"~ timed over the last {one_by_one.SAMPLE_VERTICES} vertices and their edges")


def figures(vertices: int, rates: dict[str, list[float]]) -> list[Figure]:
    case = f"{vertices:,} vertices"
    middle = {client: statistics.median(taken) for client, taken in rates.items()}
    found = [Figure(case, client, value, "elements/s") for client, value in middle.items()]
    for client, value in middle.items():
        if client != LOADER:
            found.append(
                Figure(
                    case,
                    f"{LOADER} / {client}",
                    middle[LOADER] / value,
                    "times",
                    at_least=EXPECTED.get(client),
                )
            )
    return found


def main() -> None:
    beside = sys.executable if importlib.util.find_spec("awswrangler") else ""
    parser = graph_parser(__doc__ or "")
    parser.add_argument(
        "--awswrangler", default=beside, metavar="PYTHON", help="a Python that has awswrangler[gremlin]"
    )
    options.add_to(parser, SMALLEST)
    arguments = parser.parse_args()
    figures_found: list[Figure] = []
    with opened(arguments) as bench:
        measure(bench, min(WARM_UP, *arguments.vertices), 2, arguments.awswrangler)
        for vertices in arguments.vertices:
            taken = measure(bench, vertices, arguments.rounds, arguments.awswrangler)
            print_table(vertices, taken)
            figures_found += figures(vertices, taken)
    if not arguments.awswrangler:
        print("\nawswrangler was not measured. Fix: pass its Python with --awswrangler.")
    results.append(arguments.results, "load", figures_found)


if __name__ == "__main__":
    main()
