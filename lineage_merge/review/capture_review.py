"""Review of a captured Spark job: what its new plan changes of the datasets that it writes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.captures import CaptureDocument, Clause
from lineage_merge.graph_format.elements import (
    COLUMN,
    Edge,
    Vertex,
    edge_of_row,
    title_of_id,
    vertex_of_row,
)
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import column_of, dataset_of, dot_path, encode
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.review import comparison
from lineage_merge.review.clauses import ComparableQuery, QueryClause
from lineage_merge.review.comparison import ColumnInput, Columns, compare_columns
from lineage_merge.review.consequences import (
    GraphLookup,
    PolicySettings,
    consequences,
    everything,
    new_violations,
)
from lineage_merge.review.findings import Finding, ReviewResult, Severity, Subject, sort_findings
from lineage_merge.review.graph_change import graph_change
from lineage_merge.review.query_sources import remove_qualifiers
from lineage_merge.sources.dbt.columns import Column

_OF_JOB = ("feeds", "feeds_column", "influences")
# Vertices that are not part of the comparison.
_APART = ("job", "operation")


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """A dataset that a job writes: its columns, inputs, and the columns that determine its rows, by kind.

    `is_known` false: the job has no column lineage into it.
    """

    columns: Columns
    inputs: frozenset[str]
    modes: frozenset[str]
    influences: Mapping[str, Set[str]]
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class JobVersion:
    """A job at one time. `written`: by id in the graph; `clauses` None: not known.

    `vertices` and `edges` have ids of the graph.
    """

    name: str
    written: Mapping[str, WrittenDataset]
    clauses: Sequence[Clause] | None
    vertices: tuple[Vertex, ...] = ()
    edges: tuple[Edge, ...] = ()
    notes: tuple[str, ...] = ()


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
    lookup = GraphLookup(known, environment)
    after = _read_document(head, environment, lookup.id_of)
    if base is None:
        before = _read_graph(lookup, head, after.written, dag)
    else:
        before = _read_document(base, environment, lookup.id_of)
    findings, notes = _compare_jobs(before, after)
    if graph is None:
        notes.append("no graph: what depends on the job is not known. Fix: set --folder or --config")
    assessed = []
    for finding in findings:
        element = lookup.element(finding)
        assessed.append(consequences(finding, element.id if element else "", known))
    if graph is not None and settings and settings.policies:
        vertices, edges = everything(graph, environment)
        others = [
            edge for edge in edges if not (_is_of_job(edge, head) and dataset_of(edge.to_id) in after.written)
        ]
        held = {vertex.id for vertex in vertices}
        new = [vertex for vertex in after.vertices if vertex.id not in held]
        changed = InMemory([*vertices, *new], [*others, *after.edges])
        assessed += new_violations(InMemory(vertices, edges), changed, settings, environment)
    shown = known if graph else InMemory(before.vertices, before.edges)
    change = graph_change(shown, (before.vertices, before.edges), (after.vertices, after.edges))
    return ReviewResult(sort_findings(assessed), tuple(dict.fromkeys((*notes, *after.notes))), change=change)


# ---- versions of a job


def _read_document(document: CaptureDocument, environment: str, id_of: Callable[[str], str]) -> JobVersion:
    """Return the job of a document, in an environment of the graph: notebooks capture in their own one."""

    def graph_id(identifier: str) -> str:
        rest = identifier.removeprefix(f"{encode(document.environment)}|")
        return id_of(f"{encode(environment)}|{rest}")

    vertices = tuple(
        Vertex(graph_id(vertex.id), vertex.label, {**vertex.properties, "environment": environment})
        for vertex in map(vertex_of_row, document.nodes)
        if vertex.label not in _APART
    )
    edges = tuple(
        replace(
            edge,
            from_id=graph_id(edge.from_id),
            to_id=graph_id(edge.to_id),
            properties={**edge.properties, "environment": environment},
        )
        for edge in map(edge_of_row, document.edges)
        if edge.label in (*_OF_JOB, "has_column")
    )
    own = [edge for edge in edges if edge.label in _OF_JOB]
    written = dict(_list_written(vertices, [edge for edge in edges if edge.label == "has_column"], own))
    return JobVersion(document.job_name, written, document.clauses, vertices, edges, tuple(document.notes))


def _read_graph(
    lookup: GraphLookup, job: CaptureDocument, targets: Iterable[str], dag: str | None
) -> JobVersion:
    """Return what the graph has of a job's writes to datasets."""
    graph = lookup.graph
    datasets = [vertex.id for vertex in graph.vertices(sorted(targets))]
    owned = graph.edges_from(datasets, ["has_column"])
    columns = graph.vertices([edge.to_id for edge in owned])
    arriving = [
        *graph.edges_to(datasets, ["feeds", "influences"], dag),
        *graph.edges_to([column.id for column in columns], ["feeds_column"], dag),
    ]
    own = [edge for edge in arriving if _is_of_job(edge, job)]
    # Columns that only another job writes are not the job's.
    others = {edge.to_id for edge in arriving if edge not in own and edge.label == "feeds_column"}
    others -= {edge.to_id for edge in own}
    held = [column for column in columns if column.id not in others]
    vertices = (*graph.vertices(datasets), *held)
    return JobVersion(job.job_name, dict(_list_written(held, owned, own)), None, vertices, (*owned, *own))


def _is_of_job(edge: Edge, job: CaptureDocument) -> bool:
    return edge.job == job.job_name and edge.properties.get("job_type") == job.job_type


