"""Feeds that break a declared order of layers, such as raw, staging, lake, mart."""

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.errors import ConfigError
from lineage_merge.query.elements import Edge, Subgraph, Vertex, name_parts
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.lineage import completed, ends


class Layer(NamedTuple):
    """A layer, and globs of which one is enough."""

    name: str
    globs: tuple[str, ...]

    def holds(self, dataset: Vertex) -> bool:
        """Whether the dataset's path or name, ``namespace|name`` or qualified name fits a glob."""
        _, namespace, name = name_parts(dataset.id)
        names = {dataset.title, f"{namespace}|{name}", name, dataset.properties.get("qualified_name", name)}
        return any(fnmatch.fnmatchcase(each, glob) for each in names for glob in self.globs)


class Breach(NamedTuple):
    """A feed from one layer to one that is before it, or with `skipped` not the next one."""

    edge: Edge
    source: str
    target: str
    skipped: bool


@dataclass(frozen=True, slots=True)
class Layering:
    """`breaches` in order of ids; `datasets`: how many each layer has, and "" how many none has."""

    breaches: tuple[Breach, ...]
    datasets: dict[str, int]
    subgraph: Subgraph


def parse_layers(pairs: Iterable[str]) -> tuple[Layer, ...]:
    """``raw=s3://*-raw/*``, first layer first; a name given again has one more glob. Raises `ConfigError`."""
    globs: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, glob = pair.partition("=")
        if not name or not equals or not glob:
            raise ConfigError("query.layers", f"{pair}: expected NAME=GLOB, such as raw=s3://*-raw/*")
        globs.setdefault(name, []).append(glob)
    return tuple(Layer(name, tuple(found)) for name, found in globs.items())


def layering(
    graph: LineageGraph,
    layers: Sequence[Layer],
    environment: str | None = None,
    dag: str | None = None,
    *,
    adjacent: bool = False,
) -> Layering:
    """The feeds that lead back; with `adjacent` also those that leave a layer out.

    A dataset is in the first layer that holds it. What is in none breaks no order.
    """
    place: dict[str, int] = {}
    counts = {layer.name: 0 for layer in layers} | {"": 0}
    for each in graph.everything(environment, dag, DATASET_LABELS):
        if isinstance(each, Vertex):
            number = next((n for n, layer in enumerate(layers) if layer.holds(each)), None)
            counts[layers[number].name if number is not None else ""] += 1
            if number is not None:
                place[each.id] = number
    broken = {
        (source, target)
        for source, target in graph.pairs(["feeds"], environment, dag)
        if source in place
        and target in place
        and (place[target] < place[source] or (adjacent and place[target] > place[source] + 1))
    }
    edges = [
        each
        for each in graph.edges_from(sorted({source for source, _ in broken}), ["feeds"], dag)
        if (each.from_id, each.to_id) in broken
    ]
    found = completed(graph, ends(edges), edges)
    breaches = tuple(
        Breach(
            each,
            layers[place[each.from_id]].name,
            layers[place[each.to_id]].name,
            place[each.to_id] > place[each.from_id],
        )
        for each in found.edges
    )
    return Layering(breaches, counts, found)
