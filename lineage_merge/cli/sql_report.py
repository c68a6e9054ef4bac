"""Output of the command `sql`: the lineage of SQL files, and what a review of them found."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import click

from lineage_merge.cli.answers import print_result
from lineage_merge.cli.query_options import QueryOptions
from lineage_merge.graph_format.elements import Edge, Vertex, column_title, subgraph, title_of_id
from lineage_merge.model.counts import format_names
from lineage_merge.orchestration.report_text import pluralize, problem_text
from lineage_merge.questions.result import Record, Result
from lineage_merge.questions.scoped_graph import GraphScope
from lineage_merge.review import sql_changes as kinds

if TYPE_CHECKING:
    from lineage_merge.review.graph_change import EdgeKey
    from lineage_merge.review.sql_review import SqlReview

# Tables that are listed by name.
_MAX_TARGETS = 5
_ARROWS = {"feeds": "->", "feeds_column": "->", "influences": "determines rows of"}


@dataclass(frozen=True, kw_only=True, repr=False)
class SqlResult(Result):
    """The lineage of SQL files. `values`: the JSON fields beside it."""

    columns: ClassVar[Mapping[str, type]] = {}

    values: Record

    def header(self) -> dict[str, Any]:
        """Return the first JSON fields."""
        return {"question": self.question, **self.values}

    def records(self) -> Iterator[Record]:
        """Yield nothing: the answer is a graph."""
        yield from ()


def print_review(
    review: "SqlReview",
    options: QueryOptions,
    since: str | None,
    notes: tuple[str, ...],
    *,
    columns: bool,
    influences: bool,
) -> None:
    """Print the lineage and the findings. `columns`, `influences`: include these edges."""
    labels = ["feeds", *(["has_column", "feeds_column"] if columns else [])]
    labels += ["influences"] if influences else []
    elements = list(review.shown.graph.everything())
    edges = [element for element in elements if isinstance(element, Edge) and element.label in labels]
    ends = {end for edge in edges for end in (edge.from_id, edge.to_id)}
    vertices = [
        element
        for element in elements
        if isinstance(element, Vertex) and (element.is_dataset or element.id in ends)
    ]
    values = {"since": since, "dag": options.dag, "notes": notes, **_as_json(review)}
    note = "" if review.files else "no SQL file changed" if since else "no SQL files found"
    result = SqlResult(
        question="sql",
        scope=GraphScope(dag=options.dag),
        graph=subgraph(vertices, edges),
        note=note,
        values=values,
    )
    print_result(result, options.format, options.out)
    for remark in notes:
        click.echo(f"note: {remark}", err=True)
    for_people = options.format in ("tree", "table")
    for line in _review_lines(review):
        click.echo(line, err=not for_people)
    if options.format != "json":
        if line := _assumption(review):
            click.echo(line, err=True)
        for problem in review.shown.problems:
            click.echo(problem_text(problem), err=True)


def _review_lines(review: "SqlReview") -> Iterator[str]:
    """Yield changed files and findings; nothing without a comparison."""
    if not review.is_compared:
        return
    for file in review.changed:
        names = " -> ".join(dict.fromkeys(name for name in (file.before, file.after) if name))
        yield f"{file.status:<8} {names}"
    yield ""
    if not review.has_changes:
        yield "lineage, columns and conditions are unchanged"
    for sign, kind in (("+", kinds.INPUT_ADDED), ("-", kinds.INPUT_REMOVED), ("~", kinds.EXPRESSION_CHANGED)):
        for finding in review.select_kind(kind):
            if finding.edge:
                detail = f": {finding.message}" if kind == kinds.EXPRESSION_CHANGED else ""
                yield f"{sign} {_edge_text(finding.edge)}{detail}"
    yield from (f"- {finding.title} {finding.message}" for finding in review.select_kind(kinds.TABLE_REMOVED))
    for dataset, columns in _list_dropped_columns(review).items():
        yield f"- {title_of_id(dataset)} dropped columns: {', '.join(columns)}"
    yield from (f"~ {finding.title} {finding.message}" for finding in review.select_kind(kinds.TYPE_CHANGED))
    for finding in review.clause_findings:
        yield f"~ {finding.title}: {finding.kind.removesuffix(' changed')} {finding.message}"
    yield from (
        f"? {finding.title}: {finding.message}" for finding in review.select_kind(kinds.COLUMNS_UNKNOWN)
    )
    yield from map(_describe_affected, _list_affected(review))
    yield from (
        f"! {finding.title}: {finding.message}" for finding in review.select_kind(kinds.READER_BREAKS)
    )


def _assumption(review: "SqlReview") -> str:
    """Return a line about INSERT statements of which the columns are assumed, "" without any."""
    targets = review.assumed_inserts
    if not targets:
        return ""
    inserts = pluralize(len(targets), "INSERT", "INSERTs")
    names = sorted({title_of_id(target) for target in targets})
    shown = format_names(names, _MAX_TARGETS)
    return f"assumed: {inserts} by the names of the query, because the columns are unknown: {shown}"


def _list_affected(review: "SqlReview") -> Iterator[dict[str, Any]]:
    """Yield the elements of the graph that are dropped or get another type, with what depends on them."""
    from lineage_merge.questions.traversal.effects import Change

    for kind in (kinds.TABLE_REMOVED, kinds.COLUMN_DROPPED, kinds.TYPE_CHANGED):
        for item in review.assessed:
            if item.finding.kind == kind and item.dependents:
                yield {
                    "of": item.dependents.changed.title,
                    "is_dropped": item.finding.change is Change.DROP,
                    "readers": list(item.readers),
                    **item.dependents.impact.counts,
                }


def _describe_affected(impact: Mapping[str, Any]) -> str:
    apart = ("of", "is_dropped", "readers")
    counts = ", ".join(f"{number} {noun}" for noun, number in impact.items() if noun not in apart and number)
    change = "is dropped" if impact["is_dropped"] else "changes"
    return f"  {impact['of']} {change}; downstream: {counts or 'nothing'}"


def _list_dropped_columns(review: "SqlReview") -> Mapping[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for finding in review.select_kind(kinds.COLUMN_DROPPED):
        columns.setdefault(finding.dataset, []).append(finding.column)
    return columns


def _edge_text(edge: "EdgeKey") -> str:
    """Return ``db.t#a -> db.u#b``."""
    source = column_title(edge.source) if edge.label != "feeds" else title_of_id(edge.source)
    target = column_title(edge.target) if edge.label == "feeds_column" else title_of_id(edge.target)
    return f"{source} {_ARROWS[edge.label]} {target}"


