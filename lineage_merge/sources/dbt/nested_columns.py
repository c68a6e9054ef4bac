"""Which dotted names of columns in a project are fields of structures: ``address.city``. Pure.

dbt has no other notation for fields. dbt-bigquery lists all fields in the catalog besides their column, as
INFORMATION_SCHEMA.COLUMN_FIELD_PATHS does; the other adapters list only columns.
"""

from collections.abc import Container
from dataclasses import replace

from lineage_merge.model.elements import FIELD, dot_path
from lineage_merge.sources.dbt.catalog import Catalog
from lineage_merge.sources.dbt.metadata import column_path
from lineage_merge.sources.dbt.nodes import Manifest, Node

# No name of a column has a dot there.
_LISTS_FIELDS = frozenset({"bigquery"})


def with_field_paths(manifest: Manifest, catalog: Catalog) -> tuple[Manifest, Catalog]:
    """Return a manifest and its catalog, where the name of a field is its `field_path`.

    A dotted name is that of a column if the catalog of another platform than BigQuery lists it.
    """
    if manifest.adapter.lower() in _LISTS_FIELDS:
        paths = {
            unique_id: tuple(column._replace(name=column_path(column.name)) for column in columns)
            for unique_id, columns in catalog.items()
        }
        return manifest, paths
    listed = {
        unique_id: {column.name.casefold() for column in columns if "." in column.name}
        for unique_id, columns in catalog.items()
    }
    changed = {
        unique_id: _replace_columns(manifest.nodes[unique_id], names)
        for unique_id, names in listed.items()
        if names and unique_id in manifest.nodes
    }
    return (replace(manifest, nodes={**manifest.nodes, **changed}) if changed else manifest), catalog


def _replace_columns(node: Node, listed: Container[str]) -> Node:
    columns = (
        column._replace(name=dot_path(column.name))
        if FIELD in column.name and dot_path(column.name).casefold() in listed
        else column
        for column in node.code.columns
    )
    return replace(node, code=replace(node.code, columns=tuple(columns)))
