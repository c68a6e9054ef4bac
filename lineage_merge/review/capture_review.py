"""Review of a captured Spark job: what its new plan changes of the datasets that it writes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lineage_merge.graph_format.captures import CaptureDocument, Clause
from lineage_merge.graph_format.elements import dataset_id_of, title_of_id
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.effects import Change
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.review import clause_comparison
from lineage_merge.review.captured_jobs import JobVersion, WrittenDataset, is_of_job, of_document, of_graph
from lineage_merge.review.clauses import ComparableQuery, QueryClause
from lineage_merge.review.column_comparison import compare_columns
from lineage_merge.review.consequences import PolicySettings, consequences, new_violations
from lineage_merge.review.findings import Finding, ReviewResult, Severity, Subject, in_order
from lineage_merge.review.graph_lookup import GraphIds, column_vertex
from lineage_merge.review.replaced_graph import everything


def review_capture(
    head: CaptureDocument,
    base: CaptureDocument | None,
    graph: LineageGraph | None,
    environment: str,
    *,
    dag: str | None = None,
    settings: PolicySettings | None = None,
) -> ReviewResult:
    """Return the findings of a changed job. Without a base, the graph's own state of the job is the base."""
    known: LineageGraph = graph or InMemory((), ())
    ids = GraphIds(known, environment)
    after = of_document(head, environment, ids)
    if base is None:
        before = of_graph(known, head.job_type, head.job_name, after.written, dag)
    else:
        before = of_document(base, environment, ids)
    findings, notes = compare_jobs(before, after)
    if graph is None:
        notes.append("no graph: what depends on the job is not known. Fix: set --folder or --config")
    assessed = [consequences(finding, _element_id(known, finding), known) for finding in findings]
    if graph is not None and settings and settings.policies:
        elements = everything(graph, environment)
        own = set(after.written)
        edges = [
            each
            for each in elements[1]
            if not (is_of_job(each, head.job_type, head.job_name) and dataset_id_of(each.to_id) in own)
        ]
        held = {each.id for each in elements[0]}
        new = [vertex for vertex in after.vertices if vertex.id not in held]
        changed = InMemory([*elements[0], *new], [*edges, *after.edges])
        assessed += new_violations(InMemory(*elements), changed, settings, environment)
    return ReviewResult(in_order(assessed), tuple(dict.fromkeys((*notes, *after.notes))))


def _element_id(graph: LineageGraph, finding: Finding) -> str:
    vertices = graph.vertices([finding.dataset])
    if not vertices or not finding.column:
        return vertices[0].id if vertices else ""
    column = column_vertex(graph, vertices[0], finding.column)
    return column.id if column else ""


def compare_jobs(before: JobVersion, after: JobVersion) -> tuple[list[Finding], list[str]]:
    """Return the differences of a job's writes, and notes on what could not be compared. Pure."""
    findings = list(_outputs(before, after))
    notes: list[str] = []
    if not before.written:
        targets = ", ".join(map(title_of_id, after.written))
        notes.append(
            f"the graph has no job {after.name} that writes {targets}: nothing is compared."
            " Fix: capture with the name that the job has in the graph, or set --base"
        )
    moved = _moved(before, after)
    for dataset, now in {**{each: each for each in sorted(after.written)}, **moved}.items():
        if dataset not in before.written:
            continue
        old, new = before.written[dataset], after.written[now]
        subject = _subject(after.name, dataset)
        if not (old.is_known and new.is_known):
            notes.append(f"{title_of_id(dataset)}: its columns have no lineage: they are not compared")
        else:
            findings += compare_columns(subject.of_column, old.columns, new.columns)
        findings += _rows(subject, old, new, has_clauses=before.clauses is not None)
        if before.clauses is not None:
            changed = clause_comparison.difference(_query(before.clauses), _query(after.clauses or ()))
            findings += (subject.clause(kind, *texts) for kind, texts in sorted(changed.items()))
    return findings, notes


def _subject(job: str, dataset: str) -> Subject:
    return Subject(title_of_id(dataset), job, dataset)


def _outputs(before: JobVersion, after: JobVersion) -> Iterator[Finding]:
    """Yield datasets that the job no longer writes, or newly writes."""
    moved = _moved(before, after)
    removed = sorted(before.written.keys() - after.written.keys() - moved.keys())
    added = sorted(after.written.keys() - before.written.keys() - {*moved.values()}) if before.written else []
    for was, now in moved.items():
        reason = _equal_parts(before.written[was], after.written[now])
        message = f"is now written to {title_of_id(now)} (a guess: {reason})"
        finding = _subject(after.name, was).finding("output moved", message)
        yield replace(
            finding, before=finding.title, after=title_of_id(now), change=Change.RENAME, is_guess=True
        )
    for each in removed:
        finding = _subject(after.name, each).finding("output removed", f"{after.name} no longer writes it")
        yield replace(finding, before=finding.title, change=Change.DROP)
    for each in added:
        finding = _subject(after.name, each).finding("output added", f"is written by {after.name}")
        yield replace(finding, after=finding.title, severity=Severity.INFO)


def _moved(before: JobVersion, after: JobVersion) -> dict[str, str]:
    """Return new by old id of a dataset that seems to be written elsewhere, if there is only one.

    That is a guess: the columns or the inputs are equal.
    """
    removed = before.written.keys() - after.written.keys()
    added = after.written.keys() - before.written.keys()
    if len(removed) != 1 or len(added) != 1:
        return {}
    was, now = removed.pop(), added.pop()
    return {was: now} if _equal_parts(before.written[was], after.written[now]) else {}


def _equal_parts(old: WrittenDataset, new: WrittenDataset) -> str:
    """Return what is equal: ``same columns and inputs``; "" for nothing."""
    same = [
        *(["columns"] if old.columns.named and old.columns.named.keys() == new.columns.named.keys() else []),
        *(["inputs"] if old.inputs and old.inputs == new.inputs else []),
    ]
    return f"same {' and '.join(same)}" if same else ""


def _rows(
    subject: Subject, old: WrittenDataset, new: WrittenDataset, *, has_clauses: bool
) -> Iterator[Finding]:
    if old.modes and new.modes and old.modes != new.modes:
        before, after = ", ".join(sorted(old.modes)), ", ".join(sorted(new.modes))
        finding = subject.finding("write mode changed", f"was {before}, is {after}")
        yield replace(finding, before=before, after=after)
    for source in sorted(map(title_of_id, old.inputs - new.inputs)):
        finding = subject.finding("input removed", f"is no longer computed from {source}")
        yield replace(finding, before=source)
    for source in sorted(map(title_of_id, new.inputs - old.inputs)):
        finding = subject.finding("input added", f"is computed from {source}")
        yield replace(finding, after=source, severity=Severity.INFO)
    if has_clauses:
        return
    # The graph has the columns of conditions, not their texts.
    for kind, removed, added in clause_comparison.altered_influences(old.influences, new.influences):
        yield subject.clause(kind, removed, added)


def _query(clauses: Iterable[Clause]) -> ComparableQuery:
    return ComparableQuery("", Counter(QueryClause(clause.kind, clause.text) for clause in clauses))
