"""Made-up column lineage for benchmarks, as an embedded graph.

Groups of tables; each column is computed from the same column of an earlier table of the group. The first
table of a group has a tagged column, the last one feeds a dashboard.
"""

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.made_graph import NAMESPACE
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.embedded.graph_store import write_snapshot
from lineage_merge.infra.embedded.graph_tables import GraphTables, table_of
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import GremlinExecutor, open_executor

TAG = "pii"
GROUP = 50
COLUMNS = 10
WINDOW = 8
TAGGED = 1
# Of the edges between columns: a copy, a computation, a hash, a sum.
_HOW = (
    {"transformation": "IDENTITY"},
    {"transformation": "TRANSFORMATION", "expression": "lower(column_{0})"},
    {"transformation": "TRANSFORMATION", "expression": "md5(column_{0})"},
    {"transformation": "AGGREGATION", "expression": "max(column_{0})"},
)
_WEIGHTS = (80, 15, 3, 2)

Edge = tuple[str, str, str, dict[str, Any]]


def dataset(number: int) -> str:
    """The id of a table."""
    return f"dev|{NAMESPACE}|dev.schema_{number % 20}.table_{number:06d}"


def column(number: int, place: int) -> str:
    """The id of a table's column."""
    return f"{dataset(number)}|column_{place}"


def edges(tables: int) -> list[Edge]:
    """Label, from, to and properties of all edges, always the same."""
    chosen = random.Random(20)  # nothing secret
    found: list[Edge] = []
    for number in range(tables):
        job = {"job_type": "spark", "job_name": f"job_{number}"}
        found += [("has_column", dataset(number), column(number, place), {}) for place in range(COLUMNS)]
        first = max(number - number % GROUP, number - WINDOW)
        earlier = range(first, number)
        parents = chosen.sample(earlier, min(3, len(earlier)))
        found += [("feeds", dataset(parent), dataset(number), job) for parent in parents]
        for place in range(COLUMNS) if parents else ():
            (how,) = chosen.choices(_HOW, _WEIGHTS)
            properties = {key: value.format(place) for key, value in how.items()}
            found.append(
                (
                    "feeds_column",
                    column(chosen.choice(parents), place),
                    column(number, place),
                    job | properties,
                )
            )
        if number % 7 == 0 and parents:
            found.append(
                (
                    "influences",
                    column(parents[0], TAGGED),
                    dataset(number),
                    job | {"transformation": "FILTER"},
                )
            )
        if number % GROUP == GROUP - 1:
            of_dashboard = {"job_type": "dbt", "job_name": f"exposure_{number}"}
            found.append(("feeds", dataset(number), _dashboard(number), of_dashboard))
    return found


def write(graph: Path, tables: int) -> int:
    """Write the graph; returns the number of its edges."""
    own = {"environment": "dev", "dag_name": "made"}
    found = edges(tables)
    edge_rows = (
        {"id": f"{number:020x}", "label": label, "from": start, "to": end, **own, **properties}
        for number, (label, start, end, properties) in enumerate(found)
    )
    nodes: list[dict[str, Any]] = []
    for number in range(tables):
        table = f"dev.schema_{number % 20}.table_{number:06d}"
        held = {"name": f"table_{number:06d}", "namespace": NAMESPACE, "qualified_name": table}
        nodes.append({"id": dataset(number), "label": "table", **own, **held})
        for place in range(COLUMNS):
            tags = {"tags": [TAG]} if number % GROUP == 0 and place == TAGGED else {}
            values = {"name": f"column_{place}", "data_type": "string"}
            nodes.append({"id": column(number, place), "label": "column", **own, **values, **tags})
        if number % GROUP == GROUP - 1:
            name = f"dashboard_{number}"
            nodes.append({"id": _dashboard(number), "label": "exposure", "name": name, **own})
    write_snapshot(graph, GraphTables(table_of("vertices", nodes), table_of("edges", edge_rows)))
    return len(found)


@contextmanager
def served(tables: int) -> Iterator[GremlinExecutor]:
    """Serve the graph, and yield a connection to it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph"
        written = write(file, tables)
        print(f"{tables * COLUMNS:,} columns, {written:,} edges")
        with EmbeddedServer(file, heap="2g") as server, open_executor(Endpoint(server.url)) as connection:
            yield connection


def _dashboard(number: int) -> str:
    return f"dev|dbt://made|dashboard_{number}"
