"""The question `why`: the nearest causes of late or wrong data."""

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import groupby
from typing import Annotated

from lineage_merge.graph_format.elements import Vertex, subgraph
from lineage_merge.model.counts import format_count
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.questions.fields import (
    JSON_ONLY,
    NOT_FOR_TOOLS,
    Cell,
    Counts,
    Element,
    ElementId,
    Label,
    Shown,
    Text,
    Time,
    row_of,
)
from lineage_merge.questions.formats.describe import one_line, truncate
from lineage_merge.questions.question import (
    DATASET,
    DEPTH,
    OLDER_THAN,
    Age,
    DatasetName,
    Parameter,
    Question,
    ToolText,
    age_ms,
    now_ms,
)
from lineage_merge.questions.result import Renderables, RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.causes import (
    Cause,
    Diagnosis,
    FindChanges,
    Kind,
    RecentChange,
    diagnose,
)
from lineage_merge.questions.traversal.staleness import Expectations

# Datasets of a path that is shown in full.
_SHORT_PATH = 4


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A cause of late or wrong data; `next`: a command that shows more."""

    kind: Kind
    distance: int
    dataset: ElementId
    element: Element
    evidence: Text
    at: Time | None
    status: Label | None
    failures: int | None
    other: Annotated[ElementId | None, Shown("the dataset that was updated later or earlier")]
    other_at: Annotated[Time | None, NOT_FOR_TOOLS]
    path: tuple[ElementId, ...]
    next: Annotated[str, NOT_FOR_TOOLS]
    cause: Cell
    title: Cell
    titles: Cell


@dataclass(frozen=True, kw_only=True, repr=False)
class CausesResult(RowsResult):
    """The nearest causes why the data of `start` may be late or wrong.

    `changes_error`: why recent changes are unknown, although there is a history; `note` has its message.
    """

    row_type = CauseRow
    rows_name = "causes"
    table = "cause, title: dataset, distance, evidence, at, titles: path, next"

    start: Annotated[Element, Shown(name="of")]
    depth: Annotated[int | None, JSON_ONLY] = None
    now: Annotated[Time, JSON_ONLY]
    older_than_ms: Annotated[int | None, JSON_ONLY] = None
    diagnosis: Diagnosis
    changes_error: LineageMergeError | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes, the nearest first."""
        return self.diagnosis.causes

    @property
    def checked(self) -> Annotated[Counts, JSON_ONLY]:
        return self.diagnosis.counts

    def row(self, item: Cause) -> CauseRow:
        title = self.diagnosis.situation.title
        return row_of(
            CauseRow,
            item.finding,
            kind=item.kind,
            distance=item.distance,
            dataset=item.dataset,
            status=item.finding.status or None,
            path=item.path,
            next=self._command(item),
            cause=item.kind.replace("_", " "),
            title=title(item.dataset),
            titles=" → ".join(map(title, item.path)),
        )

    def note_with(self, message_of: Callable[[LineageMergeError], str]) -> str:
        """Return the note with another message of `changes_error`."""
        problem = message_of(self.changes_error) if self.changes_error else ""
        return _note(self.start, self.diagnosis, problem)

    def tables(self) -> Renderables:
        """Return a paragraph per dataset and kind of cause, then what was checked."""
        from rich.text import Text as Line

        if self.causes:
            title = f"why {self.start.title} may be late or wrong, nearest causes first:"
            yield Line(one_line(title), style="bold")
        groups = groupby(self.causes, key=lambda cause: (cause.kind, cause.dataset))
        for number, (_, causes) in enumerate(groups, 1):
            yield Line()
            yield from map(Line, self._paragraph(number, list(causes)))
        if self.causes:
            yield Line()
        yield Line(f"checked: {_describe_checked(self.checked)}")

    def _paragraph(self, number: int, causes: Sequence[Cause]) -> Iterator[str]:
        title, first = self.diagnosis.situation.title, causes[0]
        kind = first.kind.replace("_", " ") + ("s" if len(causes) > 1 else "")
        where = "at the dataset itself" if first.distance == 0 else f"distance {first.distance}"
        yield one_line(f"{number}. {kind}: {title(first.dataset)} ({where})")
        for cause in causes:
            yield f"   {truncate(one_line(cause.finding.evidence), 300)}"
        if first.distance:
            titles = [title(dataset) for dataset in first.path]
            if len(titles) > _SHORT_PATH:
                titles = [*titles[:2], f"({len(titles) - 3} more)", titles[-1]]
            yield f"   path: {one_line(' → '.join(titles))}"
        for command in dict.fromkeys(map(self._command, causes)):
            yield f"   {command}"

    def _command(self, cause: Cause) -> str:
        """Return the command that shows more of a cause, quoted for a shell."""
        scope = ("--environment", self.scope.environment) if self.scope.environment else ()
        return one_line(shlex.join(["lineage-merge", *cause.finding.next, *scope]))


