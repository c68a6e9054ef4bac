"""The question `search` of assistants: datasets, columns or jobs by name, tag, owner or failure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from lineage_merge.graph_format.elements import COLUMN, Vertex, values_of
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.case_variants import case_variants
from lineage_merge.questions.dataset_search import DatasetsQuestion
from lineage_merge.questions.fields import Element, ElementId, Label, Name, Shown, Time
from lineage_merge.questions.listing import JobsQuestion
from lineage_merge.questions.question import Parameter, Question, SearchText, ToolText
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph

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
    tagged_columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: Mapping[str, tuple[Vertex, ...]] = field(default_factory=dict)

    def row(self, item: Vertex) -> FoundRow:
        """Return a dataset, column or job."""
        return FoundRow(
            id=item,
            kind=item.label,
            name=item.title,
            description=item.properties.get("description"),
            owners=values_of(item, "owners"),
            tags=values_of(item, "tags"),
            tagged_columns=self.tagged_columns.get(item.id, ()),
            failures=self.failures.get(item.id, ()),
            status=item.properties.get("status"),
            last_run_at=item.properties.get("last_run_at"),
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
        if self.kind == "dataset":
            datasets = DatasetsQuestion(
                self.text,
                tags=self.tags,
                owners=self.owners,
                without_owner=self.without_owner,
                failed=self.failed,
            ).answer(graph)
            found = datasets.found
            return self._result(graph, found.datasets, datasets.note, found.tagged_columns, found.failures)
        if self.kind == "job":
            jobs = JobsQuestion(self.text, failed=self.failed).answer(graph)
            return self._result(graph, jobs.jobs, jobs.note)
        columns = self._columns(graph)
        return self._result(graph, columns, "" if columns else graph.empty_note("no matching column"))

    def _columns(self, scoped: ScopedGraph) -> list[Vertex]:
        """Return the columns with the text in their name, and with all tags; `QueryError` without both."""
        tags = list(self.tags)
        if not tags:
            if not self.text:
                raise QueryError("a search of columns needs text or tags: there may be millions")
            return scoped.graph.search(self.text, (COLUMN,), scoped.environment, scoped.dag)
        spellings = list(case_variants(tags[0]))
        tagged = scoped.graph.tagged((COLUMN,), scoped.environment, scoped.dag, spellings)
        wanted, text = {tag.casefold() for tag in tags}, self.text.casefold()
        return [
            column
            for column in tagged
            if wanted <= {tag.casefold() for tag in values_of(column, "tags")}
            and text in column.name.casefold()
        ]

    def _result(
        self,
        graph: ScopedGraph,
        vertices: Sequence[Vertex],
        note: str,
        tagged_columns: Mapping[str, tuple[str, ...]] | None = None,
        failures: Mapping[str, tuple[Vertex, ...]] | None = None,
    ) -> SearchResult:
        text = self.text.casefold()

        def order(vertex: Vertex) -> tuple[bool, bool, str]:
            name = vertex.name.casefold()
            return (name != text, not name.startswith(text), vertex.id)

        return SearchResult(
            question=self.question,
            scope=graph.scope,
            note=note,
            items=sorted(vertices, key=order) if text else vertices,
            tagged_columns=tagged_columns or {},
            failures=failures or {},
        )
