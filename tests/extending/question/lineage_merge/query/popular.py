"""The datasets with the most consumers."""

from collections import Counter

from lineage_merge.graph_format.elements import Subgraph, subgraph
from lineage_merge.questions.graph import LineageGraph


def popular(
    graph: LineageGraph, environment: str | None = None, dag: str | None = None, at_least: int = 2
) -> Subgraph:
    """Return the datasets that feed at least that many others."""
    consumers = Counter(start for start, _ in graph.pairs(["feeds"], environment, dag))
    found = sorted(each for each, number in consumers.items() if number >= at_least)
    return subgraph(graph.vertices(found))
