"""A made-up graph for benchmarks of questions, as a GraphSON file that the embedded server reads."""

import json
import random
from collections import defaultdict
from pathlib import Path

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


def write(file: Path, datasets: int) -> list[tuple[int, int]]:
    """Write the graph; returns its flows."""
    found = flows(datasets)
    leaving, arriving = defaultdict(list), defaultdict(list)
    for number, (source, target) in enumerate(found):
        properties = {
            "environment": "dev",
            "dag_name": f"dag_{target // GROUP}",
            "job_type": "spark",
            "job_name": f"job_{target // 10}",
            "write_mode": "overwrite",
        }
        leaving[source].append({"id": f"{number:020x}", "inV": dataset(target), "properties": properties})
        arriving[target].append({"id": f"{number:020x}", "outV": dataset(source), "properties": properties})
    with file.open("w", encoding="utf-8") as lines:
        for number in range(datasets):
            held = {
                "name": f"table_{number:06d}",
                "namespace": NAMESPACE,
                "qualified_name": f"dev.schema_{number % 20}.table_{number:06d}",
                "environment": "dev",
                "dag_name": f"dag_{number // GROUP}",
            }
            vertex = {
                "id": dataset(number),
                "label": "table",
                "outE": {"feeds": leaving[number]} if leaving[number] else {},
                "inE": {"feeds": arriving[number]} if arriving[number] else {},
                "properties": {
                    key: [{"id": f"{number}/{key}", "value": value}] for key, value in held.items()
                },
            }
            lines.write(json.dumps(vertex) + "\n")
    return found