@dataclass(frozen=True, slots=True)
class WhyQuestion(Question[CausesResult]):
    """Find the nearest causes, at a dataset and upstream of it, why its data may be late or wrong.

    Causes are failed, skipped and missing runs, writes that later runs did not report, stale sources, inputs
    that were updated after the dataset, and failed tests; with a history also what recent merges changed. For
    a column: at the datasets of the columns from which it is computed.
    """

    question = "why"
    short_help = "Find upstream causes of late or wrong data."
    examples = (
        "lineage-merge why top_events_by_sales",
        "lineage-merge why top_events_by_sales#total_sales --json",
        "lineage-merge why dev.public.sales --older-than 1d --depth 3",
    )
    formats = ("table", "csv", "json")
    tool = ToolText(
        "Why data is late or wrong",
        "The nearest upstream causes of late or wrong data in a dataset or column: failed, skipped or "
        "missing runs, failed tests, stale sources.",
        has_past=False,
    )

    name: Annotated[DatasetName, DATASET]
    _: KW_ONLY
    older_than: Annotated[Age | None, OLDER_THAN] = None
    depth: Annotated[int | None, DEPTH] = None
    changes_since: Annotated[
        Age | None,
        Parameter(
            "age of merges whose changes are causes, with a history", metavar="DURATION", on=("command",)
        ),
    ] = "7d"
    now: int | None = None

    def answer(self, graph: ScopedGraph) -> CausesResult:
        now = now_ms() if self.now is None else self.now
        older_than_ms = age_ms(self.older_than)
        period = age_ms(self.changes_since, "changes_since")
        start = graph.dataset_or_column(self.name)
        errors: list[LineageMergeError] = []
        diagnosis = diagnose(
            graph.graph,
            start,
            Expectations(now, older_than_ms, graph.config.policies),
            depth=self.depth,
            dag=graph.dag,
            find_changes=_find_changes(graph, start.environment, now, period, errors),
        )
        known = diagnosis.situation.upstream.datasets
        vertices = [cause.finding.element for cause in diagnosis.causes]
        vertices += [
            known[dataset] for cause in diagnosis.causes for dataset in cause.path if dataset in known
        ]
        return CausesResult(
            question=self.question,
            scope=graph.scope,
            graph=subgraph(vertices),
            note=_note(start, diagnosis, errors[0].message if errors else ""),
            start=start,
            now=now,
            diagnosis=diagnosis,
            depth=self.depth,
            older_than_ms=older_than_ms,
            changes_error=errors[0] if errors else None,
        )


def _note(start: Vertex, diagnosis: Diagnosis, changes_problem: str = "") -> str:
    """Return the note of an answer about causes. `changes_problem`: why recent changes are unknown."""
    lines = [f"note: recent changes are unknown: {changes_problem}"] if changes_problem else []
    return "\n".join([*lines, *([] if diagnosis.causes else [f"{start.title}: no cause found"])])


def _find_changes(
    graph: ScopedGraph, environment: str, now: int, period: int | None, errors: list[LineageMergeError]
) -> FindChanges | None:
    """Return the search for changes in the history; None without one. It adds to `errors`."""
    location = graph.history
    if period is None or not location:
        return None
    # As of a moment: until the newest merge of then.
    until = max((merge.record.name.time for merge in graph.scope.merges), default=now)

    def find(datasets: Collection[str]) -> Mapping[str, Sequence[RecentChange]]:
        from lineage_merge.questions.past import recent_changes

        try:
            return recent_changes(location, environment, datasets, until - period, until)
        except LineageMergeError as error:
            errors.append(error)
            return {}

    return find


def _describe_checked(counts: Mapping[str, int]) -> str:
    """Return the numbers of what was checked, and of what has no known run or result."""
    datasets = f"{format_count(counts['datasets'], 'dataset')} up to distance {counts['max_distance']}"
    parts = (
        datasets + _describe_missing(counts["datasets_without_known_update"], "a known update"),
        format_count(counts["jobs"], "job")
        + _describe_missing(counts["jobs_without_known_run"], "a known run"),
        format_count(counts["tests"], "test"),
        format_count(counts["freshness_checks"], "freshness check"),
    )
    missing = counts["assertions_without_result"]
    return ", ".join(parts) + (
        f"; {format_count(missing, 'test or check')} without a result" if missing else ""
    )


def _describe_missing(number: int, noun: str) -> str:
    return f" ({number:,} without {noun})" if number else ""
