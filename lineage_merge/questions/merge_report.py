"""The questions `report` and `near_misses`: what a merge joined, and what is probably one dataset."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from lineage_merge.merge.report import Dismissed, NearMiss
from lineage_merge.model.elements import Problem, decode
from lineage_merge.model.errors import Ambiguous, NotFound, QueryError
from lineage_merge.questions.fields import (
    JSON_ONLY,
    NOT_FOR_TOOLS,
    Counts,
    Label,
    Name,
    Shown,
    Text,
    Time,
)
from lineage_merge.questions.names import check_scope
from lineage_merge.questions.question import Parameter, Question, ScopeName, ToolText
from lineage_merge.questions.result import NoGraphResult, Renderables
from lineage_merge.questions.scoped_graph import GraphScope, ScopedGraph

if TYPE_CHECKING:
    from lineage_merge.load.merge_run import MergeRun

_FOR_TOOLS = Shown(on=("tool",))


@dataclass(frozen=True, slots=True)
class NearMissRow:
    """Two datasets that are probably one."""

    kind: Annotated[str, _FOR_TOOLS]
    written: Name
    read: Name
    score: int
    evidence: tuple[Text, ...]
    fix_key: Annotated[Label, Shown("key of the configuration that joins them")]
    fix: Annotated[str, NOT_FOR_TOOLS]
    note: Annotated[Label, Shown("dismissal that no longer applies")]
    lines: Annotated[tuple[str, ...], Shown("lines of YAML for it", tool_name="fix", on=("tool",))]

    @property
    def reasons(self) -> str:
        return "; ".join(self.evidence)


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """A problem of a merge."""

    kind: Annotated[str, Shown("near-miss (probably one dataset under two names), or a kind of problem")]
    document: Annotated[str, NOT_FOR_TOOLS]
    field: Label | None
    message: Text
    file: Annotated[Label, Shown(tool_name="document", on=("tool",))]


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportResult(NoGraphResult):
    """The last merge of a DAG; `run.report` has what it joined, and what it could not join.

    The rows are problems: examples, of which `run.report.totals` has the numbers; for assistants, near misses
    are before them.
    """

    row_type = ProblemRow
    tool_row_types = (NearMissRow, ProblemRow)

    run: "MergeRun"
    environment: Annotated[Name, _FOR_TOOLS]
    dag: Annotated[Name, _FOR_TOOLS]
    merged_at: Annotated[Time, _FOR_TOOLS]
    written: Annotated[int, _FOR_TOOLS]
    retired: Annotated[int, _FOR_TOOLS]
    datasets_joined: Annotated[int | None, _FOR_TOOLS]
    totals: Annotated[Counts, Shown("problems by kind", on=("tool",))]
    unmet: Annotated[tuple[Text, ...], Shown("expectations that the merge did not meet", on=("tool",))]
    items: Sequence[Problem] = ()
    tool_items: Sequence[NearMiss | Problem] = ()

    def row(self, item: NearMiss | Problem) -> "NearMissRow | ProblemRow":
        if isinstance(item, NearMiss):
            return _describe_near_miss(item)
        return ProblemRow(
            item.kind, item.document, item.field or None, item.message, _strip_folder(item.document)
        )

    def header(self) -> dict[str, Any]:
        """Return no fields: the JSON is that of the merge."""
        return {}

    def fields(self) -> dict[str, Any]:
        return self.run.as_json()

    def tables(self) -> Renderables:
        """Return the merge, what it joined, and the problems."""
        from rich.text import Text as Line

        from lineage_merge.model.times import utc_time
        from lineage_merge.questions.formats.table import AnswerTable, row_table

        yield Line(f"{self.dag} in {self.environment}, merged at {utc_time(self.merged_at)}")
        numbers = AnswerTable("written", "retired", "datasets joined", is_summary=True)
        numbers.add(self.written, self.retired, self.datasets_joined or 0)
        yield numbers
        yield row_table(map(self.row, self.items), ", ".join(self.columns))


@dataclass(frozen=True, slots=True)
class ReportQuestion(Question[ReportResult]):
    """Return the report of the last merge of the DAG in the environment; both are required.

    Folders of `build` have none. Raises `NotFound` if the graph has no such merge.
    """

    question = "report"

    def answer(self, graph: ScopedGraph) -> ReportResult:
        environment, dag, as_of, _ = graph.scope
        if environment is None or dag is None:
            raise QueryError("a report needs environment and dag. Fix: set them when the graph is opened")
        scope = GraphScope(environment, dag) if as_of else graph.scope
        run = _run_until(graph, environment, dag, as_of) if as_of else _last_run(graph, environment, dag)
        report = run.report
        return ReportResult(
            question=self.question,
            scope=scope,
            note="" if report else "the merge has stored no report",
            run=run,
            environment=run.environment,
            dag=run.dag_name,
            merged_at=run.last_merged_at,
            written=run.elements_written,
            retired=run.elements_retired,
            datasets_joined=report.datasets_joined if report else None,
            totals=report.totals if report else {},
            unmet=report.unmet if report else (),
            items=report.problems if report else (),
            tool_items=(*report.near_misses, *report.problems) if report else (),
        )


@dataclass(frozen=True, slots=True)
class OnlyReportQuestion(Question[ReportResult]):
    """Return the report of the only merge of the scope: the question of the tool."""

    question = "report"
    tool = ToolText(
        "Report of the last merge",
        "What the last merge of a DAG joined and could not join: near misses (probably one dataset under two "
        "names, with a fix) and problems. Use it when lineage seems to be missing.",
    )

    dag: Annotated[ScopeName | None, Parameter("Airflow DAG", "that of the server")] = None

    def answer(self, graph: ScopedGraph) -> ReportResult:
        """Return the report. Raises `NotFound`, `Ambiguous`."""
        environment, dag = graph.environment, self.dag or graph.dag
        if not (environment and dag):
            environment, dag = _only_merge(graph, environment, dag)
        scope = graph.scope._replace(environment=environment, dag=dag)
        return ReportQuestion().answer(replace(graph, scope=scope))


@dataclass(frozen=True, kw_only=True, repr=False)
class NearMissesResult(NoGraphResult):
    """Datasets that are probably one, best first; `problems`: limits that the search exceeded."""

    row_type = NearMissRow
    rows_name = "near_misses"
    table = "written, read, score, reasons: evidence, fix_key, fix, note"
    optional = ("fix key", "fix", "note")

    near_misses: tuple[NearMiss, ...] = ()
    dismissed: tuple[Dismissed, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def notes(self) -> Annotated[tuple[Text, ...], JSON_ONLY]:
        """The messages of the problems."""
        return tuple(problem.message for problem in self.problems)

    def row(self, item: NearMiss) -> NearMissRow:
        """Return a pair; `fix` is YAML of the configuration that joins it."""
        return _describe_near_miss(item)

    def header(self) -> dict[str, Any]:
        return self.parameters()

    def fields(self) -> dict[str, Any]:
        """Return the near misses that the configuration dismisses: who did it, why, and until which day."""
        rows = [{**pair._asdict(), "evidence": list(pair.evidence)} for pair in self.dismissed]
        return {"dismissed_near_misses": rows}


@dataclass(frozen=True, slots=True)
class NearMissesQuestion(Question[NearMissesResult]):
    """Return datasets that are probably one, which jobs write and read under different names.

    The environment is required, all of its DAGs are searched. Fixes are changes of the configuration.
    """

    question = "near-misses"

    def answer(self, graph: ScopedGraph) -> NearMissesResult:
        from lineage_merge.questions.traversal.near_misses import read_near_misses

        if graph.environment is None:
            raise QueryError("near misses need an environment. Fix: set it when the graph is opened")
        pairs, problems, dismissed = read_near_misses(
            graph.graph, replace(graph.config, environment=graph.environment)
        )
        notes = [f"note: {': '.join(filter(None, (problem.field, problem.message)))}" for problem in problems]
        return NearMissesResult(
            question="near misses",
            scope=graph.scope,
            note="\n".join(
                notes if pairs else [*notes, graph.empty_note(f"no near misses in {graph.environment}")]
            ),
            near_misses=pairs,
            dismissed=dismissed,
            problems=problems,
        )


def _describe_near_miss(item: NearMiss) -> NearMissRow:
    return NearMissRow("near-miss", *item, tuple(item.fix.splitlines()))


def _last_run(graph: ScopedGraph, environment: str, dag: str) -> "MergeRun":
    """Return the last merge, as its vertex has it. Raises `NotFound`."""
    from lineage_merge.load.merge_run import merge_run_of, run_id

    vertices = graph.graph.vertices([run_id(environment, dag)])
    run = merge_run_of(environment, dag, vertices[0].properties) if vertices else None
    if run is None:
        check_scope(graph.graph, environment, dag)
        raise NotFound(f"the graph has no merge of {dag} in {environment}")
    return run


def _run_until(graph: ScopedGraph, environment: str, dag: str, moment: str) -> "MergeRun":
    """Return the newest merge of the history until a moment. Raises `NotFound`."""
    from lineage_merge.history.merge_index import read_report
    from lineage_merge.history.moments import parse_moment
    from lineage_merge.history.pictures import merges_until
    from lineage_merge.load.merge_run import MergeRun

    location, until = graph.require_history(), parse_moment(moment)
    for scope, record in merges_until(location, until, environment):
        if scope.dag_name == dag:
            report = read_report(location, scope, record)
            return MergeRun(*scope, record.name.time, record.added + record.changed, record.retired, report)
    raise NotFound(f"no merge of {dag} in {environment} until {until}")


def _only_merge(graph: ScopedGraph, environment: str | None, dag: str | None) -> tuple[str, str]:
    """Return environment and DAG of the only merge of a scope, as of a moment that of the history.

    Raises `NotFound`, `Ambiguous`.
    """
    if graph.scope.as_of:
        merged = {tuple(merge.scope) for merge in graph.scope.merges}
    else:
        ids = (identifier.split("|") for identifier in graph.graph.ids(["merge_run"], environment, dag))
        merged = {(decode(parts[0]), decode(parts[1])) for parts in ids if len(parts) > 1}
    scopes = sorted(
        (its_environment, its_dag)
        for its_environment, its_dag in merged
        if environment in (None, its_environment) and dag in (None, its_dag)
    )
    if not scopes:
        folder = ": folders of build have none" if graph.is_folder else ""
        raise NotFound(f"the graph has no merge{folder}")
    if len(scopes) > 1:
        raise Ambiguous("several merges. Fix: set environment and dag", tuple(map(" ".join, scopes)))
    return scopes[0]


def _strip_folder(document: str) -> str:
    """Return a document without the folder of the machine that merged it."""
    local = document.removeprefix("file://")
    return local.rpartition("/")[2] if local.startswith("/") else document
