"""A made-up graph for benchmarks of questions, as an embedded graph."""

import random
from pathlib import Path

from lineage_merge.infra.embedded.graph_store import write_snapshot
from lineage_merge.infra.embedded.graph_tables import GraphTables, table_of

NAMESPACE = "redshift://warehouse.eu-west-1:5439"
PARENTS = 3
# Datasets that feed each other, and from how far back: such a group is some hundred hops deep.
GROUP = 5_000
WINDOW = 60


def dataset(number: int) -> str:
    """The id of a dataset."""
    return f"dev|{NAMESPACE}|dev.schema_{number % 20}.table_{number:06d}"


def flows(datasets: int) -> list[tuple[int, int]]:
    """From and to: each dataset has three parents of its own group, not far before it, always the same."""
    chosen = random.Random(6)  # nothing secret
    found = []
    for number in range(datasets):
        first = max(number - number % GROUP, number - WINDOW)
        parents = range(first, number)
        found += [(parent, number) for parent in chosen.sample(parents, min(PARENTS, len(parents)))]
    return found


def write(graph: Path, datasets: int) -> list[tuple[int, int]]:
    """Write the graph; returns its flows."""
    found = flows(datasets)
    edges = (
        {
            "id": f"{number:020x}",
            "label": "feeds",
            "from": dataset(source),
            "to": dataset(target),
            "environment": "dev",
            "dag_name": f"dag_{target // GROUP}",
            "job_type": "spark",
            "job_name": f"job_{target // 10}",
            "write_mode": "overwrite",
        }
        for number, (source, target) in enumerate(found)
    )
    nodes = (
        {
            "id": dataset(number),
            "label": "table",
            "name": f"table_{number:06d}",
            "namespace": NAMESPACE,
            "qualified_name": f"dev.schema_{number % 20}.table_{number:06d}",
            "environment": "dev",
            "dag_name": f"dag_{number // GROUP}",
        }
        for number in range(datasets)
    )
    write_snapshot(graph, GraphTables(table_of("vertices", nodes), table_of("edges", edges)))
    return found
