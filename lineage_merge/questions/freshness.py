"""The question `freshness`: datasets by last update."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated

from lineage_merge.graph_format.elements import subgraph
from lineage_merge.model.counts import format_count, format_counts
from lineage_merge.model.times import utc_time
from lineage_merge.questions.fields import (
    JSON_ONLY,
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
    row_of,
)
from lineage_merge.questions.question import (
    OLDER_THAN,
    OPTIONAL_DATASET,
    Age,
    DatasetName,
    Parameter,
    Question,
    ToolText,
    age_ms,
    now_ms,
)
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.staleness import (
    MEANINGS,
    Expectations,
    Freshness,
    Source,
    Status,
    cause_text,
    freshness,
    reasons_text,
)


@dataclass(frozen=True, slots=True)
class ExpectationRow:
    """An expectation of a dataset."""

    source: Source
    policy: Label | None
    limit: Duration | None
    holds: bool


@dataclass(frozen=True, slots=True)
class FreshnessCheckRow:
    """A freshness check with its newest result."""

    assertion: Element
    status: Label | None
    checked_at: Time | None


@dataclass(frozen=True, slots=True)
class NearestRow:
    """The nearest upstream dataset that makes another stale."""

    dataset: ElementId
    distance: int


@dataclass(frozen=True, slots=True)
class FreshnessRow:
    """A dataset with its last update."""

    dataset: Annotated[Element, Shown(tool_name="id")]
    title: Annotated[Text, Shown(on=("frame",))]
    status: Annotated[Status, Shown("; ".join(f"{name}: {meaning}" for name, meaning in MEANINGS.items()))]
    reasons: tuple[Label, ...]
    expectations: tuple[ExpectationRow, ...]
    expected: Annotated[
        tuple[Label, ...],
        Shown("what is expected of it: a check, an age, a policy", name="expectations", on=("tool",)),
    ]
    age: Duration | None
    updated_at: Time | None
    written_at: Annotated[Time | None, NOT_FOR_TOOLS]
    failed_at: Annotated[Time | None, NOT_FOR_TOOLS]
    max_loaded_at: Annotated[Time | None, NOT_FOR_TOOLS]
    freshness_check: FreshnessCheckRow | None
    jobs: Annotated[tuple[Element, ...], JSON_ONLY]
    because_of: NearestRow | None
    nearest: Annotated[
        ElementId | None,
        Shown("the upstream dataset that makes it stale", name="because_of", on=("frame", "tool")),
    ]
    last_write: Cell
    check_status: Cell
    reason: Cell
    cause: Cell


@dataclass(frozen=True, kw_only=True, repr=False)
class FreshnessResult(RowsResult):
    """Datasets by last update at `now`, the oldest first; `assessed`: also those not in `datasets`."""

    row_type = FreshnessRow
    rows_name = "datasets"
    table = (
        "dataset, last_write, max_loaded_at: newest row, age, check_status: freshness check, status, "
        "reason, cause: because of"
    )

    start: Annotated[Element | None, Shown(name="of")] = None
    now: Annotated[Time, JSON_ONLY]
    older_than_ms: Annotated[int | None, JSON_ONLY] = None
    datasets: tuple[Freshness, ...] = ()
    assessed: tuple[Freshness, ...] = ()

    @property
    def counts(self) -> Annotated[Counts, Shown("datasets by status")]:
        """The numbers of all assessed datasets by status."""
        counts = Counter(dataset.status for dataset in self.assessed)
        return {status: counts[status] for status in MEANINGS}

    def row(self, item: Freshness) -> FreshnessRow:
        update, check, nearest = item.update, item.update.check, item.because_of
        uncertain = f"before {utc_time(update.failed_at)}" if update.is_uncertain else ""
        return row_of(
            FreshnessRow,
            update,
            title=item.dataset.title,
            status=item.status,
            reasons=item.reasons,
            expectations=tuple(
                ExpectationRow(source, policy or None, limit_ms, unmet is None)
                for source, limit_ms, unmet, policy in item.expectations
            ),
            expected=tuple(expectation.policy or expectation.source for expectation in item.expectations),
            age=item.age_ms,
            max_loaded_at=update.loaded_at,
            freshness_check=FreshnessCheckRow(
                check, check.properties.get("status"), check.properties.get("last_run_at")
            )
            if check
            else None,
            because_of=NearestRow(nearest.dataset, nearest.distance) if nearest else None,
            nearest=nearest.dataset if nearest else None,
            last_write=uncertain or utc_time(update.written_at),
            check_status=str(check.properties.get("status", "no result")) if check else "",
            reason=reasons_text(item),
            cause=cause_text(nearest, self._titles[nearest.dataset]) if nearest else "",
        )

    def summary(self) -> Iterator[str]:
        """Yield the numbers of all datasets by status, and what `current` stands for."""
        yield f"{format_count(len(self.assessed), 'dataset')}: {format_counts(self.counts)}"
        if any(dataset.status == "current" for dataset in self.datasets):
            yield f"current: {MEANINGS['current']} (freshness check, --older-than, policy)"

    @cached_property
    def _titles(self) -> Mapping[str, str]:
        return {freshness.dataset.id: freshness.dataset.title for freshness in self.assessed}


@dataclass(frozen=True, slots=True)
class FreshnessQuestion(Question[FreshnessResult]):
    """List a dataset with its upstream, or all datasets, by last update: oldest first, unknown last.

    A dataset is fresh if its freshness check, --older-than and the policies that select it hold. With none of
    them it is current: as new as its inputs. It is stale if one does not hold, if an input was updated after
    it, or if an upstream dataset is stale. "because of" names the nearest one.
    """

    question = "freshness"
    short_help = "List datasets by last update, and what makes them stale."
    examples = (
        "lineage-merge freshness --older-than 1d --stale",
        "lineage-merge freshness top_events_by_sales --older-than 36h",
        "lineage-merge freshness --environment prod --json",
    )
    formats = ("table", "csv", "json")
    tool = ToolText(
        "How old data is",
        "When datasets were last updated, and which are stale, or fresh because an expectation holds: of one "
        "dataset and its upstream, or of all.",
        has_past=False,
    )

    name: Annotated[DatasetName | None, OPTIONAL_DATASET] = None
    _: KW_ONLY
    older_than: Annotated[Age | None, OLDER_THAN] = None
    stale: Annotated[bool, Parameter("only stale datasets")] = False
    limit: Annotated[
        int | None, Parameter("maximum number of datasets", "all", metavar="N", on=("command",))
    ] = None
    now: int | None = None

    def answer(self, graph: ScopedGraph) -> FreshnessResult:
        now = now_ms() if self.now is None else self.now
        older_than_ms = age_ms(self.older_than)
        start = graph.dataset_or_column(self.name) if self.name is not None else None
        assessed = freshness(
            graph.graph,
            Expectations(now, older_than_ms, graph.config.policies),
            start,
            environment=graph.environment,
            dag=graph.dag,
        )
        datasets = [row for row in assessed if not self.stale or row.status == "stale"][: self.limit]
        return FreshnessResult(
            question=self.question,
            scope=graph.scope,
            graph=subgraph(dataset.dataset for dataset in datasets),
            note="" if assessed else graph.empty_note("no datasets"),
            now=now,
            datasets=tuple(datasets),
            assessed=tuple(assessed),
            start=start,
            older_than_ms=older_than_ms,
        )
