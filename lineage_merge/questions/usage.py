"""The question `usage`: how often and when last statements read datasets and columns, and what is unused."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from lineage_merge.graph_format.elements import COLUMN, Vertex, column_order, subgraph
from lineage_merge.graph_format.schema import DATASET_LABELS, SEMANTIC_LABELS
from lineage_merge.model.counts import format_count, format_counts
from lineage_merge.model.times import duration_text, utc_date
from lineage_merge.questions.fields import (
    NOT_FOR_TOOLS,
    Cell,
    Counts,
    Duration,
    Element,
    ElementId,
    Label,
    Shown,
    Text,
    Time,
)
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.question import (
    LIMIT,
    UNUSED_FOR,
    Age,
    DatasetName,
    Parameter,
    Question,
    ToolText,
    age_ms,
)
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.usage import QUERY_LOG, Usage, lookback_fix, query_log_of, usages

NOT_OBSERVED = "usage is unknown: no query log covers it. Fix: merge the source query_log"
_NOTHING_UNUSED = "nothing is unused"
# Statements read no dashboard and no metric.
_READ_LABELS = tuple(label for label in DATASET_LABELS if label not in ("exposure", *SEMANTIC_LABELS))


@dataclass(frozen=True, slots=True)
class UsageRow:
    """A dataset or column with the reads by statements of its warehouse."""

    element: Annotated[Element, Shown(name="id")]
    title: Annotated[Text, NOT_FOR_TOOLS]
    reads: Annotated[int | None, Shown("statements in the observed time; empty: not observed")]
    last_read: Annotated[Time | None, Shown("also of views that read it")]
    through: Annotated[ElementId | None, Shown("the view or structure by which it was last read")]
    readers: Annotated[tuple[Label, ...], Shown("hashes or groups of users, if they are merged")]
    observed_from: Time | None
    observed_until: Time | None
    status: Annotated[Label | None, Shown("with unused_for: used, unused or unknown", is_sparse=True)]
    reason: Annotated[Text | None, Shown("of this status", is_sparse=True)]
    observed: Cell


def usage_row(usage: Usage, unused_for: int | None = None) -> UsageRow:
    """Return the row of a dataset or column; with a duration in ms, whether it is unused for so long."""
    verdict = None if unused_for is None else usage.verdict(unused_for)
    return UsageRow(
        usage.element,
        usage.element.title,
        usage.reads,
        usage.last_read,
        usage.read_through.id if usage.read_through else None,
        usage.readers,
        usage.observed_from,
        usage.observed_until,
        verdict and verdict.status,
        verdict and verdict.reason,
        _describe_observed(usage),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class UsageResult(RowsResult):
    """Datasets or columns, most read first; `assessed`: also those not in `usages`."""

    row_type = UsageRow
    rows_name = "usages"
    table = "title: name, reads, last_read: last read, through, readers, observed, status, reason"
    optional = ("through", "readers", "status", "reason")

    start: Annotated[Element | None, Shown(name="of")] = None
    unused_for: Annotated[Duration | None, Shown("as asked")] = None
    usages: tuple[Usage, ...] = ()
    assessed: tuple[Usage, ...] = ()
    of_start: Usage | None = None

    @property
    def counts(self) -> Annotated[Counts, Shown("of unused_for: elements by status")]:
        """The numbers of all assessed datasets or columns by status."""
        return Counter() if self.unused_for is None else statuses(self.assessed, self.unused_for)

    def row(self, item: Usage) -> UsageRow:
        return usage_row(item, self.unused_for)

    def summary(self) -> Iterator[str]:
        """Yield the usage of the dataset whose columns are listed, and the numbers by status."""
        if self.of_start:
            yield f"{self.of_start.element.title}: {self.of_start.text}"
        if self.unused_for is not None:
            reasons = {
                verdict.reason
                for usage in self.assessed
                if (verdict := usage.verdict(self.unused_for)).status == "unknown"
            }
            why = f" ({', '.join(sorted(reasons))})" if reasons else ""
            yield f"in {duration_text(self.unused_for)}: {format_counts(self.counts)}{why}"
            if fix := lookback_fix(self.assessed, self.unused_for):
                yield fix
        elif not self.start and (observed := [usage for usage in self.assessed if usage.is_observed]):
            number = sum(not usage.is_read for usage in observed)
            yield f"not read in the observed time: {number} of {format_count(len(observed), 'dataset')}"


def _describe_observed(usage: Usage) -> str:
    if usage.observed_from is None or usage.observed_until is None:
        return "no"
    length = duration_text(usage.observed_until - usage.observed_from)
    return f"{length}, until {utc_date(usage.observed_until)}"


def statuses(assessed: Iterable[Usage], duration_ms: int) -> Counter[str]:
    """Return the numbers of unused, unknown and used elements."""
    counts = Counter(usage.verdict(duration_ms).status for usage in assessed)
    return Counter({status: counts[status] for status in ("unused", "unknown", "used")})


def make_unused_result(
    question: str, graph: ScopedGraph, datasets: Iterable[Vertex], unused_for: int, note: str
) -> UsageResult:
    """Return those of the datasets that are unused, then those of unknown usage. `note`: without datasets."""
    assessed = tuple(usages(graph.graph, datasets).values())
    by_status: dict[str, list[Usage]] = {"unused": [], "unknown": [], "used": []}
    for usage in assessed:
        by_status[usage.verdict(unused_for).status].append(usage)
    shown = (*by_status["unused"], *by_status["unknown"])
    return UsageResult(
        question=question,
        scope=graph.scope,
        graph=subgraph(usage.element for usage in shown),
        note=note or ("" if shown else _NOTHING_UNUSED),
        unused_for=unused_for,
        usages=shown,
        assessed=assessed,
    )


@dataclass(frozen=True, slots=True)
class UsageQuestion(Question[UsageResult]):
    """List the datasets, or the columns of one, by how many statements read them, with the last read.

    The reads are those in the query log of the warehouse. What no query log covers is not observed, such as
    files: its usage is unknown. With --unused-for, only what no statement read for so long, itself or through
    a view; if it is not observed that long, its usage is unknown, too.
    """

    question = "usage"
    short_help = "List datasets or columns by reads, and what is unused."
    examples = (
        "lineage-merge usage",
        "lineage-merge usage dev.public.sales",
        "lineage-merge usage dev.public.sales --unused-for 90d",
    )
    formats = ("table", "csv", "json")
    tool = ToolText(
        "Who reads data, and what is unused",
        "How often and when last statements of the warehouse read datasets, the columns of one, or a "
        "column, and what they do not read.",
        has_past=False,
    )

    name: Annotated[
        DatasetName | None,
        Parameter(
            metavar="[DATASET[#COLUMN]]",
            is_argument=True,
            tool_help="a column, or a dataset for its columns; default: all datasets",
        ),
    ] = None
    _: KW_ONLY
    unused_for: Annotated[Age | None, UNUSED_FOR] = None
    limit: Annotated[int | None, LIMIT] = None

    def answer(self, graph: ScopedGraph) -> UsageResult:
        unused_for = age_ms(self.unused_for, "unused_for")
        start = graph.dataset_or_column(self.name) if self.name is not None else None
        elements = _elements(graph.graph, start) if start else _list_observed(graph)
        usage_by_id = usages(graph.graph, [*elements, *([start] if start else [])])
        assessed = sorted((usage_by_id[element.id] for element in elements), key=_most_read_first)
        shown = [
            usage for usage in assessed if unused_for is None or usage.verdict(unused_for).status == "unused"
        ][: self.limit]
        note = ""
        if not any(usage.is_observed for usage in usage_by_id.values()):
            note = graph.empty_note(NOT_OBSERVED)
        elif not assessed:
            note = f"{start.title} has no columns" if start else ""
        elif not shown:
            note = _NOTHING_UNUSED
            if any(usage.verdict(unused_for or 0).status == "unknown" for usage in assessed):
                note = "nothing is known to be unused"
        return UsageResult(
            question=self.question,
            scope=graph.scope,
            graph=subgraph(usage.element for usage in shown),
            note=note,
            start=start,
            unused_for=unused_for,
            usages=tuple(shown),
            assessed=tuple(assessed),
            of_start=usage_by_id[start.id] if start and start.label != COLUMN else None,
        )


def _most_read_first(usage: Usage) -> tuple[int, int, str]:
    return -1 if usage.reads is None else -usage.reads, -(usage.last_read or 0), usage.element.id


def _elements(graph: LineageGraph, start: Vertex) -> Sequence[Vertex]:
    """Return a column, or the columns and fields of a dataset by position."""
    if start.label == COLUMN:
        return [start]
    columns = {vertex.id: vertex for vertex in graph.vertices(_columns_of(graph, start.id))}
    return sorted(columns.values(), key=lambda column: column_order(columns, column))


def _columns_of(graph: LineageGraph, dataset: str) -> list[str]:
    return sorted({edge.to_id for edge in graph.edges_below([dataset], ["has_column"])})


def _list_observed(graph: ScopedGraph) -> Sequence[Vertex]:
    # Query logs are of no DAG.
    logs = graph.graph.ids([QUERY_LOG], graph.environment)
    if not logs:
        return []
    ids = graph.graph.ids(_READ_LABELS, graph.environment, graph.dag)
    return graph.graph.vertices(sorted(identifier for identifier in ids if query_log_of(identifier) in logs))