def _list_written(
    vertices: Iterable[Vertex], owned: Iterable[Edge], own: Sequence[Edge]
) -> Iterator[tuple[str, WrittenDataset]]:
    columns = {vertex.id: vertex for vertex in vertices if vertex.label == COLUMN}
    of_dataset = gather((edge.from_id, columns[edge.to_id]) for edge in owned if edge.to_id in columns)
    for dataset in sorted({edge.to_id for edge in own if edge.label == "feeds"}):
        feeds, flows, influences = (
            [edge for edge in own if edge.label == label and dataset_of(edge.to_id) == dataset]
            for label in _OF_JOB
        )
        unavailable = any(feed.properties.get("column_lineage") == "unavailable" for feed in feeds)
        yield (
            dataset,
            WrittenDataset(
                Columns.from_columns(_columns(of_dataset.get(dataset, ())), _inputs(flows), title_of_id),
                frozenset(feed.from_id for feed in feeds),
                frozenset(str(mode) for feed in feeds if (mode := feed.properties.get("write_mode"))),
                _influences(influences),
                bool(flows) and not unavailable,
            ),
        )


def _columns(vertices: Iterable[Vertex]) -> Iterator[Column]:
    for vertex in sorted(vertices, key=lambda vertex: (vertex.properties.get("position", 0), vertex.id)):
        position = vertex.properties.get("position")
        yield Column(vertex.name, str(vertex.properties.get("data_type", "")), "", position)


def _inputs(flows: Iterable[Edge]) -> Iterator[tuple[str, ColumnInput]]:
    for flow in flows:
        source, column = dataset_of(flow.from_id), column_of(flow.from_id)
        how = tuple(str(flow.properties.get("transformation", "")).split(","))
        expression = remove_qualifiers(str(flow.properties.get("expression", "")))
        yield column_of(flow.to_id), ColumnInput(source, fold(column), how, expression)


def _influences(edges: Iterable[Edge]) -> Mapping[str, Set[str]]:
    influences: dict[str, set[str]] = {}
    for edge in edges:
        title = f"{title_of_id(dataset_of(edge.from_id))}#{fold(dot_path(column_of(edge.from_id)))}"
        for kind in str(edge.properties.get("transformation", "")).split(","):
            influences.setdefault(kind.strip(), set()).add(title)
    return influences


# ---- comparison


def _compare_jobs(before: JobVersion, after: JobVersion) -> tuple[list[Finding], list[str]]:
    """Return the differences of a job's writes, and notes on what could not be compared. Pure."""
    moved = _find_moved(before, after)
    findings = list(_outputs(before, after, moved))
    notes: list[str] = []
    if not before.written:
        targets = ", ".join(map(title_of_id, after.written))
        notes.append(
            f"the graph has no job {after.name} that writes {targets}: nothing is compared."
            " Fix: capture with the name that the job has in the graph, or set --base"
        )
    for dataset, now in {**{key: key for key in sorted(after.written)}, **moved}.items():
        if dataset not in before.written:
            continue
        old, new = before.written[dataset], after.written[now]
        subject = _subject(after.name, dataset)
        if not (old.is_known and new.is_known):
            notes.append(f"{subject.title}: its columns have no lineage: they are not compared")
        else:
            findings += compare_columns(subject, old.columns, new.columns)
        findings += _inputs_and_modes(subject, old, new)
        if before.clauses is None:
            # The graph has the columns of conditions, not their texts.
            influences = comparison.find_altered_influences(old.influences, new.influences)
            findings += (subject.clause(*altered) for altered in influences)
        else:
            changed = comparison.difference(_query(before.clauses), _query(after.clauses or ()))
            findings += (subject.clause(kind, *texts) for kind, texts in sorted(changed.items()))
    return findings, notes


def _subject(job: str, dataset: str) -> Subject:
    return Subject(title_of_id(dataset), job, dataset)


def _outputs(before: JobVersion, after: JobVersion, moved: Mapping[str, str]) -> Iterator[Finding]:
    """Yield datasets that the job no longer writes, or newly writes."""
    job = after.name
    for was, now in moved.items():
        subject, target = _subject(job, was), title_of_id(now)
        message = (
            f"is now written to {target} (a guess: {_equal_parts(before.written[was], after.written[now])})"
        )
        yield subject.finding(
            "output moved", message, before=subject.title, after=target, change=Change.RENAME, is_guess=True
        )
    for dataset in sorted(before.written.keys() - after.written.keys() - moved.keys()):
        subject = _subject(job, dataset)
        yield subject.finding(
            "output removed", f"{job} no longer writes it", before=subject.title, change=Change.DROP
        )
    added = after.written.keys() - before.written.keys() - {*moved.values()} if before.written else ()
    for dataset in sorted(added):
        subject = _subject(job, dataset)
        yield subject.finding("output added", f"is written by {job}", Severity.INFO, after=subject.title)


def _find_moved(before: JobVersion, after: JobVersion) -> dict[str, str]:
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


def _inputs_and_modes(subject: Subject, old: WrittenDataset, new: WrittenDataset) -> Iterator[Finding]:
    if old.modes and new.modes and old.modes != new.modes:
        before, after = ", ".join(sorted(old.modes)), ", ".join(sorted(new.modes))
        yield subject.report_altered("write mode changed", before, after)
    for source in sorted(map(title_of_id, old.inputs - new.inputs)):
        yield subject.finding("input removed", f"is no longer computed from {source}", before=source)
    for source in sorted(map(title_of_id, new.inputs - old.inputs)):
        yield subject.finding("input added", f"is computed from {source}", Severity.INFO, after=source)


def _query(clauses: Iterable[Clause]) -> ComparableQuery:
    return ComparableQuery("", Counter(QueryClause(clause.kind, clause.text) for clause in clauses))
