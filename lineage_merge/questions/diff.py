"""The question `diff`: what was added, removed and changed between two moments."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol

from lineage_merge.graph_format.comparison import Action
from lineage_merge.graph_format.elements import JOB, Edge, Subgraph, subgraph
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.errors import NotFound, QueryError
from lineage_merge.questions.fields import NOT_FOR_TOOLS, Label, Name, Shown, Text
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.names import resolve_dataset_or_column
from lineage_merge.questions.question import DatasetName, MomentText, Parameter, Question, ToolText
from lineage_merge.questions.result import NoGraphResult, Renderables
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.lineage_changes import (
    Change,
    Difference,
    Kind,
    Limit,
    compare_pictures,
    counts,
    neighbors_of,
)

if TYPE_CHECKING:
    from lineage_merge.history.pictures import ScopedMerge
    from lineage_merge.questions.past import AsOf

_EDGES = {"feed": "feeds", "expression": "feeds_column"}


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A changed property, or an element that was added or removed."""

    kind: Kind
    action: Action
    id: Name
    source: Annotated[
        Name | None,
        Shown("of an edge: where it begins; id is its end", name="from", tool_name="source"),
    ]
    title: Annotated[Text, NOT_FOR_TOOLS]
    property: Label | None
    before: Text | None
    after: Text | None


class Picture(Protocol):
    """Lineage that is compared: as of a moment with its merges (`AsOf`), or of a run."""

    @property
    def moment(self) -> object: ...
    @property
    def merges(self) -> "tuple[ScopedMerge, ...]": ...
    @property
    def graph(self) -> LineageGraph: ...


class RunPicture(NamedTuple):
    """The lineage of a run, whose name is the `moment`."""

    moment: str
    graph: LineageGraph
    merges: "tuple[ScopedMerge, ...]" = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class ChangesResult(NoGraphResult):
    """What was added, removed and changed between two moments."""

    row_type = ChangeRow
    table = "kind, action, title: element, property, before, after, source: from, id"

    before: Picture
    after: Picture
    changes: tuple[Change, ...] = ()
    upstream_of: str | None = None
    downstream_of: str | None = None

    @property
    def start(self) -> Annotated[str, Shown(on=("tool",))]:
        """The earlier moment."""
        return str(self.before.moment)

    @property
    def end(self) -> Annotated[str, Shown(on=("tool",))]:
        """The later moment."""
        return str(self.after.moment)

    @property
    def title(self) -> str:
        """The moments as text."""
        return f"from {self.start} to {self.end}"

    @property
    def items(self) -> list[tuple[Change, Difference | None]]:
        """The changes, each once per property that differs."""
        return [
            (change, difference) for change in self.changes for difference in change.differences or (None,)
        ]

    def row(self, item: tuple[Change, Difference | None]) -> ChangeRow:
        """Return a changed property, or a change without one."""
        change, difference = item
        values = difference or (None, None, None)
        return ChangeRow(change.kind, change.action, change.id, change.source or None, change.title, *values)

    def parameters(self) -> dict[str, Any]:
        """Return the moments with their merges, and the limit."""
        moments = {
            name: {"moment": str(picture.moment), "merges": [merge.as_json() for merge in picture.merges]}
            for name, picture in (("from", self.before), ("to", self.after))
        }
        return {**moments, "upstream_of": self.upstream_of, "downstream_of": self.downstream_of}

    def fields(self) -> dict[str, Any]:
        """Return the numbers of changes, and the changes."""
        return {"counts": counts(self.changes), "changes": [change.as_json() for change in self.changes]}

    def to_markdown(self) -> str:
        """Return the changes as Markdown: a table of numbers, then a list per kind."""
        from lineage_merge.questions.formats.change_tables import markdown

        return markdown(self.changes, self.title)

    def to_svg(self) -> str:
        """Return the changed elements, and what is between them, as an SVG drawing."""
        from lineage_merge.questions.formats.svg import svg

        graph, marks = make_changed_subgraph(self.changes, self.before.graph, self.after.graph)
        return svg(graph, f"changes {self.title}", marks=marks)

    def tables(self) -> Renderables:
        """Return the numbers of changes, then a table per kind."""
        from lineage_merge.questions.formats.change_tables import change_tables

        return change_tables(self.changes, self.title)


def _make_limit(limit: str) -> Parameter:
    return Parameter(f"{limit}, at either moment", metavar="DATASET[#COLUMN]", tool_help=limit)


