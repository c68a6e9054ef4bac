"""Changed filters, joins and groupings of SQL files, by the dataset that a statement writes. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlglot import Dialect, exp

from lineage_merge.query.review import clauses
from lineage_merge.query.review.clauses import Query
from lineage_merge.query.review.versions import FileKey, Folders, Version
from lineage_merge.sources.sql.syntax import Parsed, Script, Unload


class AlteredClause(NamedTuple):
    """Conditions, joins or groupings of the statements that write a dataset: the removed and added ones."""

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
    old, new = Counter[tuple[str, clauses.Clause]](), Counter[tuple[str, clauses.Clause]]()
    written: list[set[str]] = [set(), set()]
    for is_new, version, scripts, keys, counter in (
        (0, before, scripts_before, {*pairs.values()}, old),
        (1, after, scripts_after, {*pairs}, new),
    ):
        for (at, name), script in scripts.items():
            if (at, name) in keys:
                for dataset, clause in _clauses(folders, version, at, script):
                    written[is_new].add(dataset)
                    if clause:
                        counter[dataset, clause] += 1
    for dataset in sorted(written[0] & written[1]):
        of_dataset = [
            Query("", {clause: count for (key, clause), count in each.items() if key == dataset})
            for each in (old, new)
        ]
        for kind, (removed, added) in clauses.difference(*of_dataset).items():
            yield AlteredClause(dataset, kind, tuple(removed), tuple(added))


def _clauses(
    folders: Folders, version: Version, at: int, script: Script
) -> Iterator[tuple[str, clauses.Clause | None]]:
    """Yield the clauses of a file with the dataset that their statement writes; None to name the dataset."""
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
        yield dataset, None
        for clause, count in clauses.query_of_tree(tree, dialect).clauses.items():
            yield from ((dataset, clause) for _ in range(count))


def _tree(statement: Parsed | None) -> exp.Expr | None:
    if statement is None:
        return None
    tree = statement.tree.query if isinstance(statement.tree, Unload) else statement.tree
    return tree if isinstance(tree, exp.Expr) else None
