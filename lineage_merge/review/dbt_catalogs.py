"""Which catalog counts for which entries of two versions of a dbt project. Pure.

A catalog has the columns of the warehouse: those of the SQL that was last run there. For an entry that a
change concerns, it counts in its own version only, and the SQL takes precedence over it.
"""

from collections.abc import Set

from lineage_merge.model.graph_walks import reachable
from lineage_merge.review.dbt_queries import DbtQueries
from lineage_merge.review.dbt_versions import DbtFile, KnownColumns, readers_of
from lineage_merge.sources.dbt.catalog import CatalogColumn, CatalogFile
from lineage_merge.sources.dbt.nodes import Manifest, Node


def find_known_columns(before: DbtFile, after: DbtFile) -> tuple[KnownColumns, KnownColumns]:
    """Return the columns of both versions that catalogs give.

    Entries with equal code that read nothing else than before have those of the newest catalog in both.
    """
    if before.catalog is None and after.catalog is None:
        return KnownColumns({}, frozenset()), KnownColumns({}, frozenset())
    concerned = _find_concerned(before.manifest, after.manifest)
    shared = _newest_first(before.catalog, after.catalog)
    tables = {key: columns for file in reversed(shared) for key, columns in file.tables.items()}
    common = {key: columns for key, columns in tables.items() if key not in concerned}
    own_of_base = [
        file
        for file in (before.catalog, after.catalog)
        if file is not None and (file is before.catalog or _is_of(file, before.manifest))
    ]
    own_of_head = [
        file for file in (after.catalog, before.catalog) if file is not None and _is_of(file, after.manifest)
    ]
    return _add_own(common, own_of_base, concerned), _add_own(common, own_of_head, concerned)


def _add_own(
    common: dict[str, tuple[CatalogColumn, ...]], own: list[CatalogFile], concerned: Set[str]
) -> KnownColumns:
    tables = dict(common)
    for file in reversed(own):
        tables |= {key: columns for key, columns in file.tables.items() if key in concerned}
    return KnownColumns(tables, concerned)


def _newest_first(*catalogs: CatalogFile | None) -> list[CatalogFile]:
    files = [file for file in catalogs if file is not None]
    return sorted(files, key=lambda file: file.generated_at, reverse=True)


def _is_of(catalog: CatalogFile, manifest: Manifest) -> bool:
    """Return whether one invocation of dbt wrote both; if either has no id, whether it is not older."""
    if catalog.invocation_id and manifest.invocation_id:
        return catalog.invocation_id == manifest.invocation_id
    return catalog.generated_at >= manifest.generated_at > 0


def _find_concerned(before: Manifest, after: Manifest) -> Set[str]:
    """Return the entries whose code differs, and their descendants."""
    queries = DbtQueries(before, after, {})
    pairs = {old.unique_id: (old, new) for old, new in queries.pairs()}
    differing = {
        unique_id
        for unique_id in {*before.nodes, *after.nodes}
        if unique_id not in pairs or not _has_equal_code(*pairs[unique_id], queries)
    }
    return reachable(differing, readers_of(before, after))


def _has_equal_code(old: Node, new: Node, queries: DbtQueries) -> bool:
    if (old.kind, old.folded) != (new.kind, new.folded):
        return False
    if old.kind == "source":
        names = [(node.database, node.schema, node.identifier) for node in (old, new)]
        return names[0] == names[1]
    if (old.code.sql, old.code.source_digest) == (new.code.sql, new.code.source_digest):
        return True
    # Without layout, and with relations by entry: a target of CI has other names.
    compared = queries.find(0, old), queries.find(1, new)
    is_parsed = all(query.is_parsed and query.text for query in compared)
    return is_parsed and compared[0].text == compared[1].text
