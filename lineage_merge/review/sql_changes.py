"""Findings of changed SQL files: differences between two versions of their folders. Pure."""

from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import dataset_of, title_of_id
from lineage_merge.questions.effects import Change
from lineage_merge.review import clause_comparison
from lineage_merge.review.clauses import ComparableQuery, query_of_tree
from lineage_merge.review.findings import EdgeKey, Finding, Severity, Subject
from lineage_merge.review.sql_versions import FileKey, SqlFolders, SqlVersion
from lineage_merge.sources.sql.project import ProjectLineage
from lineage_merge.sources.sql.shapes import NOTHING
from lineage_merge.sources.sql.syntax import Parsed, Script, Unload

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
    """Two versions of the same folders, and the files that changed.

    `old_files` and `new_files`: the changed files; `renamed`: old by new file; the scripts are those of all
    files.
    """

    folders: SqlFolders
    before: SqlVersion
    after: SqlVersion
    old_files: Set[FileKey]
    new_files: Set[FileKey]
    renamed: Mapping[FileKey, FileKey]
    old_scripts: Mapping[FileKey, Script]
    new_scripts: Mapping[FileKey, Script]


def compare_files(change: SqlChange) -> Iterator[Finding]:
    """Yield the differences of the changed files, and what fails in any file."""
    before, after = change.before, change.after
    removed = sorted(_datasets_of(before) - _datasets_of(after))
    yield from _edge_findings(change)
    for dataset in removed:
        finding = _subject(dataset).finding(TABLE_REMOVED, "is no longer created")
        yield replace(finding, change=Change.DROP)
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
    jobs = change.folders.jobs(change.old_files), change.folders.jobs(change.new_files)
    old, new = _edges(change.before.edges), _edges(change.after.edges)
    owned_before = _edges(edge for edge in change.before.edges if edge.get("job_name") in jobs[0])
    owned_after = _edges(edge for edge in change.after.edges if edge.get("job_name") in jobs[1])
    for key in sorted(owned_after.keys() - old.keys()):
        yield _of_edge(INPUT_ADDED, key, f"is computed from {_source(key)}", Severity.INFO)
    for key in sorted(owned_before.keys() - new.keys()):
        yield _of_edge(INPUT_REMOVED, key, f"is no longer computed from {_source(key)}")
    for key in sorted(owned_before.keys() & owned_after.keys()):
        texts = _description(owned_before[key]), _description(owned_after[key])
        if texts[0] != texts[1]:
            found = _of_edge(EXPRESSION_CHANGED, key, f"was {texts[0]}, is {texts[1]}")
            yield replace(found, before=texts[0], after=texts[1])


def _of_edge(kind: str, edge: EdgeKey, message: str, severity: Severity = Severity.CHANGED) -> Finding:
    is_column = edge.label == "feeds_column"
    subject = _subject(dataset_of(edge.target) if is_column else edge.target)
    if is_column:
        found = subject.of_column(kind, edge.target.rpartition("|")[2], message)
    else:
        found = subject.finding(kind, message)
    return replace(found, severity=severity, unique_id=edge.target, edge=edge)


def _source(edge: EdgeKey) -> str:
    if edge.label == "feeds":
        return title_of_id(edge.source)
    return f"{title_of_id(dataset_of(edge.source))}#{edge.source.rpartition('|')[2]}"


def _edges(edges: Iterable[Mapping[str, Any]]) -> dict[EdgeKey, list[Mapping[str, Any]]]:
    by_key: dict[EdgeKey, list[Mapping[str, Any]]] = {}
    for edge in edges:
        if edge["label"] in _LINEAGE:
            by_key.setdefault(EdgeKey(edge["label"], edge["from"], edge["to"]), []).append(edge)
    return by_key


def _description(edges: Iterable[Mapping[str, Any]]) -> str:
    """Return write mode, transformation and expression of edges as text."""
    descriptions = {
        " ".join(str(edge[key]) for key in ("write_mode", "transformation", "expression") if edge.get(key))
        for edge in edges
    }
    return " | ".join(sorted(descriptions))


def _canonical(version: SqlVersion, key: str) -> str:
    return version.aliases.get(key, key)


def _datasets_of(version: SqlVersion) -> set[str]:
    """Return the canonical ids of the datasets that files create or write."""
    files = [file for folder in version.folders for file in folder.files]
    created = {_canonical(version, each.key) for file in files for each in file.created}
    written = {_canonical(version, write.target) for file in files for write in file.writes}
    dropped = {_canonical(version, key) for file in files for key in file.dropped}
    return created | (written - dropped)


