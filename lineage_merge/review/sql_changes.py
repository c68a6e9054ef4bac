"""Findings of changed SQL files: differences between two versions of their folders. Pure."""

from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts.results import FileLineage
from lineage_merge.column_lineage.scripts.shapes import NOTHING
from lineage_merge.column_lineage.scripts.syntax import Unload
from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import column_title, title_of_id
from lineage_merge.model.elements import column_of, dataset_of, dot_path
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.review import comparison
from lineage_merge.review.clauses import ComparableQuery, query_of
from lineage_merge.review.findings import Finding, Severity, Subject
from lineage_merge.review.graph_change import EdgeKey
from lineage_merge.review.sql_versions import FileKey, SqlFolders, SqlVersion

TABLE_REMOVED = "table removed"
COLUMN_DROPPED = "column dropped"
TYPE_CHANGED = "type changed"
INPUT_ADDED = "input added"
INPUT_REMOVED = "input removed"
EXPRESSION_CHANGED = "expression changed"
COLUMNS_UNKNOWN = "columns unknown"
READER_BREAKS = "reader breaks"

_LINEAGE = ("feeds", "feeds_column", "influences")
# Prefixes of notes on statements that will fail.
_ERROR_NOTES = (notes.MISSING_COLUMNS, notes.WRONG_COLUMN_COUNT)
# Prefixes of notes on unknown columns; if they were known before, a referenced column was dropped.
_UNKNOWN_COLUMN_NOTES = (notes.UNKNOWN_TABLE, notes.UNKNOWN_STAR, notes.UNKNOWN_POSITIONS)


@dataclass(frozen=True, slots=True)
class SqlChange:
    """Two versions of the same folders, and the files that changed in each. `renamed`: old by new file."""

    folders: SqlFolders
    before: SqlVersion
    after: SqlVersion
    old_files: Set[FileKey]
    new_files: Set[FileKey]
    renamed: Mapping[FileKey, FileKey]


def compare_files(change: SqlChange) -> Iterator[Finding]:
    """Yield the differences of the changed files, and what fails in any file."""
    before, after = change.before, change.after
    removed = sorted(_datasets_of(before) - _datasets_of(after))
    yield from _edge_findings(change)
    for dataset in removed:
        yield _subject(dataset).finding(TABLE_REMOVED, "is no longer created", change=Change.DROP)
    yield from _column_findings(before, after)
    yield from _clause_findings(change)
    yield from _failing_references(change)
    yield from _failing_readers(removed, change)


def reader_breaks(where: str, why: str, file_path: str = "") -> Finding:
    """Return the finding that a statement or job (`where`) will fail."""
    return Finding(READER_BREAKS, where, where, why, Severity.BREAKING, file_path=file_path)


def _subject(dataset: str) -> Subject:
    return Subject(title_of_id(dataset), dataset, dataset)


def _edge_findings(change: SqlChange) -> Iterator[Finding]:
    before, after, folders = change.before, change.after, change.folders
    old, new = _edges(before), _edges(after)
    own_old = _edges(before, folders.jobs(change.old_files))
    own_new = _edges(after, folders.jobs(change.new_files))
    for key in sorted(own_new.keys() - old.keys()):
        yield _report_edge(key, INPUT_ADDED, f"is computed from {_source(key)}", severity=Severity.INFO)
    for key in sorted(own_old.keys() - new.keys()):
        yield _report_edge(key, INPUT_REMOVED, f"is no longer computed from {_source(key)}")
    for key in sorted(own_old.keys() & own_new.keys()):
        was, now = own_old[key], own_new[key]
        if was != now:
            yield _report_edge(key, EXPRESSION_CHANGED, f"was {was}, is {now}", before=was, after=now)


def _report_edge(edge: EdgeKey, kind: str, message: str, **fields: Any) -> Finding:
    is_column = edge.label == "feeds_column"
    dataset = dataset_of(edge.target) if is_column else edge.target
    column = dot_path(column_of(edge.target)) if is_column else ""
    subject = Subject(title_of_id(dataset), edge.target, dataset)
    return subject.finding(kind, message, column=column, edge=edge, **fields)


def _source(edge: EdgeKey) -> str:
    if edge.label == "feeds":
        return title_of_id(edge.source)
    return column_title(edge.source)


def _edges(version: SqlVersion, jobs: Container[str] | None = None) -> dict[EdgeKey, str]:
    """Return the edges, of these jobs, with their write mode, transformation and expression as text."""
    texts: dict[EdgeKey, set[str]] = {}
    for edge in version.edges:
        if edge["label"] in _LINEAGE and (jobs is None or edge.get("job_name") in jobs):
            shown = (
                str(edge[key]) for key in ("write_mode", "transformation", "expression") if edge.get(key)
            )
            key = EdgeKey(edge["label"], edge["from"], edge["to"])
            texts.setdefault(key, set()).add(" ".join(shown))
    return {key: " | ".join(sorted(several)) for key, several in texts.items()}


def _datasets_of(version: SqlVersion) -> set[str]:
    """Return the canonical ids of the datasets that files create or write."""
    files = [file for _, file in _files(version)]
    created = {version.canonical(table.key) for file in files for table in file.created}
    written = {version.canonical(write.target) for file in files for write in file.writes}
    dropped = {version.canonical(key) for file in files for key in file.dropped}
    return created | (written - dropped)


