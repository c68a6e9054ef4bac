"""Findings of a review of SQL files, in the form of other reviews."""

from collections.abc import Iterator

from lineage_merge.graph_format.elements import Vertex, dataset_of, title_of_id
from lineage_merge.questions.dependents import dependents
from lineage_merge.questions.effects import Change
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.review.changes import Flow
from lineage_merge.review.findings import Assessed, Finding, ReviewResult, Severity, in_order
from lineage_merge.review.readers import column_vertex, dataset_vertex
from lineage_merge.review.review import Review


def result_of(review: Review, graph: LineageGraph | None, environment: str) -> ReviewResult:
    """Return the findings of a review of SQL files; only breaks and invalid statements are breaking."""
    return ReviewResult(in_order(_assessed(review, graph, environment)))


def _assessed(review: Review, graph: LineageGraph | None, environment: str) -> Iterator[Assessed]:
    for problem in review.unparsed_statements:
        where = problem.document
        yield Assessed(
            Finding("invalid statement", where, where, problem.message, Severity.BREAKING, file_path=where)
        )
    for each in review.breaks:
        file, _, line = each.where.partition(", line ")
        is_file = bool(line)
        yield Assessed(
            Finding(
                "reader breaks",
                each.where,
                each.where,
                each.why,
                Severity.BREAKING,
                file_path=file if is_file else "",
            )
        )
    for finding in _findings(review):
        vertex = _vertex(finding, graph, environment)
        found = dependents(graph, vertex, change=finding.change) if graph and vertex else None
        yield Assessed(finding, found)


def _findings(review: Review) -> Iterator[Finding]:
    difference = review.difference
    if difference is None:
        return
    for dataset in difference.dropped_datasets:
        title = title_of_id(dataset)
        message = "is no longer created"
        yield Finding("table removed", title, dataset, message, dataset=dataset, change=Change.DROP)
    for dataset, names in difference.dropped_columns.items():
        for name in names:
            title = f"{title_of_id(dataset)}#{name}"
            yield Finding(
                "column dropped", title, dataset, "is dropped",
                before=name, dataset=dataset, column=name, change=Change.DROP,
            )  # fmt: skip
    for each in difference.retyped_columns:
        title = f"{title_of_id(each.dataset)}#{each.column}"
        yield Finding(
            "type changed", title, each.dataset, f"was {each.before}, is {each.after}",
            before=each.before, after=each.after, dataset=each.dataset, column=each.column,
            change=Change.RETYPE,
        )  # fmt: skip
    for altered in difference.altered_flows:
        text = f"was {altered.before}, is {altered.after}"
        yield _of_flow("expression changed", altered.flow, text, Severity.CHANGED)
    for clause in difference.altered_clauses:
        title = title_of_id(clause.dataset)
        before, after = " and ".join(clause.removed), " and ".join(clause.added)
        yield Finding(
            f"{clause.kind} changed", title, clause.dataset, f"was {before or 'none'}, is {after or 'none'}",
            before=before, after=after, dataset=clause.dataset,
        )  # fmt: skip
    for flow in difference.removed_flows:
        yield _of_flow("input removed", flow, f"is no longer computed from {_source(flow)}", Severity.CHANGED)
    for flow in difference.added_flows:
        yield _of_flow("input added", flow, f"is computed from {_source(flow)}", Severity.INFO)
    for dataset in difference.unknown_columns:
        title = title_of_id(dataset)
        yield Finding("columns unknown", title, dataset, "columns are no longer known", Severity.INFO)


def _of_flow(kind: str, flow: Flow, message: str, severity: Severity) -> Finding:
    is_column = flow.label == "feeds_column"
    dataset = dataset_of(flow.target) if is_column else flow.target
    column = flow.target.rpartition("|")[2] if is_column else ""
    title = f"{title_of_id(dataset)}#{column}" if is_column else title_of_id(dataset)
    return Finding(kind, title, flow.target, message, severity, dataset=dataset, column=column)


def _source(flow: Flow) -> str:
    if flow.label == "feeds":
        return title_of_id(flow.source)
    return f"{title_of_id(dataset_of(flow.source))}#{flow.source.rpartition('|')[2]}"


def _vertex(finding: Finding, graph: LineageGraph | None, environment: str) -> Vertex | None:
    if graph is None or not finding.dataset or finding.severity is Severity.INFO:
        return None
    owner = dataset_vertex(graph, finding.dataset, environment)
    if owner is None or not finding.column:
        return owner
    return column_vertex(graph, owner, finding.column)