def _as_json(review: "SqlReview") -> dict[str, Any]:
    """Return the JSON fields before vertices and edges."""
    graph = review.shown.graph
    values: dict[str, Any] = {
        "files": list(review.files),
        "written": sorted({target for _, target in graph.pairs(["writes"])}),
        "read": sorted({source for source, _ in graph.pairs(["feeds"])}),
        "assumed": sorted(set(review.assumed_inserts)),
        "problems": [problem.as_json() for problem in review.shown.problems],
        "breaks": [
            {"where": finding.title, "why": finding.message}
            for finding in review.select_kind(kinds.READER_BREAKS)
        ],
    }
    if review.is_compared:
        values["changes"] = _changes(review)
    return values


def _changes(review: "SqlReview") -> dict[str, Any]:
    def edges(kind: str) -> list[dict[str, str]]:
        findings = review.select_kind(kind)
        return [finding.edge._asdict() for finding in findings if finding.edge]

    altered = review.select_kind(kinds.EXPRESSION_CHANGED)
    return {
        "files": [file._asdict() for file in review.changed],
        "added": edges(kinds.INPUT_ADDED),
        "removed": edges(kinds.INPUT_REMOVED),
        "altered": [
            {**finding.edge._asdict(), "before": finding.before, "after": finding.after}
            for finding in altered
            if finding.edge
        ],
        "dropped_datasets": [finding.dataset for finding in review.select_kind(kinds.TABLE_REMOVED)],
        "dropped_columns": dict(_list_dropped_columns(review)),
        "clauses": [
            {
                "dataset": finding.dataset,
                "kind": finding.kind.removesuffix(" changed"),
                "removed": list(finding.clauses[0]),
                "added": list(finding.clauses[1]),
            }
            for finding in review.clause_findings
        ],
        "retyped_columns": [
            {
                "dataset": finding.dataset,
                "column": finding.column,
                "before": finding.before,
                "after": finding.after,
            }
            for finding in review.select_kind(kinds.TYPE_CHANGED)
        ],
        "unknown_columns": [finding.dataset for finding in review.select_kind(kinds.COLUMNS_UNKNOWN)],
        "affected": list(_list_affected(review)),
    }
