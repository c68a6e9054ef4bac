"""The questions `merges` and `history`: merges of a history, and what they changed of an element."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from lineage_merge.questions.fields import (
    NOT_FOR_TOOLS,
    Element,
    Name,
    Shown,
    Text,
    Time,
    row_as_json,
    row_of,
)
from lineage_merge.questions.question import ElementName, Parameter, Question, ToolText
from lineage_merge.questions.result import NoGraphResult, Renderables
from lineage_merge.questions.scoped_graph import GraphScope, ScopedGraph

if TYPE_CHECKING:
    from lineage_merge.history.pictures import ScopedMerge
    from lineage_merge.history.timeline import TimelineEvent

_LIMIT = Parameter("maximum number of results", "all", metavar="N", on=("command",))
_SPARSE = Shown(is_sparse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfMerge:
    """A row with its merge."""

    environment: Name
    dag: Name
    merge: str
    at: Annotated[Time, Shown(on=("frame", "tool"))]
    time: Annotated[str, Shown(on=("json", "table"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRow(_OfMerge):
    """A merge."""

    kind: Annotated[str, NOT_FOR_TOOLS]
    added: int
    changed: int
    retired: int
    vertices: Annotated[int, NOT_FOR_TOOLS]
    edges: Annotated[int, NOT_FOR_TOOLS]
    run_id: Annotated[str, NOT_FOR_TOOLS]
    logical_date: Annotated[str, NOT_FOR_TOOLS]
    version: Annotated[str, NOT_FOR_TOOLS]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow(_OfMerge):
    """What a merge changed of an element."""

    event: str
    what: Annotated[Text | None, _SPARSE]
    name: Annotated[Text | None, _SPARSE]
    before: Annotated[Text | None, _SPARSE]
    after: Annotated[Text | None, _SPARSE]


@dataclass(frozen=True, kw_only=True, repr=False)
class MergesResult(NoGraphResult):
    """The merges of a history, newest first."""

    row_type = MergeRow
    rows_name = "merges"
    table = "time, merge, environment, dag: DAG, kind, added, changed, retired, run_id: run"
    optional = ("run",)

    merges: "tuple[ScopedMerge, ...]" = ()

    def row(self, item: "ScopedMerge") -> MergeRow:
        return row_of(MergeRow, item.record, **_merge(item))


@dataclass(frozen=True, kw_only=True, repr=False)
class TimelineResult(NoGraphResult):
    """What merges changed of `element`. `events`: oldest first; the rows are newest first."""

    row_type = EventRow
    table = "time, merge, dag: DAG, event, what, name, before, after"

    element: Annotated[Element, Shown(name="of")]
    events: "tuple[TimelineEvent, ...]" = ()

    @property
    def items(self) -> "tuple[TimelineEvent, ...]":
        """The events, newest first."""
        return self.events[::-1]

    def row(self, item: "TimelineEvent") -> EventRow:
        return EventRow(
            **_merge(item.merge),
            event=item.kind,
            what=item.what or None,
            name=item.name or None,
            before=item.before or None,
            after=item.after or None,
        )

    def fields(self) -> dict[str, Any]:
        """Return the events, newest first."""
        return {"events": [row_as_json(self.row(event)) for event in self.items]}

    def tables(self) -> Renderables:
        """Return a row per event, with its text."""
        from lineage_merge.questions.formats.table import AnswerTable

        table = AnswerTable("time", "merge", "DAG", self.element.title)
        for event in self.items:
            row = self.row(event)
            table.add(row.time, row.merge, row.dag, str(event))
        return [table]


@dataclass(frozen=True, slots=True)
class MergesQuestion(Question[MergesResult]):
    """Return the merges of the environment or DAG, newest first, with what each changed."""

    question = "merges"

    _: KW_ONLY
    limit: Annotated[int | None, _LIMIT] = None

    def answer(self, graph: ScopedGraph) -> MergesResult:
        from lineage_merge.history.timeline import merges_of

        scope = GraphScope(graph.environment, graph.dag)
        merges = merges_of(graph.require_history(), scope.environment, scope.dag)[::-1][: self.limit]
        return MergesResult(question="history", scope=scope, merges=tuple(merges))


@dataclass(frozen=True, slots=True)
class TimelineQuestion(Question[TimelineResult]):
    """Return when a dataset, column or job appeared, changed and was removed, and by which merge.

    The name may be one that the lineage had. `limit`: the newest events.
    """

    question = "history"

    name: str
    _: KW_ONLY
    limit: Annotated[int | None, _LIMIT] = None

    def answer(self, graph: ScopedGraph) -> TimelineResult:
        from lineage_merge.history.timeline import merges_of, timeline
        from lineage_merge.questions.past import resolve_past

        location, scope = graph.require_history(), GraphScope(graph.environment, graph.dag)
        merges = merges_of(location, scope.environment)
        element = resolve_past(location, self.name, merges, scope.environment, scope.dag)
        events = timeline(location, element, merges)
        shown = events[-self.limit :] if self.limit else events
        return TimelineResult(question=self.question, scope=scope, element=element, events=tuple(shown))


@dataclass(frozen=True, slots=True)
class HistoryQuestion(Question[MergesResult | TimelineResult]):
    """Return merges or, of an element, what they changed: the question of the command and the tool."""

    question = "history"
    tool = ToolText(
        "History of an element or of merges",
        "When an element appeared, changed or was removed, and by which merge; without name the merges. "
        "Needs a history.",
        has_past=False,
        reads_graph=False,
    )

    name: Annotated[
        ElementName | None,
        Parameter(
            "element, also a removed one; default: merges",
            metavar="[DATASET[#COLUMN]|JOB|compact]",
            is_argument=True,
        ),
    ] = None
    _: KW_ONLY
    limit: Annotated[int | None, _LIMIT] = None

    def answer(self, graph: ScopedGraph) -> MergesResult | TimelineResult:
        if self.name:
            return TimelineQuestion(self.name, limit=self.limit).answer(graph)
        return MergesQuestion(limit=self.limit).answer(graph)


def _merge(merge: "ScopedMerge") -> dict[str, Any]:
    """Return the fields of the merge in each row."""
    return {**merge.as_json(), "at": merge.record.name.time}
