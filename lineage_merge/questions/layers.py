"""Feeds that violate a declared order of layers, such as raw, staging, lake, mart."""

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, name_parts
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.lineage import completed, ends


class Layer(NamedTuple):
    """A layer with globs; a dataset matches any of them."""

    name: str
    globs: tuple[str, ...]

    def holds(self, dataset: Vertex) -> bool:
        """Whether a glob matches the dataset's path or name, ``namespace|name`` or qualified name."""
        _, namespace, name = name_parts(dataset.id)
        names = {dataset.title, f"{namespace}|{name}", name, dataset.properties.get("qualified_name", name)}
        return any(fnmatch.fnmatchcase(each, glob) for each in names for glob in self.globs)


class LayerViolation(NamedTuple):
    """A feed from a layer to an earlier one or, with `skipped`, to one after the next."""

    edge: Edge
    source: str
    target: str
    skipped: bool


@dataclass(frozen=True, slots=True)
class LayerCheck:
    """Violations by id; `datasets`: numbers by layer, "" for datasets without a layer."""

    breaches: tuple[LayerViolation, ...]
    datasets: dict[str, int]
    subgraph: Subgraph


def parse_layers(declared: Iterable[Layer | str]) -> tuple[Layer, ...]:
    """Parse ``raw=s3://*-raw/*``; repeated names add globs to a layer. Raises `ConfigError`."""
    globs: dict[str, list[str]] = {}
    for pair in declared:
        if isinstance(pair, Layer):
            globs.setdefault(pair.name, []).extend(pair.globs)
            continue
        name, equals, glob = pair.partition("=")
        if not name or not equals or not glob:
            raise ConfigError("query.layers", f"{pair}: must be NAME=GLOB, such as raw=s3://*-raw/*")
        globs.setdefault(name, []).append(glob)
    return tuple(Layer(name, tuple(of_layer)) for name, of_layer in globs.items())


def check_layers(
    graph: LineageGraph,
    layers: Sequence[Layer],
    environment: str | None = None,
    dag: str | None = None,
    *,
    adjacent: bool = False,
) -> LayerCheck:
    """Return backward feeds; with `adjacent` also those that skip a layer.

    A dataset belongs to the first matching layer. Datasets without a layer are ignored.
    """
    layer_of: dict[str, int] = {}
    counts = {layer.name: 0 for layer in layers} | {"": 0}
    for each in graph.everything(environment, dag, DATASET_LABELS):
        if isinstance(each, Vertex):
            number = next((n for n, layer in enumerate(layers) if layer.holds(each)), None)
            counts[layers[number].name if number is not None else ""] += 1
            if number is not None:
                layer_of[each.id] = number
    broken = {
        (source, target)
        for source, target in graph.pairs(["feeds"], environment, dag)
        if source in layer_of
        and target in layer_of
        and (layer_of[target] < layer_of[source] or (adjacent and layer_of[target] > layer_of[source] + 1))
    }
    edges = [
        edge
        for edge in graph.edges_from(sorted({source for source, _ in broken}), ["feeds"], dag)
        if (edge.from_id, edge.to_id) in broken
    ]
    found = completed(graph, ends(edges), edges)
    breaches = tuple(
        LayerViolation(
            edge,
            layers[layer_of[edge.from_id]].name,
            layers[layer_of[edge.to_id]].name,
            layer_of[edge.to_id] > layer_of[edge.from_id],
        )
        for edge in found.edges
    )
    return LayerCheck(breaches, counts, found)
