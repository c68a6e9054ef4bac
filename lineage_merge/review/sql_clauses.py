"""Changed clauses of SQL files, by the dataset that a statement writes. Pure."""

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from sqlglot import Dialect, exp

from lineage_merge.review import clause_comparison
from lineage_merge.review.clauses import Query, query_of_tree
from lineage_merge.review.versions import FileKey, Folders, Version
from lineage_merge.sources.sql.syntax import Parsed, Script, Unload


class AlteredClause(NamedTuple):
    """Conditions, joins, groupings or expressions of a dataset's statements: the removed and added ones."""

    dataset: str
    kind: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


def altered_clauses(
    folders: Folders,
    before: Version,
    after: Version,
    scripts_before: Mapping[FileKey, Script],
    scripts_after: Mapping[FileKey, Script],
    pairs: Mapping[FileKey, FileKey],
) -> Iterator[AlteredClause]:
    """Yield the differences of changed files. `pairs`: old by new file.

    A dataset that only one of the versions writes is left out: its edges are reported.
    """
    old = _queries(folders, before, scripts_before, {*pairs.values()})
    new = _queries(folders, after, scripts_after, {*pairs})
    for dataset in sorted(old.keys() & new.keys()):
        queries = old[dataset], new[dataset]
        changed = clause_comparison.difference(*queries)
        expressions = clause_comparison.altered_expressions(*queries)
        if not changed and not expressions:
            changed = clause_comparison.moved(*queries)
        for kind, (removed, added) in changed.items():
            yield AlteredClause(dataset, kind, tuple(removed), tuple(added))
        for each, was, now in expressions:
            name = f" as {each.column}" if each.column else ""
            yield AlteredClause(dataset, each.kind, (f"{was}{name}",), (f"{now}{name}",))


def _queries(
    folders: Folders, version: Version, scripts: Mapping[FileKey, Script], keys: Container[FileKey]
) -> dict[str, Query]:
    """Return what the statements of files contain, by the dataset that they write."""
    found: dict[str, list[Query]] = {}
    for (at, name), script in scripts.items():
        if (at, name) in keys:
            for dataset, query in _writes(folders, version, at, script):
                found.setdefault(dataset, []).append(query)
    return {dataset: clause_comparison.together(queries) for dataset, queries in found.items()}


def _writes(folders: Folders, version: Version, at: int, script: Script) -> Iterator[tuple[str, Query]]:
    """Yield the queries of a file with the dataset that their statement writes."""
    dialect = Dialect.get_or_raise(folders.settings[at].dialect)
    statements = {each.line: each for each in script.statements}
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
