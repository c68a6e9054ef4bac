"""The question `impact`: everything that depends on a dataset, column or job, and what a change breaks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from lineage_merge.graph_format.elements import JOB, Edge, column_title, title_of_id
from lineage_merge.model.counts import format_names
from lineage_merge.model.elements import is_column_id
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.fields import (
    JSON_ONLY,
    NOT_FOR_TOOLS,
    Counts,
    Element,
    ElementId,
    Label,
    Shown,
    Text,
    Time,
    row_as_json,
    row_of,
)
from lineage_merge.questions.formats.describe import declaration, declarations, one_line
from lineage_merge.questions.question import (
    DEPTH,
    ELEMENT,
    ElementName,
    Parameter,
    Question,
    ToolText,
)
from lineage_merge.questions.result import Renderables, RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.dependents import (
    AffectedTest,
    Dependent,
    Dependents,
    Kind,
    dependents,
    find_affected_tests,
)
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.questions.traversal.usage import UNUSED_AFTER_MS, Usage, may_be_dropped, usages

if TYPE_CHECKING:
    from lineage_merge.questions.formats.table import AnswerTable

_NO_USAGES: Mapping[str, Usage] = {}
# Tables of what statements read.
_READ = ("datasets", "indirectly_affected", "columns")
_LISTS = ("datasets", "indirectly_affected", "columns", "jobs", "exposures")
# Names in a cell.
_MAX_NAMES = 3
# More columns of a table, by its name.
_MORE = {
    "datasets": "label, ",
    "indirectly_affected": "label, ",
    "exposures": "exposure_type: type, url, ",
    "columns": "how, ",
    "jobs": "job_type: type, ",
}


@dataclass(frozen=True, slots=True)
class UseRow:
    """How a column is computed from another."""

    column: ElementId
    transformation: str | None
    expression: str | None
    job: str | None
    declared: str | None


@dataclass(frozen=True, slots=True)
class AffectedRow:
    """An affected element."""

    element: Annotated[Element, Shown(name="id")]
    kind: Annotated[str, Shown("dataset, column, job, exposure or test")]
    label: Annotated[str, NOT_FOR_TOOLS]
    title: Annotated[str, NOT_FOR_TOOLS]
    distance: int
    effect: Annotated[Label | None, Shown("of a change: breaks, ...")]
    owners: tuple[Label, ...]
    dags: tuple[Label, ...]
    exposure_type: Annotated[str | None, JSON_ONLY]
    url: Annotated[str | None, JSON_ONLY]
    job_type: Annotated[str | None, JSON_ONLY]
    uses: tuple[UseRow, ...]
    declared: Annotated[
        Text | None, Shown("no tool reports an edge to it: who declares it, until when, and why")
    ]
    reads: Annotated[
        int | None, Shown("statements that read it, with usage; empty: not observed", is_sparse=True)
    ]
    last_read: Annotated[Time | None, Shown("with usage", is_sparse=True)]

    @property
    def how(self) -> str:
        """How a column uses others: the expressions if there are some."""
        texts = (
            "  ".join(filter(None, (use.transformation, use.expression, use.declared))) for use in self.uses
        )
        return " | ".join(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True)
class AffectedTestRow:
    """A test of affected elements."""

    element: Annotated[Element, Shown(name="id")]
    name: str
    assertion_type: str | None
    status: str | None
    checks: tuple[ElementId, ...]
    distance: int
    effect: str | None
    owners: tuple[str, ...]

    @property
    def checked(self) -> str:
        """The titles of some of the elements."""
        return some_names([_title(element) for element in self.checks])


def make_affected_row(element: Dependent | AffectedTest, usage: Usage | None = None) -> AffectedRow:
    """Return the row of an affected element or test, with usage if it is known."""
    return row_of(
        AffectedRow,
        element.vertex,
        element=element.vertex,
        kind=element.kind,
        distance=element.distance,
        effect=element.effect and element.effect.value,
        uses=tuple(map(_use_row, element.uses)),
        declared=declarations(element.declared) or None,
        reads=usage.reads if usage else None,
        last_read=usage.last_read if usage else None,
    )


def _use_row(edge: Edge) -> UseRow:
    others = {"column": edge.from_id, "job": edge.job or None, "declared": declaration(edge) or None}
    return row_of(UseRow, edge, **others)


def _test_row(test: AffectedTest) -> AffectedTestRow:
    effect = test.effect and test.effect.value
    others = {"element": test.vertex, "checks": test.checks, "distance": test.distance, "effect": effect}
    return row_of(AffectedTestRow, test.vertex, **others)


def some_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are; the JSON has all."""
    return format_names(names, _MAX_NAMES)