def _list_known(version: SqlVersion) -> dict[str, dict[str, tuple[str, str]]]:
    """Return columns (name and type, by lowercase name) of datasets whose columns are all known."""
    known: dict[str, dict[str, tuple[str, str]]] = {}
    for folder in version.folders:
        columns: dict[str, dict[str, tuple[str, str]]] = {}
        for file in folder.files:
            for table in file.created:
                shape = folder.shapes.get(table.key, NOTHING)
                if shape.complete:
                    columns[table.key] = {
                        fold(column.name): (column.name, column.data_type) for column in shape.columns
                    }
            for write in file.writes:
                if write.label == "file":
                    named = {fold(name): (name, "") for name, _ in write.columns}
                    columns.setdefault(write.target, {}).update(named)
        for key, shown in columns.items():
            known.setdefault(version.canonical(key), shown)
    return known


def _column_findings(before: SqlVersion, after: SqlVersion) -> Iterator[Finding]:
    old, new = _list_known(before), _list_known(after)
    for dataset in sorted(old.keys() & new.keys()):
        subject = _subject(dataset)
        for name in sorted(name for key, (name, _) in old[dataset].items() if key not in new[dataset]):
            yield subject.finding(COLUMN_DROPPED, "is dropped", column=name, before=name, change=Change.DROP)
        for key, (name, data_type) in sorted(old[dataset].items()):
            now = new[dataset].get(key, ("", ""))[1]
            if data_type and now and data_type != now:
                yield from subject.report_retyped(name, data_type, now)
    for dataset in sorted((old.keys() - new.keys()) & _datasets_of(after)):
        yield _subject(dataset).finding(COLUMNS_UNKNOWN, "columns are no longer known", Severity.INFO)


def _clause_findings(change: SqlChange) -> Iterator[Finding]:
    """Yield the differences of conditions, joins and groupings of files that both versions have.

    A dataset that only one of the versions writes is left out: its edges are reported.
    """
    pairs = {key: change.renamed.get(key, key) for key in change.new_files}
    pairs = {key: was for key, was in pairs.items() if was in change.old_files}
    old = _queries(change.folders, change.before, {*pairs.values()})
    new = _queries(change.folders, change.after, {*pairs})
    for dataset in sorted(old.keys() & new.keys()):
        subject, queries = _subject(dataset), (old[dataset], new[dataset])
        changed = comparison.difference(*queries)
        expressions = comparison.find_altered_expressions(*queries)
        if not changed and not expressions:
            changed = comparison.find_moved_clauses(*queries)
        for kind, (removed, added) in changed.items():
            yield subject.clause(kind, removed, added)
        for expression, was, now in expressions:
            name = f" as {expression.column}" if expression.column else ""
            yield subject.clause(expression.kind, [f"{was}{name}"], [f"{now}{name}"])


def _queries(
    folders: SqlFolders, version: SqlVersion, keys: Container[FileKey]
) -> dict[str, ComparableQuery]:
    """Return what the statements of files contain, by the dataset that they write."""
    queries: dict[str, list[ComparableQuery]] = {}
    for (at, name), script in version.scripts.items():
        if (at, name) not in keys:
            continue
        dialect = Dialect.get_or_raise(folders.settings[at].dialect)
        statements = {statement.line: statement.tree for statement in script.statements}
        writes = (write for file in version.folders[at].files if file.name == name for write in file.writes)
        for dataset, line in dict.fromkeys((version.canonical(write.target), write.line) for write in writes):
            tree = statements.get(line)
            if isinstance(tree, Unload):
                tree = tree.query
            if isinstance(tree, exp.Expr):
                queries.setdefault(dataset, []).append(query_of(tree, dialect))
    return {dataset: comparison.together(of_dataset) for dataset, of_dataset in queries.items()}


def _failing_references(change: SqlChange) -> Iterator[Finding]:
    """Yield references that were valid before the change."""
    known = {key: {note.message for note in file.notes} for key, file in _files(change.before)}
    for key, file in _files(change.after):
        is_changed = key in change.new_files
        fails = _ERROR_NOTES if is_changed else (*_ERROR_NOTES, *_UNKNOWN_COLUMN_NOTES)
        earlier = known.get(change.renamed.get(key, key), set())
        for note in file.notes:
            if note.message not in earlier and note.message.startswith(fails):
                yield _report_in_file(change.folders.path_of(key), note.line, note.message)


def _failing_readers(removed: Iterable[str], change: SqlChange) -> Iterator[Finding]:
    unavailable, available = set(removed), _datasets_of(change.after)
    for key, file in _files(change.after):
        for write in file.writes:
            for source in sorted(write.reads):
                dataset = change.before.canonical(source)
                if dataset in unavailable and change.after.canonical(source) not in available:
                    why = f"reads {title_of_id(dataset)}, which is no longer created"
                    yield _report_in_file(change.folders.path_of(key), write.line, why)


def _files(version: SqlVersion) -> Iterator[tuple[FileKey, FileLineage]]:
    for at, folder in enumerate(version.folders):
        yield from (((at, file.name), file) for file in folder.files)


def _report_in_file(path: str, line: int, why: str) -> Finding:
    return reader_breaks(f"{path}, line {line}", why, path)
