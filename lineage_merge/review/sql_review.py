"""Review of SQL files, or of their changes since a git revision: lineage, differences, and what breaks."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from lineage_merge.column_lineage.scripts.shapes import NOTHING, Shape, ShapeColumn, Shapes
from lineage_merge.graph_format.elements import Edge, title_of_id
from lineage_merge.model.elements import dataset_of, is_field
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.review import git
from lineage_merge.review.consequences import GraphLookup, consequences, everything
from lineage_merge.review.findings import Assessed, Finding, ReviewResult, Severity, sort_findings
from lineage_merge.review.graph_change import GraphChange, graph_change
from lineage_merge.review.sql_changes import (
    COLUMN_DROPPED,
    COLUMNS_UNKNOWN,
    READER_BREAKS,
    TABLE_REMOVED,
    TYPE_CHANGED,
    SqlChange,
    compare_files,
    reader_breaks,
)
from lineage_merge.review.sql_versions import FileKey, SqlFolders, SqlTexts, SqlVersion
from lineage_merge.sources.sql.translator import JOB_TYPE

INVALID_STATEMENT = "invalid statement"


@dataclass(frozen=True, slots=True)
class SqlReview:
    """Lineage of SQL files; with a revision, only of files that changed since, and the findings.

    `files`: paths, as in problems and findings; `assessed`: the findings in the order of the comparison;
    `change`: that of the graph, of a comparison.
    """

    shown: SqlVersion
    files: tuple[str, ...]
    assessed: tuple[Assessed, ...] = ()
    changed: tuple[git.ChangedFile, ...] = ()
    is_compared: bool = False
    change: GraphChange | None = None

    @property
    def result(self) -> ReviewResult:
        """Return the findings in the form of other reviews."""
        return ReviewResult(sort_findings(self.assessed), change=self.change)

    @property
    def assumed_inserts(self) -> list[str]:
        """Ids of the targets of INSERT statements whose columns are assumed, one for each statement."""
        return [
            write.target
            for folder in self.shown.folders
            for file in folder.files
            for write in file.writes
            if write.assumed
        ]

    @property
    def invalid_statements(self) -> list[Finding]:
        """The statements that cannot be parsed."""
        return self.select_kind(INVALID_STATEMENT)

    @property
    def clause_findings(self) -> list[Finding]:
        """The findings on conditions, joins, groupings and texts of expressions."""
        return [item.finding for item in self.assessed if item.finding.clauses != ((), ())]

    @property
    def has_changes(self) -> bool:
        """Whether lineage, columns or conditions changed."""
        others = (READER_BREAKS, COLUMNS_UNKNOWN, INVALID_STATEMENT)
        return any(item.finding.kind not in others for item in self.assessed)

    def select_kind(self, kind: str) -> list[Finding]:
        """Return the findings of a kind."""
        return [item.finding for item in self.assessed if item.finding.kind == kind]


def review_files(folders: SqlFolders, graph: LineageGraph | None = None) -> SqlReview:
    """Return the lineage of all files. Columns that no file defines are read from the graph.

    INSERT into a table whose columns are unknown is assumed to fill those that the query's are named after.
    """
    folders = folders.with_insert_names(assumed=True)
    texts = SqlTexts(folders)
    shown, _ = _add_known_columns(folders, texts, graph)
    return SqlReview(shown, _paths(texts.now, folders), tuple(_invalid_statements(shown)))


def review_changes(folders: SqlFolders, revision: str, graph: LineageGraph | None = None) -> SqlReview:
    """Return the lineage of files that changed since a revision, and findings. Raises `SourceError`.

    Only readers that fail and invalid statements are breaking.
    """
    since = git.read_changes(revision, [Path(setting.path).expanduser() for setting in folders.settings])
    # A comparison reports what certainly changes.
    folders = replace(folders, root=since.root).with_insert_names(assumed=False)
    texts = SqlTexts(folders)
    earlier = texts.read_before(since)
    old, new = set(earlier.changed), set(earlier.changing)
    now, known = _add_known_columns(folders, texts, graph)
    before = texts.version(earlier.files, known)
    old_files = {path: key for key, path in earlier.changed.items()}
    old_paths = {file.after: file.before for file in since.changed}
    renamed = {
        key: old_files[old_paths[path]]
        for key, path in earlier.changing.items()
        if old_paths.get(path) in old_files
    }
    change = SqlChange(folders, before, now, old, new, renamed)
    assessed = [Assessed(finding) for finding in compare_files(change)]
    lookup = GraphLookup(before.graph if graph is None else graph, folders.names.environment)
    if graph is not None:
        own_jobs = folders.jobs((*old, *new, *earlier.files, *texts.now))
        assessed = list(_add_readers(assessed, lookup, own_jobs))
    shown = texts.version(texts.now, known, new)
    unique = {(item.finding, item.readers): item for item in assessed}
    return SqlReview(
        shown,
        _paths(new, folders),
        (*_invalid_statements(shown), *unique.values()),
        since.changed,
        is_compared=True,
        change=graph_change(
            lookup.graph, everything(before.graph, None), everything(now.graph, None), lookup.id_of
        ),
    )


def _add_known_columns(
    folders: SqlFolders, texts: SqlTexts, graph: LineageGraph | None
) -> tuple[SqlVersion, Shapes]:
    """Return the current version, and columns of the graph for datasets that the files do not define.

    Such columns are complete if each has a position.
    """
    shown = texts.version(texts.now)
    if graph is None:
        return shown, {}
    unknown = {
        key
        for folder in shown.folders
        for key, reference in folder.datasets.references.items()
        if reference.namespace and not folder.shapes.get(key, NOTHING).complete
    }
    shapes: dict[str, Shape] = {}
    lookup = GraphLookup(graph, folders.names.environment)
    for dataset in sorted(unknown):
        vertex = lookup.dataset(dataset)
        known = lookup.columns(vertex.id) if vertex else []
        if columns := [column for column in known if not is_field(column.id)]:
            columns.sort(key=lambda column: (column.properties.get("position", 0), column.id))
            positions = sorted(column.properties.get("position", -1) for column in columns)
            complete = positions == list(range(len(columns)))
            placed = (ShapeColumn(c.name, str(c.properties.get("data_type", ""))) for c in columns)
            shapes[dataset] = Shape(tuple(placed), complete, declared=complete)
    return (texts.version(texts.now, shapes) if shapes else shown), shapes


def _invalid_statements(shown: SqlVersion) -> Iterator[Assessed]:
    for problem in shown.problems:
        if problem.kind == "rejected":
            file, severity = problem.document, Severity.BREAKING
            yield Assessed(Finding(INVALID_STATEMENT, file, file, problem.message, severity, file_path=file))


def _add_readers(assessed: Iterable[Assessed], lookup: GraphLookup, own_jobs: Set[str]) -> Iterator[Assessed]:
    """Yield findings with their consequences in the graph, and a finding per reader of a dropped element.

    `own_jobs`: those of the files, which are reviewed themselves.
    """
    graph = lookup.graph
    breaking: list[Assessed] = []
    for item in assessed:
        finding = item.finding
        vertex = None if finding.severity is Severity.INFO else lookup.element(finding)
        if vertex is None:
            yield item
            continue
        readers: Sequence[str] = ()
        if finding.kind in (TABLE_REMOVED, COLUMN_DROPPED, TYPE_CHANGED):
            labels = ["feeds"] if finding.kind == TABLE_REMOVED else ["feeds_column", "influences"]
            edges = graph.edges_from([vertex.id], labels)
            readers = sorted({_reader(edge) for edge in edges if not _is_file_job(edge, own_jobs)})
        if finding.kind in (TABLE_REMOVED, COLUMN_DROPPED):
            why = f"reads {vertex.title}, which is dropped"
            breaking += (Assessed(reader_breaks(reader, why)) for reader in readers)
        yield replace(consequences(finding, vertex.id, graph, is_adapted=False), readers=tuple(readers))
    yield from breaking


def _is_file_job(edge: Edge, jobs: Set[str]) -> bool:
    return edge.properties.get("job_type") == JOB_TYPE and edge.job in jobs


def _reader(edge: Edge) -> str:
    target = dataset_of(edge.to_id) if edge.label == "feeds_column" else edge.to_id
    job_type = edge.properties.get("job_type", "")
    dag = edge.properties.get("dag_name", "")
    return f"{job_type} {edge.job} (DAG {dag}), into {title_of_id(target)}"


def _paths(keys: Iterable[FileKey], folders: SqlFolders) -> tuple[str, ...]:
    return tuple(sorted(map(folders.path_of, keys)))