def _title(identifier: str) -> str:
    is_dataset = not is_column_id(identifier)
    return title_of_id(identifier) if is_dataset else column_title(identifier)


def impact_as_json(
    affected: Dependents, tests: Sequence[AffectedTest], usages: Mapping[str, Usage] = _NO_USAGES
) -> dict[str, Any]:
    """Return the fields of an impact::

        {"counts": {"datasets": 2, ...}, "datasets": ["<id>", ...], ..., "dags": ["tickit_daily"],
         "effects": {"breaks": 1, "changes": 0, "depends": 4, "unaffected": 0},
         "affected": [{"id": "<id>", "kind": "column", ...}], "tests": [{"id": "<id>", ...}]}

    `effects` is null unless a change is known. `usages`: by id.
    """
    impact = affected.impact
    return {
        "counts": impact.counts,
        **{name: [vertex.id for vertex in getattr(impact, name)] for name in _LISTS},
        "dags": list(impact.dags),
        "effects": {effect.value: number for effect, number in affected.effects.items()} or None,
        "affected": [
            row_as_json(make_affected_row(element, usages.get(element.vertex.id)))
            for element in affected.elements
        ],
        "tests": [row_as_json(_test_row(test)) for test in tests],
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class ImpactResult(RowsResult):
    """What depends on `dependents.changed`, and the tests of it."""

    row_type = AffectedRow

    dependents: Dependents
    tests: Sequence[AffectedTest] = ()
    change: Annotated[str | None, Shown()] = None
    depth: Annotated[int | None, JSON_ONLY] = None
    usage: Annotated[
        Text | None,
        Shown("with usage: whether it can be dropped, or what stands against it", is_sparse=True),
    ] = None
    usages: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def changed(self) -> Annotated[Element, Shown(name="of")]:
        return self.dependents.changed

    @property
    def counts(self) -> Annotated[Counts, Shown("elements by kind", on=("tool",))]:
        """The numbers of elements and tests by kind."""
        return Counter(item.kind for item in self.items)

    @property
    def effects(self) -> Annotated[Counts, Shown("elements by effect of the change", on=("tool",))]:
        """The numbers of elements by effect, without zeros."""
        return {effect.value: number for effect, number in self.dependents.effects.items() if number}

    @property
    def items(self) -> Sequence[Dependent | AffectedTest]:
        """The affected elements, the nearest first, then the tests."""
        return [*self.dependents.elements, *self.tests]

    @property
    def roots(self) -> Sequence[str]:
        return [self.changed.id]

    def row(self, item: Dependent | AffectedTest) -> AffectedRow:
        return make_affected_row(item, self.usages.get(item.vertex.id))

    def fields(self) -> dict[str, Any]:
        return impact_as_json(self.dependents, self.tests, self.usages)

    def tables(self) -> Renderables:
        """Yield the changed element, counts, then the elements by kind."""
        from rich.text import Text

        from lineage_merge.questions.formats.table import AnswerTable, row_table

        affected, impact = self.dependents, self.dependents.impact
        yield Text(one_line(f"affected by a change of {self.changed.title}:"), style="bold")
        counts = AnswerTable("", "number", is_summary=True)
        for kind, number in {**impact.counts, "tests": len(self.tests)}.items():
            counts.add(kind, number)
        for effect, number in affected.effects.items():
            counts.add(effect.value, number)
        yield counts
        if self.usage:
            yield Text()
            yield Text(one_line(self.usage))
        distance = f"{'effect, ' if self.change else ''}distance: hops"
        indirect = {vertex.id for vertex in impact.indirectly_affected}
        datasets = affected.select_kind("dataset")
        groups = {
            "datasets": [element for element in datasets if element.vertex.id not in indirect],
            "indirectly_affected": [element for element in datasets if element.vertex.id in indirect],
            "exposures": affected.select_kind("exposure"),
            "jobs": affected.select_kind("job"),
            "columns": affected.select_kind("column"),
        }
        # Tables without rows, too, because the CSV has their columns.
        for name, elements in groups.items():
            reads = "reads, last_read: last read, " if self.usages and name in _READ else ""
            declared = ", declared" if name == "datasets" else ""
            columns = f"title: {name}, {_MORE.get(name, '')}{distance}, {reads}owners, dags: DAGs{declared}"
            yield from _separate(row_table(map(self.row, elements), columns, name, optional=("declared",)))
        columns = f"name: tests, assertion_type: type, {distance}, status, checked: checks, owners"
        yield from _separate(row_table(map(_test_row, self.tests), columns, "tests"))
        dags = AnswerTable("DAGs", name="DAGs")
        for dag in impact.dags:
            dags.add(dag)
        yield from _separate(dags)


def _separate(table: "AnswerTable") -> Renderables:
    """Yield a table after an empty line, if it has rows."""
    from rich.text import Text

    if table.values:
        yield Text()
    yield table


@dataclass(frozen=True, slots=True)
class ImpactQuestion(Question[ImpactResult]):
    """Count and list everything that depends on a dataset, a column or a job.

    These are the datasets, columns, jobs, DAGs and exposures downstream, with their owners and tests. For a
    column also datasets whose rows it determines (indirectly_affected). For a job, the datasets that it
    writes and everything downstream.
    """

    question = "impact"
    short_help = "List everything that depends on a dataset, column or job."
    examples = (
        "lineage-merge impact s3://tickit-raw/sales",
        "lineage-merge impact s3://tickit-raw/sales#pricepaid --change rename",
        "lineage-merge impact tickit_sales_ingest --json",
        "lineage-merge impact dev.public.sales#commission --with-usage",
    )
    tool = ToolText(
        "What a change breaks",
        "Everything that depends on a dataset, column or job, with owners and tests; with change (drop, "
        "rename, retype) what breaks. Use it before a table, column or job is changed.",
    )

    name: Annotated[ElementName, ELEMENT]
    _: KW_ONLY
    change: Annotated[
        Literal["drop", "rename", "retype"] | None,
        Parameter("show what breaks, changes or only depends on it; retype needs a column"),
    ] = None
    depth: Annotated[int | None, DEPTH] = None
    with_usage: Annotated[bool, Parameter("show what statements read, and whether it can be dropped")] = False

    def answer(self, graph: ScopedGraph) -> ImpactResult:
        if self.change and self.change not in [*Change]:
            raise QueryError(f"unknown change: {self.change}; changes: {', '.join(Change)}")
        change = Change(self.change) if self.change else None
        changed = graph.element(self.name)
        affected = dependents(graph.graph, changed, change=change, depth=self.depth, dag=graph.dag)
        usage_by_id = {}
        if self.with_usage:
            read = [element.vertex for element in affected.elements if element.kind in ("dataset", "column")]
            usage_by_id = usages(graph.graph, [*read, *([] if changed.label == JOB else [changed])])
        return ImpactResult(
            question=self.question,
            scope=graph.scope,
            graph=affected.impact.subgraph,
            note="" if affected.elements else f"nothing depends on {changed.title}",
            dependents=affected,
            tests=find_affected_tests(graph.graph, affected, graph.dag),
            change=self.change,
            depth=self.depth,
            usage=_usage(affected, usage_by_id.get(changed.id), graph.dag),
            usages=usage_by_id,
        )


def _usage(affected: Dependents, usage: Usage | None, dag: str | None) -> str | None:
    """Return whether a dataset or column can be dropped; None without usage, and for a job."""
    if usage is None:
        return None
    kinds = {kind: len(affected.select_kind(kind)) for kind in get_args(Kind)}
    scope = f" (only the lineage of the DAG {dag} was followed)" if dag else ""
    return may_be_dropped(usage, kinds, UNUSED_AFTER_MS) + scope