@dataclass(frozen=True, slots=True)
class DiffQuestion(Question[ChangesResult]):
    """Return what was added, removed and changed between two moments, as the history has it.

    Moments are ``now``, a date, a time, an age (``3d``) or the id of a merge.
    """

    question = "diff"
    tool = ToolText(
        "What changed between two moments",
        "Lineage that was added, removed or changed between two moments. Needs a history.",
        has_past=False,
        reads_graph=False,
    )

    start: Annotated[
        MomentText, Parameter("earlier: now, a date, time, age (3d) or merge", metavar="TIME", flag="--from")
    ]
    end: Annotated[MomentText, Parameter("later moment", "now", metavar="TIME", flag="--to")] = "now"
    _: KW_ONLY
    upstream_of: Annotated[DatasetName | None, _make_limit("only what feeds it")] = None
    downstream_of: Annotated[DatasetName | None, _make_limit("only what it feeds")] = None

    def check(self, flag: Callable[[str], str]) -> None:
        """Raise `QueryError` for two directions."""
        if self.upstream_of and self.downstream_of:
            raise QueryError(f"{flag('upstream_of')} and {flag('downstream_of')} are mutually exclusive")

    def answer(self, graph: ScopedGraph) -> ChangesResult:
        """Return the changes of all lineage, or up- or downstream of a dataset or column."""
        return self.compare(graph, *_pictures(graph, ((self.start, "--from"), (self.end, "--to"))))

    def compare(self, graph: ScopedGraph, before: Picture, after: Picture) -> ChangesResult:
        """Return the changes from one picture to the other."""
        scope = graph.scope._replace(as_of=None, merges=())
        limit = self._limit(graph, before, after)
        changes = compare_pictures(before.graph, after.graph, scope.environment, scope.dag, limit)
        return ChangesResult(
            question=self.question,
            scope=scope,
            note="" if changes else f"no changes from {before.moment} to {after.moment}",
            before=before,
            after=after,
            changes=tuple(changes),
            upstream_of=self.upstream_of,
            downstream_of=self.downstream_of,
        )

    def _limit(self, graph: ScopedGraph, before: Picture, after: Picture) -> Limit | None:
        """Return the datasets upstream or downstream of one, which only one of the moments may have."""

        name = self.upstream_of or self.downstream_of
        if not name:
            return None
        try:
            start = resolve_dataset_or_column(after.graph, name, graph.environment, graph.dag)
        except NotFound:
            start = resolve_dataset_or_column(before.graph, name, graph.environment, graph.dag)
        direction: Literal["up", "down"] = "up" if self.upstream_of else "down"
        return neighbors_of(start, (before.graph, after.graph), direction, graph.dag)


def picture_at(graph: ScopedGraph, moment: str, option: str) -> "AsOf":
    """Return the lineage as of a moment of the history. Raises `ConfigError`, `NotFound`."""
    return next(_pictures(graph, ((moment, option),)))


def _pictures(graph: ScopedGraph, moments: Iterable[tuple[str, str]]) -> "Iterator[AsOf]":
    """Return the lineage as of moments, each with its option. All are parsed before the history is read."""
    from lineage_merge.history.moments import parse_moment
    from lineage_merge.questions.past import as_of

    location = graph.require_history()
    parsed = [parse_moment(text, option=option) for text, option in moments]
    return (as_of(location, moment, graph.environment, graph.on_progress) for moment in parsed)


def make_changed_subgraph(
    changes: Iterable[Change], before: LineageGraph, after: LineageGraph
) -> tuple[Subgraph, dict[str, Action]]:
    """Return the changed elements with unchanged feeds and writes between them, and the actions by id."""
    marks: dict[str, Action] = {}
    ids: set[str] = set()
    edges: list[Edge] = []
    for change in changes:
        if change.source:
            edge = _edge(change)
            edges.append(edge)
            marks[edge.id] = change.action
            ends = {change.source, change.id}
        else:
            marks[change.id] = change.action
            ends = {change.id}
        ids |= ends if change.kind not in ("column", "expression") else ends | set(map(dataset_of, ends))
    vertices = list(after.vertices(sorted(ids)))
    vertices += before.vertices(sorted(ids - {vertex.id for vertex in vertices}))
    changed = {(edge.from_id, edge.to_id) for edge in edges}
    starts = sorted(vertex.id for vertex in vertices if vertex.label in (JOB, *DATASET_LABELS))
    unchanged = after.edges_from(starts, ["feeds", "writes"])
    edges += [edge for edge in unchanged if (edge.from_id, edge.to_id) not in changed]
    return subgraph(vertices, edges), marks


def _edge(change: Change) -> Edge:
    """Return the edge of a change, with the newest values of what differs."""
    values = {name: after or before for name, before, after in change.differences}
    if "job" in values:
        values["job_name"] = values.pop("job")
    identifier = f"{change.kind} {change.source} {change.id}"
    return Edge(identifier, _EDGES[change.kind], change.source, change.id, values)
