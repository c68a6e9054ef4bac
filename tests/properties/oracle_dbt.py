"""What a dbt project must become: ephemeral models folded into what reads them."""

from dataclasses import dataclass, field

from tests.properties.pipeline import PROJECT, WAREHOUSE, Pipeline, Place
from tests.properties.pipeline_documents import node_name, unique_id
from tests.properties.spelling import identity


@dataclass
class DbtGraph:
    """Labels by id, jobs, and edges; `feeds` with the names of what lies between."""

    labels: dict[str, str] = field(default_factory=dict)
    jobs: set[str] = field(default_factory=set)
    writes: set[tuple[str, str, str]] = field(default_factory=set)
    feeds: dict[tuple[str, str, str, str], set[str]] = field(default_factory=dict)


def expected(pipeline: Pipeline, prefix: str) -> DbtGraph:
    """The graph of the project."""
    graph = DbtGraph()
    for place, node in enumerate(pipeline.nodes):
        for source in node.sources:
            graph.labels[identity(prefix, source)] = "table"
        if node.kind == "ephemeral":
            continue
        own, job = node_id(pipeline, place, prefix), unique_id(pipeline, place, prefix)
        graph.labels[own] = node.kind
        if node.kind != "exposure":
            graph.jobs.add(job)
            graph.writes.add(("dbt", job, own))
        for path in _paths(pipeline, place):
            first = path[0]
            start = identity(prefix, first) if isinstance(first, Place) else node_id(pipeline, first, prefix)
            between = {node_name(each, prefix) for each in path[1:] if isinstance(each, int)}
            graph.feeds.setdefault(("dbt", job, start, own), set()).update(between)
    return graph


def node_id(pipeline: Pipeline, place: int, prefix: str) -> str:
    """The dataset that a node is."""
    if pipeline.nodes[place].kind == "exposure":
        return f"dev|dbt://{PROJECT}|{node_name(place, prefix)}"
    return f"dev|{WAREHOUSE}|dev.{prefix}.{node_name(place, prefix)}"


def _paths(pipeline: Pipeline, place: int) -> list[list[Place | int]]:
    """Return every path from a dataset through ephemeral models to a node, without the node itself."""
    node = pipeline.nodes[place]
    paths: list[list[Place | int]] = [[each] for each in node.sources]
    for parent in node.parents:
        if pipeline.nodes[parent].kind == "ephemeral":
            paths += [[*path, parent] for path in _paths(pipeline, parent)]
        else:
            paths.append([parent])
    return paths
