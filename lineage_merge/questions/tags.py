"""The question `tags`: what carries tags along lineage, and where they stop."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from lineage_merge.graph_format.elements import COLUMN, Edge, Subgraph, Vertex, subgraph
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.errors import QueryError, did_you_mean
from lineage_merge.questions.fields import JSON_ONLY, Element, ElementId, Label, Shown, Tag
from lineage_merge.questions.names import check_scope
from lineage_merge.questions.question import (
    OPTIONAL_DATASET,
    DatasetName,
    Parameter,
    Question,
    TagName,
    ToolText,
)
from lineage_merge.questions.result import Renderables, RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.lineage import ends
from lineage_merge.questions.traversal.tag_propagation import Carrier, PropagatedTags, Stop, propagate

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(slots=True)
class TagCounts:
    """Numbers of elements that carry a tag, and at which it stops. Columns of a tagged dataset have it."""

    tag: Tag
    own_datasets: int = 0
    own_columns: int = 0
    inherited_datasets: int = 0
    inherited_columns: int = 0
    stops: int = 0


def counts(propagated: PropagatedTags) -> list[TagCounts]:
    """Return the numbers of each tag, by tag."""
    by_tag: dict[str, TagCounts] = {}
    for carrier in propagated.carriers:
        of_tag = by_tag.setdefault(carrier.tag, TagCounts(carrier.tag))
        is_column = propagated.vertices[carrier.id].label == COLUMN
        if carrier.own:
            of_tag.own_columns += is_column
            of_tag.own_datasets += not is_column
        else:
            of_tag.inherited_columns += is_column
            of_tag.inherited_datasets += not is_column
    for stop in propagated.stops:
        by_tag.setdefault(stop.tag, TagCounts(stop.tag)).stops += 1
    return [by_tag[tag] for tag in sorted(by_tag)]


def select_tags(propagated: PropagatedTags, of: Vertex | None = None, *, own: bool = False) -> PropagatedTags:
    """Return the carriers and stops of a dataset and its columns, or of a column.

    `own`: without inherited tags.
    """

    def is_selected(identifier: str) -> bool:
        return of is None or identifier == of.id or (of.is_dataset and dataset_of(identifier) == of.id)

    return replace(
        propagated,
        carriers=tuple(
            carrier for carrier in propagated.carriers if is_selected(carrier.id) and (carrier.own or not own)
        ),
        stops=() if own else tuple(stop for stop in propagated.stops if is_selected(stop.id)),
    )


def paths(propagated: PropagatedTags, of: Collection[Carrier | Stop]) -> Subgraph:
    """Return the elements of carriers and stops, and the edges of their paths, as a subgraph."""
    edges: dict[tuple[str, str], Edge] = {}
    for item in of:
        last = item.last
        # The same edge may end different paths of two tags.
        while last is not None and (item.tag, last.edge.id) not in edges:
            edges[item.tag, last.edge.id] = last.edge
            last = last.before
    ids = {item.id for item in of} | {item.origin for item in of} | ends(edges.values())
    known = (propagated.vertices[identifier] for identifier in ids if identifier in propagated.vertices)
    return subgraph(known, edges.values())


@dataclass(frozen=True, kw_only=True, repr=False)
class TagCountsResult(RowsResult):
    """The numbers of elements that carry each tag."""

    row_type = TagCounts
    rows_name = "tags"
    table = "tag, own_datasets, own_columns, inherited_datasets, inherited_columns, stops: stopped"

    of: Annotated[None, JSON_ONLY] = None
    tag: Annotated[None, JSON_ONLY] = None
    counts: Sequence[TagCounts] = ()

    @property
    def items(self) -> Sequence[TagCounts]:
        return self.counts


@dataclass(frozen=True, slots=True)
class TagRow:
    """A carrier of a tag, or a place where it stops; without `id`: numbers of a tag."""

    id: ElementId
    tag: Tag
    kind: Annotated[Label, Shown("own, inherited, by rows (through filters), or stopped", tool_name="how")]
    origin: ElementId
    reason: Label | None
    path: Annotated[tuple[str, ...], Shown(on=("frame",))]
    elements: Annotated[tuple[ElementId, ...], Shown("elements from the origin", name="path", on=("tool",))]


@dataclass(frozen=True, kw_only=True, repr=False)
class TagsResult(RowsResult):
    """What carries tags, and where they stop. `propagated`: all carriers, of which `chosen` is the answer."""

    row_type = TagRow

    of: Annotated[Element | None, Shown()] = None
    tag: Annotated[str | None, JSON_ONLY] = None
    propagated: PropagatedTags
    chosen: PropagatedTags

    @property
    def items(self) -> Sequence[Carrier | Stop]:
        """The carriers, then the stops."""
        return (*self.chosen.carriers, *self.chosen.stops)

    @property
    def tool_items(self) -> Sequence[Carrier | Stop]:
        """Carriers and stops, the nearest to the origin first: own tags have no path."""
        return sorted(self.items, key=lambda item: (len(item.path), item.tag, item.id))

    def row(self, item: Carrier | Stop) -> TagRow:
        """Return a carrier or stop; its path has the ids of edges."""
        path = item.path
        return TagRow(
            id=item.id,
            tag=item.tag,
            kind=item.carried if isinstance(item, Carrier) else "stopped",
            origin=item.origin,
            reason=item.reason if isinstance(item, Stop) else None,
            path=tuple(edge.id for edge in path),
            elements=(*(edge.from_id for edge in path[:1]), *(edge.to_id for edge in path)),
        )

    def fields(self) -> dict[str, Any]:
        return {
            "carriers": _as_json(self.chosen.carriers, "id", "tag", "own", "by_rows", "origin"),
            "stops": _as_json(self.chosen.stops, "id", "tag", "kind", "reason", "origin"),
        }

    def tables(self) -> Renderables:
        """Return a row per carrier, then a row per stop."""
        from lineage_merge.questions.formats.tag_tables import carrier_tables

        return carrier_tables(self.chosen)

    def lines(self) -> "Iterable[Text]":
        from lineage_merge.questions.formats.tag_tables import carrier_tree

        return carrier_tree(self.chosen, self.propagated)


def _as_json(items: Iterable[Carrier | Stop], *names: str) -> list[dict[str, Any]]:
    return [
        {**{name: getattr(item, name) for name in names}, "path": [edge.id for edge in item.path]}
        for item in items
    ]


@dataclass(frozen=True, slots=True)
class TagsQuestion(Question[TagsResult | TagCountsResult]):
    """List the tags of an environment, or what carries a tag, and from where.

    Tags pass from column to column downstream; a tag of a dataset counts for all its columns. They stop where
    `propagation` in the configuration says so. Without DATASET and --tag, tags are counted.
    """

    question = "tags"
    short_help = "List tags and what carries them along column lineage."
    examples = (
        "lineage-merge tags",
        "lineage-merge tags --tag pii",
        "lineage-merge tags dev.marts.customers --tag pii --format table",
        "lineage-merge tags s3://crm-raw/customers#email --json",
    )
    formats = ("tree", "table", "csv", "json", "svg")
    default_format = "tree"
    tool = ToolText(
        "Tags along lineage",
        "Where a tag such as pii is, also inherited along column lineage, and where it stops; without name "
        "and tag the numbers of all tags.",
    )

    name: Annotated[
        DatasetName | None,
        replace(OPTIONAL_DATASET, tool_help="dataset or column; default: all"),
    ] = None
    _: KW_ONLY
    tag: Annotated[
        TagName | None, Parameter("only this tag, with everything that carries it", metavar="TAG")
    ] = None
    own: Annotated[bool, Parameter("only own tags, without inherited ones")] = False

    def output_format(self, output_format: str) -> str:
        """Return a table in place of a tree of counts. Raises `QueryError` for their drawing."""
        if self.name or self.tag:
            return output_format
        if output_format == "svg":
            raise QueryError("--format svg needs DATASET or --tag")
        return "table" if output_format == "tree" else output_format

    def answer(self, graph: ScopedGraph) -> TagsResult | TagCountsResult:
        """Return what carries tags; without a dataset and tag, numbers by tag."""
        of = graph.dataset_or_column(self.name) if self.name else None
        tags = [self.tag] if self.tag else None
        propagated = propagate(graph.graph, tags, graph.config.propagation, graph.environment, graph.dag)
        chosen = select_tags(propagated, of, own=self.own)
        note = "" if chosen.carriers or chosen.stops else self._empty_note(graph, of)
        if not (self.name or self.tag):
            return TagCountsResult(
                question=self.question, scope=graph.scope, note=note, counts=counts(chosen)
            )
        return TagsResult(
            question=self.question,
            scope=graph.scope,
            graph=paths(propagated, [*chosen.carriers, *chosen.stops]),
            note=note,
            propagated=propagated,
            chosen=chosen,
            of=of,
            tag=self.tag,
        )

    def _empty_note(self, graph: ScopedGraph, of: Vertex | None) -> str:
        """Return the note of an empty answer. Raises `NotFound` if the environment or DAG is unknown."""
        if of is None and self.tag is None:
            return graph.empty_note("no tags")
        check_scope(graph.graph, graph.environment, graph.dag)
        if of is not None:
            carries = "carries no tag" if self.tag is None else f"does not carry the tag {self.tag}"
            return f"{of.title} {carries}"
        tagged = graph.graph.find_tagged((*DATASET_LABELS, COLUMN), graph.environment, graph.dag)
        known = {name for vertex in tagged for name in vertex.properties["tags"]}
        where = f" of DAG {graph.dag}" if graph.dag else ""
        return f"no dataset or column{where} has the tag {self.tag}{did_you_mean(str(self.tag), known)}"
