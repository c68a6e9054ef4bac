"""The questions `datasets` and `search`: datasets, columns and jobs by name, tag, owner and failed runs.

The number of requests depends on the number of conditions and the size of the answer: the server selects by
tag, owner and status.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Literal

from lineage_merge.graph_format.elements import (
    ASSERTION,
    COLUMN,
    JOB,
    Subgraph,
    Vertex,
    values_of,
)
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import column_of, dataset_of, dot_path
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.backends.in_memory import contains_text
from lineage_merge.questions.fields import JSON_ONLY, Element, ElementId, Label, Name, Shown, Time, row_of
from lineage_merge.questions.graph import case_variants
from lineage_merge.questions.listing import SEARCH, JobsQuestion, VertexRow, VerticesResult
from lineage_merge.questions.question import (
    LIMIT,
    OwnerName,
    Parameter,
    Question,
    SearchText,
    TagName,
    ToolText,
)
from lineage_merge.questions.result import Renderables, Result, RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.lineage import complete_subgraph

# Of a job's newest run, or of a check's newest result. A warning is no failure.
FAILED = ("failed", "error")


@dataclass(frozen=True, slots=True)
class FoundDatasets:
    """Datasets, by id. `subgraph` contains them and, if requested, their columns.

    By dataset id: `tagged_columns` are the ids of columns with a requested tag, `failures` the failed jobs
    and checks (if failures were requested).
    """

    subgraph: Subgraph = field(default_factory=Subgraph)
    datasets: tuple[Vertex, ...] = ()
    tagged_columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: Mapping[str, tuple[Vertex, ...]] = field(default_factory=dict)

    def describe(self, dataset: str) -> dict[str, Any]:
        """Return the fields of a row that are no properties of the dataset."""
        return {
            "tagged_columns": self.tagged_columns.get(dataset, ()),
            "failures": self.failures.get(dataset, ()),
        }


@dataclass(frozen=True, slots=True)
class DatasetRow(VertexRow):
    """A dataset."""

    namespace: str | None
    format: str | None
    description: str | None
    owners: tuple[str, ...]
    tags: tuple[str, ...]
    tagged_columns: tuple[ElementId, ...]
    failures: tuple[Element, ...]

    @property
    def column_names(self) -> str:
        return ", ".join(dot_path(column_of(column)) for column in self.tagged_columns)

    @property
    def failed(self) -> str:
        """The names of the failed jobs and checks."""
        return ", ".join(failure.name for failure in self.failures)

    @property
    def about(self) -> str:
        return "  ".join(str(value) for value in (self.format, self.description) if value is not None)


@dataclass(frozen=True, kw_only=True, repr=False)
class DatasetsResult(VerticesResult):
    """Datasets. `graph` contains their columns if `with_columns`."""

    row_type = DatasetRow
    table = (
        "title: name, label, namespace, environment, dags: DAGs, owners, tags, column_names: tagged "
        "columns, failed, about"
    )
    optional = ("owners", "tags", "tagged columns", "failed", "about")

    found: FoundDatasets
    search: Annotated[str, JSON_ONLY] = ""
    with_columns: bool = False

    @property
    def datasets(self) -> tuple[Vertex, ...]:
        """The datasets, by id."""
        return self.found.datasets

    @property
    def items(self) -> Sequence[Vertex]:
        return self.found.datasets

    @property
    def tagged_columns(self) -> Annotated[Mapping[str, list[str]], JSON_ONLY]:
        """The ids of the columns with a requested tag, by dataset."""
        return {dataset: list(columns) for dataset, columns in self.found.tagged_columns.items()}

    @property
    def failures(self) -> Annotated[Mapping[str, list[dict[str, Any]]], JSON_ONLY]:
        """The failed jobs and checks, by dataset."""
        keys = ("status", "last_run_at", "last_run_id")
        return {
            dataset: [
                {"id": failure.id, "label": failure.label, "name": failure.name}
                | {key: failure.properties.get(key) for key in keys}
                for failure in failures
            ]
            for dataset, failures in self.found.failures.items()
        }

    def row(self, item: Vertex) -> DatasetRow:
        return row_of(DatasetRow, item, **self.found.describe(item.id))

    @property
    def roots(self) -> Sequence[str] | None:
        """The datasets, if the answer has columns below them."""
        return [dataset.id for dataset in self.datasets] if self.with_columns else None

    def tables(self) -> Renderables:
        """Return a row per dataset, or the edges to the columns."""
        return Result.tables(self) if self.with_columns else super().tables()

    def csv_tables(self) -> Renderables:
        """Return a row per dataset, or the edges to the columns."""
        from lineage_merge.questions.formats.table import edge_table

        if not self.with_columns:
            return super().csv_tables()
        return [edge_table(self.graph)] if self.datasets else self.tables()


@dataclass(frozen=True, slots=True)
class DatasetsQuestion(Question[DatasetsResult]):
    """List or search datasets by name, tag, owner and failed runs or tests."""

    question = "datasets"
    examples = (
        "lineage-merge datasets --search sales",
        "lineage-merge datasets --tag pii --without-owner",
        "lineage-merge datasets --failed --environment prod --json",
        "lineage-merge datasets --environment dev --dag tickit_daily --columns --format tree",
    )

    search: Annotated[str, SEARCH] = ""
    _: KW_ONLY
    tags: Annotated[
        Iterable[TagName],
        Parameter(
            "with this tag, or with a column that has it; repeated: with all of them",
            metavar="TAG",
            flag="--tag",
        ),
    ] = ()
    owners: Annotated[
        Iterable[OwnerName],
        Parameter("with this owner; repeated: with all of them", metavar="OWNER", flag="--owner"),
    ] = ()
    without_owner: Annotated[bool, Parameter("without an owner", is_rare=True)] = False
    failed: Annotated[bool, Parameter("whose newest run, or a test of it, failed")] = False
    limit: Annotated[int | None, LIMIT] = None
    columns: Annotated[bool, Parameter("include columns", is_rare=True)] = False

    def check(self, flag: Callable[[str], str]) -> None:
        """Raise `QueryError` for owners of what has none."""
        if self.owners and self.without_owner:
            raise QueryError(f"{flag('owners')} and {flag('without_owner')} exclude each other")

    def answer(self, graph: ScopedGraph) -> DatasetsResult:
        result = self._find(graph)
        return DatasetsResult(
            question=self.question,
            scope=graph.scope,
            graph=result.subgraph,
            note="" if result.datasets else graph.empty_note("no matching dataset"),
            found=result,
            search=self.search,
            with_columns=self.columns,
        )

    def _find(self, scoped: ScopedGraph) -> FoundDatasets:
        """Return the datasets that meet all conditions. Tags and owners are compared as `case_variants`."""
        graph, environment, dag = scoped.graph, scoped.environment, scoped.dag
        selected: list[set[str]] = []
        tagged_columns: dict[str, set[str]] = defaultdict(set)
        for tag in self.tags:
            spellings = case_variants(tag)
            tagged = graph.with_value("tags", spellings, DATASET_LABELS, environment, dag)
            for column in graph.with_value("tags", spellings, [COLUMN], environment, dag):
                tagged_columns[dataset_of(column)].add(column)
                tagged.add(dataset_of(column))
            selected.append(tagged)
        selected += [
            graph.with_value("owners", case_variants(owner), DATASET_LABELS, environment, dag)
            for owner in self.owners
        ]
        failures = _failures(scoped) if self.failed else {}
        if self.failed:
            selected.append(set(failures))
        if selected:
            ids = sorted(set.intersection(*selected))
            matching = [dataset for dataset in graph.vertices(ids) if contains_text(dataset, self.search)]
            matching.sort(key=lambda dataset: dataset.id)
        else:
            most = None if self.without_owner else self.limit
            matching = graph.search(self.search, DATASET_LABELS, environment, dag, most)
        if self.without_owner:
            matching = [dataset for dataset in matching if not values_of(dataset, "owners")]
        datasets = {dataset.id: dataset for dataset in matching[: self.limit]}
        return FoundDatasets(
            complete_subgraph(graph, datasets, (), dag, columns=True) if self.columns else Subgraph(datasets),
            tuple(datasets.values()),
            {key: tuple(sorted(tagged_columns[key])) for key in datasets if key in tagged_columns},
            {key: failures[key] for key in datasets if key in failures},
        )


def _failures(scoped: ScopedGraph) -> Mapping[str, tuple[Vertex, ...]]:
    """Return the failed jobs that write each dataset and the failed checks of it, by dataset id."""
    graph, dag = scoped.graph, scoped.dag
    failed = sorted(graph.with_value("status", FAILED, [JOB, ASSERTION], scoped.environment, dag))
    vertices = {vertex.id: vertex for vertex in graph.vertices(failed)}
    failures: dict[str, dict[str, Vertex]] = defaultdict(dict)
    for edge in graph.edges_from(failed, ["writes", "checks"], dag):
        failures[dataset_of(edge.to_id)][edge.from_id] = vertices[edge.from_id]
    return {dataset: tuple(by_id[key] for key in sorted(by_id)) for dataset, by_id in failures.items()}


_OF_DATASETS = ("tags", "owners", "without_owner", "failed")
_INAPPLICABLE = {
    "column": ("owners", "without_owner", "failed"),
    "job": ("tags", "owners", "without_owner"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """A dataset, column or job."""

    id: Element
    kind: str
    name: Name
    description: Label | None
    owners: tuple[str, ...]
    tags: tuple[str, ...]
    tagged_columns: tuple[ElementId, ...]
    failures: Annotated[tuple[Element, ...], Shown("ids of failed jobs and tests")]
    status: Annotated[Label | None, Shown("of a job's newest run")]
    last_run_at: Time | None


@dataclass(frozen=True, kw_only=True, repr=False)
class SearchResult(RowsResult):
    """Datasets, columns or jobs; of datasets, the columns with a requested tag and failures by id."""

    row_type = FoundRow

    items: Sequence[Vertex] = ()
    found: FoundDatasets = field(default_factory=FoundDatasets)

    def row(self, item: Vertex) -> FoundRow:
        """Return a dataset, column or job."""
        return row_of(
            FoundRow, item, id=item, kind=item.label, name=item.title, **self.found.describe(item.id)
        )


@dataclass(frozen=True, slots=True)
class SearchQuestion(Question[SearchResult]):
    """Find datasets, columns or jobs whose names contain a text."""

    question = "search"
    tool = ToolText(
        "Search the lineage graph",
        "Find datasets (tables, files, views, topics, dashboards), columns or jobs by part of a name, tag, "
        "owner or failure. Start here when you have no id or exact name.",
    )

    text: Annotated[SearchText, Parameter("part of a name; empty: all")] = ""
    kind: Annotated[Literal["dataset", "column", "job"], Parameter()] = "dataset"
    tags: Annotated[Iterable[str], Parameter("has all of these tags (datasets, columns)")] = ()
    owners: Annotated[Iterable[str], Parameter("has all of these owners (datasets)")] = ()
    without_owner: Annotated[bool, Parameter("only datasets without an owner")] = False
    failed: Annotated[bool, Parameter("newest run or test failed (datasets, jobs)")] = False

    def check(self, flag: Callable[[str], str]) -> None:
        """Raise `QueryError` for conditions that do not apply to the kind."""
        for condition in _INAPPLICABLE.get(self.kind, ()):
            if getattr(self, condition):
                raise QueryError(f"{condition} does not apply to {self.kind}s. Fix: omit it")
        if self.owners and self.without_owner:
            raise QueryError("owners and without_owner exclude each other. Fix: omit one of them")

    def answer(self, graph: ScopedGraph) -> SearchResult:
        """Return the elements: of a text, exact names first."""
        matching, note = FoundDatasets(), ""
        vertices: Sequence[Vertex]
        if self.kind == "dataset":
            conditions = {name: getattr(self, name) for name in _OF_DATASETS}
            datasets = DatasetsQuestion(self.text, **conditions).answer(graph)
            vertices, matching, note = datasets.datasets, datasets.found, datasets.note
        elif self.kind == "job":
            jobs = JobsQuestion(self.text, failed=self.failed).answer(graph)
            vertices, note = jobs.jobs, jobs.note
        else:
            vertices = self._columns(graph)
            note = "" if vertices else graph.empty_note("no matching column")
        text = self.text.casefold()

        def order(vertex: Vertex) -> tuple[bool, bool, str]:
            name = (vertex.qualified_name if vertex.label == COLUMN else vertex.name).casefold()
            return (name != text, not name.startswith(text), vertex.id)

        items = sorted(vertices, key=order) if text else vertices
        return SearchResult(question=self.question, scope=graph.scope, note=note, items=items, found=matching)

    def _columns(self, scoped: ScopedGraph) -> list[Vertex]:
        """Return the columns with the text in their name, and with all tags; `QueryError` without both."""
        tags = list(self.tags)
        if not tags:
            if not self.text:
                raise QueryError("a search of columns needs text or tags: there may be millions")
            return scoped.graph.search(self.text, (COLUMN,), scoped.environment, scoped.dag)
        spellings = list(case_variants(tags[0]))
        tagged = scoped.graph.find_tagged((COLUMN,), scoped.environment, scoped.dag, spellings)
        wanted, text = {tag.casefold() for tag in tags}, self.text.casefold()
        return [
            column
            for column in tagged
            if wanted <= {tag.casefold() for tag in values_of(column, "tags")}
            and text in column.qualified_name.casefold()
        ]
