"""The question `layers`: feeds that violate a declared order of layers, such as raw, staging, lake, mart."""

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, NamedTuple

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, name_parts
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.fields import JSON_ONLY, Counts, ElementId, Shown
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.lineage import EdgeRow
from lineage_merge.questions.question import Parameter, Question
from lineage_merge.questions.result import Renderables, RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.lineage import complete_subgraph, ends


class Layer(NamedTuple):
    """A layer with globs; a dataset matches any of them."""

    name: str
    globs: tuple[str, ...]

    def holds(self, dataset: Vertex) -> bool:
        """Whether a glob matches the dataset's path or name, ``namespace|name`` or qualified name."""
        _, namespace, name = name_parts(dataset.id)
        names = {dataset.title, f"{namespace}|{name}", name, dataset.properties.get("qualified_name", name)}
        return any(fnmatch.fnmatchcase(name, glob) for name in names for glob in self.globs)


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
    for element in graph.everything(environment, dag, DATASET_LABELS):
        if isinstance(element, Vertex):
            number = next((n for n, layer in enumerate(layers) if layer.holds(element)), None)
            counts[layers[number].name if number is not None else ""] += 1
            if number is not None:
                layer_of[element.id] = number
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
    subgraph = complete_subgraph(graph, ends(edges), edges)
    breaches = tuple(
        LayerViolation(
            edge,
            layers[layer_of[edge.from_id]].name,
            layers[layer_of[edge.to_id]].name,
            layer_of[edge.to_id] > layer_of[edge.from_id],
        )
        for edge in subgraph.edges
    )
    return LayerCheck(breaches, counts, subgraph)


@dataclass(frozen=True, slots=True)
class BreachRow:
    """A feed that violates the order."""

    edge: str
    source: Annotated[ElementId, Shown(name="from")]
    target: Annotated[ElementId, Shown(name="to")]
    from_layer: str
    to_layer: str
    skips: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredEdgeRow(EdgeRow):
    """A feed that violates the order, with what it does."""

    from_layer: str
    to_layer: str
    skips: bool

    @property
    def to_layer_title(self) -> str:
        """The layer of the target for people."""
        return f"{self.to_layer} (skips)" if self.skips else self.to_layer


@dataclass(frozen=True, kw_only=True, repr=False)
class LayersResult(RowsResult):
    """Edges that violate an order of layers."""

    row_type = LayeredEdgeRow
    table = "source: from, from_layer, target: to, to_layer_title: to layer, job, dag: DAG, declared"
    optional = ("declared",)

    check: LayerCheck

    @property
    def datasets(self) -> Annotated[Counts, JSON_ONLY]:
        """The numbers of datasets by layer, "" for those without a layer."""
        return self.check.datasets

    @property
    def breaches(self) -> Annotated[tuple[BreachRow, ...], JSON_ONLY]:
        return tuple(
            BreachRow(edge.id, edge.from_id, edge.to_id, source, target, skipped)
            for edge, source, target, skipped in self.items
        )

    @property
    def items(self) -> Sequence[LayerViolation]:
        return self.check.breaches

    def row(self, item: LayerViolation) -> LayeredEdgeRow:
        edge, source, target, skipped = item
        return LayeredEdgeRow.from_edge(self.graph, edge, from_layer=source, to_layer=target, skips=skipped)

    def tables(self) -> Renderables:
        """Return the numbers of datasets by layer, then the edges."""
        from rich.text import Text

        from lineage_merge.questions.formats.table import AnswerTable

        counts = AnswerTable("layer", "datasets", is_summary=True)
        for name, number in self.check.datasets.items():
            counts.add(name or "(none)", number)
        return [counts, *([Text()] if self.items else []), *self.csv_tables()]


@dataclass(frozen=True, slots=True)
class LayersQuestion(Question[LayersResult]):
    """List edges that violate a declared order of layers, such as raw, staging, lake, mart.

    A dataset belongs to the first layer with a glob that matches its path, its name or namespace|name.
    Datasets without a layer are ignored.
    """

    question = "layers"
    short_help = "List edges that violate a declared order of layers."
    examples = (
        "lineage-merge layers --layer 'raw=s3://*-raw/*' --layer 'mart=*_marts.*'",
        "lineage-merge layers --config lineage_merge.yml --adjacent --json",
    )

    layers: Annotated[
        Iterable[Layer | str],
        Parameter(
            "layer, in order of the data flow; repeat a name to add globs",
            "query.layers",
            metavar="NAME=GLOB",
            flag="--layer",
        ),
    ] = ()
    _: KW_ONLY
    adjacent: Annotated[bool, Parameter("report edges that skip a layer, too")] = False

    def answer(self, graph: ScopedGraph) -> LayersResult:
        """Return the edges. Raises `ConfigError` without two layers."""
        configured = tuple(Layer(name, globs) for name, globs in graph.config.query.layers.items())
        layers = parse_layers(self.layers) or configured
        if len(layers) < 2:
            raise ConfigError(
                "query.layers", "at least two layers are required: set them here or with --layer"
            )
        check = check_layers(graph.graph, layers, graph.environment, graph.dag, adjacent=self.adjacent)
        return LayersResult(
            question=self.question,
            scope=graph.scope,
            graph=check.subgraph,
            note="" if check.breaches else "no edge violates the order",
            check=check,
        )
