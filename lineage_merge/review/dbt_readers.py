"""Entries that name columns which the change removes from what they read. Pure."""

from collections.abc import Iterator, Mapping

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.review.dbt_queries import file_of, short
from lineage_merge.review.dbt_versions import DbtVersion
from lineage_merge.review.findings import Finding, Severity, Subject
from lineage_merge.sources.dbt.nodes import Node
from lineage_merge.sources.dbt.order import find_behind

MISSING_COLUMN = "missing column"


def missing_columns(before: DbtVersion, after: DbtVersion, renamed: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the columns that an entry names and that what it reads had before the change, but has no more.

    Edges do not show that: the SQL has no edge from a column that does not exist.
    """
    old_ids = {new: old for old, new in renamed.items()}
    for unique_id, node in sorted(after.manifest.nodes.items()):
        lineage = after.lineage(node)
        if node.folded or not lineage.missing:
            continue
        old = before.manifest.nodes.get(old_ids.get(unique_id, unique_id))
        known = frozenset(before.lineage(old).missing) if old is not None else frozenset()
        for name in lineage.missing:
            *above, column = name.split(".")
            parts = {fold(part) for part in (*above[1:], column)}
            if name in known:
                continue
            for parent, _ in sorted(find_behind(after.manifest.nodes, node)):
                removed = _find_removed(before, after, old_ids.get(parent, parent), parent) & parts
                for key in sorted(removed):
                    yield _finding(after, node, parent, key)


def _find_removed(before: DbtVersion, after: DbtVersion, old_id: str, new_id: str) -> set[str]:
    old, new = before.manifest.nodes.get(old_id), after.manifest.nodes[new_id]
    if old is None:
        return set()
    had, has = (
        {fold(column.name) for column in version.lineage(node).columns}
        for version, node in ((before, old), (after, new))
    )
    return had - has


def _finding(after: DbtVersion, node: Node, parent: str, column: str) -> Finding:
    dataset = after.dataset(node)
    title = title_of_id(dataset) if dataset else short(node.unique_id)
    subject = Subject(title, node.unique_id, dataset, file_of(node))
    source = f"{short(parent)}#{column}"
    message = f"its SQL names {source}, which no longer exists"
    return subject.finding(MISSING_COLUMN, message, Severity.BREAKING, before=source)
