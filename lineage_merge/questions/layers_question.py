"""The question `layers`: edges that violate a declared order of layers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.fields import JSON_ONLY, Counts, ElementId, Shown
from lineage_merge.questions.layers import Layer, LayerCheck, LayerViolation, check_layers, parse_layers
from lineage_merge.questions.lineage_questions import EdgeRow
from lineage_merge.questions.question import Parameter, Question
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph

if TYPE_CHECKING:
    from rich.console import RenderableType


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
    table: ClassVar[Mapping[str, str]] = {
        "from": "source",
        "from layer": "from_layer",
        "to": "target",
        "to layer": "to_layer_title",
        "job": "job",
        "DAG": "dag",
    }

    check: LayerCheck

    @property
    def datasets(self) -> Annotated[Counts, JSON_ONLY]:
        """The numbers of datasets by layer, "" for those without a layer."""
        return self.check.datasets

    @property
    def breaches(self) -> Annotated[tuple[BreachRow, ...], JSON_ONLY]:
        """The edges with their layers."""
        return tuple(
            BreachRow(edge.id, edge.from_id, edge.to_id, source, target, skipped)
            for edge, source, target, skipped in self.items
        )

    @property
    def items(self) -> Sequence[LayerViolation]:
        """The edges with their layers."""
        return self.check.breaches

    def row(self, item: LayerViolation) -> LayeredEdgeRow:
        """Return an edge with its layers."""
        edge, source, target, skipped = item
        return LayeredEdgeRow.of(self.graph, edge, from_layer=source, to_layer=target, skips=skipped)

    def tables(self) -> "Iterable[RenderableType]":
        """Return the numbers of datasets by layer, then the edges."""
        from rich.text import Text

        from lineage_merge.questions.formats.table import add_row, new_table

        counts = new_table("layer", "datasets", is_summary=True)
        for name, number in self.check.datasets.items():
            add_row(counts, name or "(none)", number)
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