def _known(version: SqlVersion) -> dict[str, dict[str, tuple[str, str]]]:
    """Return columns (name and type, by lowercase name) of datasets whose columns are all known."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for folder in version.folders:
        for key, columns in _columns_of(folder).items():
            found.setdefault(_canonical(version, key), columns)
    return found


def _columns_of(folder: ProjectLineage) -> dict[str, dict[str, tuple[str, str]]]:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for file in folder.files:
        for each in file.created:
            shape = folder.shapes.get(each.key, NOTHING)
            if shape.complete:
                columns = {fold(column.name): (column.name, column.data_type) for column in shape.columns}
                found[each.key] = columns
        for write in file.writes:
            if write.label == "file":
                named = {fold(name): (name, "") for name, _ in write.columns}
                found.setdefault(write.target, {}).update(named)
    return found


def _column_findings(before: SqlVersion, after: SqlVersion) -> Iterator[Finding]:
    old, new = _known(before), _known(after)
    for dataset in sorted(old.keys() & new.keys()):
        subject = _subject(dataset)
        for name in sorted(name for key, (name, _) in old[dataset].items() if key not in new[dataset]):
            found = subject.of_column(COLUMN_DROPPED, name, "is dropped")
            yield replace(found, before=name, change=Change.DROP)
        for key, (name, data_type) in sorted(old[dataset].items()):
            now = new[dataset].get(key, ("", ""))[1]
            if data_type and now and data_type != now:
                found = subject.of_column(TYPE_CHANGED, name, f"was {data_type}, is {now}")
                yield replace(found, before=data_type, after=now, change=Change.RETYPE)
    for dataset in sorted((old.keys() - new.keys()) & _datasets_of(after)):
        yield _subject(dataset).finding(COLUMNS_UNKNOWN, "columns are no longer known", Severity.INFO)


def _clause_findings(change: SqlChange) -> Iterator[Finding]:
    """Yield the differences of conditions, joins and groupings of files that both versions have.

    A dataset that only one of the versions writes is left out: its edges are reported.
    """
    pairs = {key: change.renamed.get(key, key) for key in change.new_files}
    pairs = {key: was for key, was in pairs.items() if was in change.old_files}
    old = _queries(change.folders, change.before, change.old_scripts, {*pairs.values()})
    new = _queries(change.folders, change.after, change.new_scripts, {*pairs})
    for dataset in sorted(old.keys() & new.keys()):
        subject, queries = _subject(dataset), (old[dataset], new[dataset])
        changed = clause_comparison.difference(*queries)
        expressions = clause_comparison.altered_expressions(*queries)
        if not changed and not expressions:
            changed = clause_comparison.moved(*queries)
        for kind, (removed, added) in changed.items():
            yield subject.clause(kind, removed, added)
        for expression, was, now in expressions:
            name = f" as {expression.column}" if expression.column else ""
            yield subject.clause(expression.kind, [f"{was}{name}"], [f"{now}{name}"])


def _queries(
    folders: SqlFolders, version: SqlVersion, scripts: Mapping[FileKey, Script], keys: Container[FileKey]
) -> dict[str, ComparableQuery]:
    """Return what the statements of files contain, by the dataset that they write."""
    found: dict[str, list[ComparableQuery]] = {}
    for (at, name), script in scripts.items():
        if (at, name) in keys:
            for dataset, query in _writes(folders, version, at, script):
                found.setdefault(dataset, []).append(query)
    return {dataset: clause_comparison.together(queries) for dataset, queries in found.items()}


def _writes(
    folders: SqlFolders, version: SqlVersion, at: int, script: Script
) -> Iterator[tuple[str, ComparableQuery]]:
    """Yield the queries of a file with the dataset that their statement writes."""
    dialect = Dialect.get_or_raise(folders.settings[at].dialect)
    statements = {statement.line: statement for statement in script.statements}
    file = next((each for each in version.folders[at].files if each.name == script.name), None)
    seen: set[tuple[str, int]] = set()
    for write in file.writes if file else ():
        dataset = version.aliases.get(write.target, write.target)
        tree = _tree(statements.get(write.line))
        if tree is None or (dataset, write.line) in seen:
            continue
        seen.add((dataset, write.line))
        yield dataset, query_of_tree(tree, dialect)


def _tree(statement: Parsed | None) -> exp.Expr | None:
    if statement is None:
        return None
    tree = statement.tree.query if isinstance(statement.tree, Unload) else statement.tree
    return tree if isinstance(tree, exp.Expr) else None


def _failing_references(change: SqlChange) -> Iterator[Finding]:
    """Yield references that were valid before the change."""
    known = {
        (at, file.name): {note.message for note in file.notes}
        for at, folder in enumerate(change.before.folders)
        for file in folder.files
    }
    for at, folder in enumerate(change.after.folders):
        for file in folder.files:
            key = (at, file.name)
            is_changed = key in change.new_files
            fails = _ERROR_NOTES if is_changed else (*_ERROR_NOTES, *_UNKNOWN_COLUMN_NOTES)
            earlier = known.get(change.renamed.get(key, key), set())
            for note in file.notes:
                if note.message not in earlier and note.message.startswith(fails):
                    yield _in_file(change.folders.path_of(key), note.line, note.message)


def _failing_readers(removed: Iterable[str], change: SqlChange) -> Iterator[Finding]:
    wanted, available = set(removed), _datasets_of(change.after)
    for at, folder in enumerate(change.after.folders):
        for file in folder.files:
            for write in file.writes:
                for key in sorted(write.reads):
                    dataset = _canonical(change.before, key)
                    if dataset in wanted and _canonical(change.after, key) not in available:
                        why = f"reads {title_of_id(dataset)}, which is no longer created"
                        yield _in_file(change.folders.path_of((at, file.name)), write.line, why)


def _in_file(path: str, line: int, why: str) -> Finding:
    return reader_breaks(f"{path}, line {line}", why, path)
