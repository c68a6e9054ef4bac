"""The question `tests`: tests and data quality checks of datasets and columns, with their newest results."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated

from lineage_merge.graph_format.elements import subgraph, title_of_id
from lineage_merge.model.counts import format_count, format_counts
from lineage_merge.model.errors import QueryError
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
from lineage_merge.questions.question import (
    DEPTH,
    OPTIONAL_DATASET,
    DatasetName,
    Parameter,
    Question,
    ToolText,
)
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.checks import Check, Checks, all_checks, checks_upstream

# Shown of the datasets without tests.
_MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class AssertionRow:
    """A test of a dataset or column, with its newest result."""

    assertion: Annotated[Element, Shown(tool_name="id")]
    name: Text
    type: Label | None
    dataset: ElementId
    checked: Annotated[Element, NOT_FOR_TOOLS]
    column: Annotated[Text | None, Shown("or the expression that is tested")]
    distance: Annotated[int | None, Shown("hops upstream of the element in question")]
    severity: Label | None
    status: Annotated[Label | None, Shown("passed, warned, failed or error; empty: no result")]
    failures: int | None
    last_run_at: Time | None
    title: Cell
    result: Cell


@dataclass(frozen=True, kw_only=True, repr=False)
class AssertionsResult(RowsResult):
    """Tests with their newest results. `found`: all of the scope, `shown`: those of the answer."""

    row_type = AssertionRow
    rows_name = "tests"
    table = (
        "title: dataset, column, name: test, type, severity, result: status, failures, last_run_at: last "
        "run, distance"
    )

    start: Annotated[Element | None, Shown(name="of")] = None
    depth: Annotated[int | None, JSON_ONLY] = None
    found: Checks
    shown: Checks

    @property
    def tests(self) -> tuple[Check, ...]:
        """The tests of the answer, the nearest first, those that did not pass before others."""
        return self.shown.checks

    @property
    def counts(self) -> Annotated[Counts, Shown("tests by status, also those not in the rows", on=("tool",))]:
        """The numbers of all tests by status."""
        return Counter(check.status or "no result" for check in self.found.checks)

    @property
    def datasets_without_tests(self) -> Annotated[tuple[Element, ...] | None, JSON_ONLY]:
        """The datasets that no test checks; None without a start."""
        return self.found.unchecked if self.start else None

    @property
    def untested(
        self,
    ) -> Annotated[tuple[Element, ...], Shown("nearest datasets without any test", on=("tool",))]:
        """The nearest of these datasets."""
        return (self.datasets_without_tests or ())[:_MOST_LISTED]

    @property
    def untested_total(self) -> Annotated[int | None, Shown(on=("tool",))]:
        """The number of these datasets."""
        return len(self.found.unchecked) if self.start else None

    @property
    def coverage(self) -> str:
        """What was searched for tests, as the end of a sentence."""
        return f" of {self.start.title} and upstream" if self.start else ""

    def row(self, item: Check) -> AssertionRow:
        dataset = self.found.datasets.get(item.dataset)
        return row_of(
            AssertionRow,
            item.assertion,
            assertion=item.assertion,
            type=item.assertion.properties.get("assertion_type"),
            dataset=item.dataset,
            checked=item.checked,
            column=item.column or None,
            distance=item.distance,
            title=dataset.title if dataset else title_of_id(item.dataset),
            result=item.status or "no result",
        )

    def summary(self) -> Iterator[str]:
        """Yield the numbers of all tests by status, and the datasets without any."""
        # A test may check several datasets.
        statuses = {check.assertion.id: check.status or "without result" for check in self.found.checks}
        counts = format_counts(dict(sorted(Counter(statuses.values()).items())))
        yield f"{format_count(len(statuses), 'test')}{self.coverage}{f': {counts}' if counts else ''}"
        if unchecked := self.found.unchecked:
            titles = [dataset.title for dataset in unchecked[:_MOST_LISTED]]
            titles += [f"{len(unchecked) - len(titles):,} more"] if len(unchecked) > len(titles) else []
            yield f"{format_count(len(unchecked), 'dataset')} without tests: {', '.join(titles)}"


@dataclass(frozen=True, slots=True)
class AssertionsQuestion(Question[AssertionsResult]):
    """List the tests of a dataset and of everything upstream of it, or all tests, with their newest results.

    For a column: tests of the column, of its upstream columns, and of their datasets as a whole. Source
    freshness and data quality checks of OpenLineage are included.
    """

    question = "tests"
    short_help = "List tests of a dataset and its upstream, with results."
    examples = (
        "lineage-merge tests top_events_by_sales",
        "lineage-merge tests top_events_by_sales#total_sales --depth 2",
        "lineage-merge tests --failed --environment prod",
    )
    formats = ("table", "csv", "json")
    tool = ToolText(
        "Tests and their results",
        "Tests and data quality checks with their newest results, and datasets without any: of a dataset or "
        "column and its upstream, or of all.",
    )

    name: Annotated[DatasetName | None, OPTIONAL_DATASET] = None
    _: KW_ONLY
    failed: Annotated[bool, Parameter("only tests whose newest result is failed, error or warned")] = False
    depth: Annotated[int | None, DEPTH] = None

    def check(self, flag: Callable[[str], str]) -> None:
        """Raise `QueryError` for a depth without a start."""
        if self.depth is not None and self.name is None:
            raise QueryError(f"{flag('depth')} requires a dataset or column")

    def answer(self, graph: ScopedGraph) -> AssertionsResult:
        start = graph.dataset_or_column(self.name) if self.name is not None else None
        if start is None:
            checks = all_checks(graph.graph, graph.environment, graph.dag)
        else:
            checks = checks_upstream(graph.graph, start, depth=self.depth, dag=graph.dag)
        shown = replace(checks, checks=checks.list_failed()) if self.failed else checks
        note = ""
        if not shown.checks:
            where = f" of {start.title} and upstream" if start else ""
            note = "no failed tests" if self.failed and checks.checks else f"no tests{where}"
            note = graph.empty_note(note)
        return AssertionsResult(
            question=self.question,
            scope=graph.scope,
            graph=subgraph(vertex for check in shown.checks for vertex in (check.assertion, check.checked)),
            note=note,
            found=checks,
            shown=shown,
            start=start,
            depth=self.depth,
        )
