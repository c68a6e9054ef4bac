"""Datasets and columns of the merged graph, by ids that do not know all aliases."""

from lineage_merge.graph_format.elements import Vertex, dataset_id_of, name_parts
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.graph import LineageGraph


class GraphIds:
    """Ids of the merged graph for those of a version."""

    def __init__(self, graph: LineageGraph, environment: str) -> None:
        self._graph = graph
        self._environment = environment
        self._found: dict[str, str] = {}

    def of(self, identifier: str) -> str:
        """Return the id in the graph of a dataset or column; its own if the graph does not have it."""
        dataset = dataset_id_of(identifier)
        if dataset not in self._found:
            vertex = dataset_vertex(self._graph, dataset, self._environment)
            self._found[dataset] = vertex.id if vertex else dataset
        return self._found[dataset] + identifier.removeprefix(dataset)


def dataset_vertex(graph: LineageGraph, dataset: str, environment: str) -> Vertex | None:
    """Return the dataset with an id, or the one with this alias."""
    there = graph.vertices([dataset])
    if there:
        return there[0]
    _, namespace, name = name_parts(dataset)
    alias = f"{namespace}|{name} ("
    named = graph.named(name, DATASET_LABELS, environment)
    found = [
        each for each in named if any(str(a).startswith(alias) for a in each.properties.get("aliases", ()))
    ]
    return found[0] if len(found) == 1 else None


def column_vertex(graph: LineageGraph, owner: Vertex, name: str) -> Vertex | None:
    """Return the column of a dataset with a name, in any case."""
    owned = graph.edges_from([owner.id], ["has_column"])
    return next(
        (
            vertex
            for vertex in graph.vertices([e.to_id for e in owned])
            if vertex.name.lower() == name.lower()
        ),
        None,
    )
