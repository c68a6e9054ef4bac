"""The questions `jobs`, `no-consumer` and `no-producer`: lists of jobs and datasets."""

from collections.abc import Callable, Sequence, Set
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

from lineage_merge.graph_format.elements import JOB, Subgraph, Vertex, subgraph
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.fields import JSON_ONLY, ElementId, Time, row_of
from lineage_merge.questions.question import (
    LIMIT,
    UNUSED_FOR,
    Age,
    Parameter,
    Question,
    Since,
    age_ms,
    time_ms,
)
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.last_updates import FAILED
from lineage_merge.questions.usage import UsageResult, make_unused_result

SEARCH = Parameter("part of the name", metavar="TEXT")

JobOrder = Literal["name", "last-run", "duration", "rows"]
_NUMBERS = {"last-run": "last_run_at", "duration": "duration_ms", "rows": "rows_written"}


@dataclass(frozen=True, slots=True)
class VertexRow:
    """A vertex; fields of subclasses are properties of it."""

    id: ElementId
    label: str
    name: str
    title: str
    environment: str
    dags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobRow(VertexRow):
    """A job with its newest run."""

    job_type: str | None
    status: str | None
    last_run_id: str | None
    last_run_at: Time | None
    duration_ms: int | None
    rows_written: int | None
    owners: tuple[str, ...]

    @property
    def duration(self) -> str:
        """The duration for people."""
        return "" if self.duration_ms is None else f"{self.duration_ms / 1000:,.1f} s"


@dataclass(frozen=True, kw_only=True, repr=False)
class VerticesResult(RowsResult):
    """Vertices, such as datasets without a consumer."""

    row_type: ClassVar[type[VertexRow]] = VertexRow

    @property
    def items(self) -> Sequence[Vertex]:
        return tuple(self.graph.vertices.values())

    def row(self, item: Vertex) -> VertexRow:
        return row_of(self.row_type, item)


@dataclass(frozen=True, kw_only=True, repr=False)
class JobsResult(VerticesResult):
    """Jobs with their newest run, in the requested order."""

    row_type = JobRow
    table = (
        "name, job_type: type, dags: DAG, environment, status, last_run_at: last run, duration, "
        "rows_written: rows, owners"
    )
    optional = ("owners",)

    search: Annotated[str, JSON_ONLY] = ""
    since: Annotated[int | None, JSON_ONLY] = None
    failed: Annotated[bool, JSON_ONLY] = False

    @property
    def jobs(self) -> Sequence[Vertex]:
        return self.items


@dataclass(frozen=True, slots=True)
class JobsQuestion(Question[JobsResult]):
    """List or search jobs, with DAG and newest run."""

    question = "jobs"
    examples = (
        "lineage-merge jobs --search ingest --environment prod",
        "lineage-merge jobs --failed --since 1d",
        "lineage-merge jobs --slowest 5 --dag tickit_daily",
    )

    search: Annotated[str, SEARCH] = ""
    _: KW_ONLY
    since: Annotated[
        Since | None,
        Parameter("only newest runs that ended since a date, time or age (3d)", metavar="TIME"),
    ] = None
    failed: Annotated[bool, Parameter("only jobs whose newest run failed")] = False
    slowest: Annotated[
        int | None, Parameter("the longest newest runs  [N: 10]", metavar="[N]", value_if_empty=10)
    ] = None
    order: Annotated[
        JobOrder | None,
        Parameter("order; numbers and times descending", "id", flag="--sort", is_rare=True),
    ] = None
    limit: Annotated[int | None, LIMIT] = None

    def check(self, flag: Callable[[str], str]) -> None:
        """Raise `QueryError` for an order or limit with the slowest."""
        if self.slowest is not None and (self.order or self.limit):
            raise QueryError(
                f"{flag('slowest')} N replaces {flag('order')} duration {flag('limit')} N: "
                "set only one of them"
            )

    def answer(self, graph: ScopedGraph) -> JobsResult:
        """Return the jobs; those without a number or time are last."""
        since = time_ms(self.since)
        order, limit = ("duration", self.slowest) if self.slowest else (self.order, self.limit)
        is_filtered = self.failed or since is not None or order is not None
        jobs = graph.graph.search(
            self.search, [JOB], graph.environment, graph.dag, None if is_filtered else limit
        )
        if self.failed:
            jobs = [job for job in jobs if job.properties.get("status") == FAILED]
        if since is not None:
            jobs = [job for job in jobs if job.properties.get("last_run_at", since - 1) >= since]
        jobs = sorted(jobs, key=lambda job: job.id)
        if order == "name":
            jobs.sort(key=lambda job: job.name)
        elif order is not None:
            number = _NUMBERS[order]
            jobs.sort(key=lambda job: -job.properties.get(number, -1))
        return JobsResult(
            question=self.question,
            scope=graph.scope,
            graph=Subgraph({job.id: job for job in jobs[:limit]}),
            note="" if jobs else graph.empty_note("no matching job"),
            search=self.search,
            since=since,
            failed=self.failed,
        )


def _one_sided(
    question: Question[Any], graph: ScopedGraph, ids: Set[str], no_datasets: str
) -> VerticesResult:
    """Return datasets that jobs only write or only read. `no_datasets`: the note if there are none."""
    datasets = subgraph(graph.graph.vertices(sorted(ids)))
    return VerticesResult(
        question=question.question,
        scope=graph.scope,
        graph=datasets,
        note="" if datasets.vertices else graph.empty_note(no_datasets),
    )


@dataclass(frozen=True, slots=True)
class NoConsumerQuestion(Question[VerticesResult | UsageResult]):
    """List datasets that a job writes and no job reads.

    With --dag, datasets that a job of this DAG writes and no job of any DAG reads. Exposures count as
    readers, jobs that only read their own output do not. With --unused-for, only those that no statement in
    the query log of their warehouse read for so long, then those of unknown usage.
    """

    question = "no-consumer"
    examples = (
        "lineage-merge no-consumer",
        "lineage-merge no-consumer --environment prod --dag tickit_daily",
        "lineage-merge no-consumer --unused-for 90d",
    )

    _: KW_ONLY
    unused_for: Annotated[Age | None, UNUSED_FOR] = None

    def answer(self, graph: ScopedGraph) -> VerticesResult | UsageResult:
        unused_for = age_ms(self.unused_for, "unused_for")
        ids = graph.graph.find_without_consumer(graph.environment, graph.dag)
        result = _one_sided(self, graph, ids, "all written datasets have a consumer")
        if unused_for is None:
            return result
        return make_unused_result(self.question, graph, result.items, unused_for, result.note)


@dataclass(frozen=True, slots=True)
class NoProducerQuestion(Question[VerticesResult]):
    """List datasets that a job reads and no job writes: external ones, or ones whose jobs are not merged yet.

    With --dag, datasets that a job of this DAG reads and no job of any DAG writes.
    """

    question = "no-producer"
    short_help = "List datasets that a job reads and no job writes."
    examples = (
        "lineage-merge no-producer",
        "lineage-merge no-producer --folder lineage --json",
    )

    def answer(self, graph: ScopedGraph) -> VerticesResult:
        ids = graph.graph.find_without_producer(graph.environment, graph.dag)
        return _one_sided(self, graph, ids, "all read datasets have a producer")
