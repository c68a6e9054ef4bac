"""The table behind a dataset of an event, and which columns of the event it stores. Pure.

openlineage-spark gives a metadata table of Iceberg the location of its table, and pseudo-columns as columns.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage_merge.column_lineage import pseudo_columns
from lineage_merge.column_lineage.table_parts import TablePart, has_metadata_columns, part_of_name
from lineage_merge.model.elements import Element, FeedsColumn, Influences, Reference
from lineage_merge.sources.openlineage.documents import Document

ICEBERG = "iceberg"
_CHANGES = "/changes"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A dataset of an event as the table at `ref`, of which the event reads a `part`.

    `names` are its identifiers without the name of the part.
    """

    ref: Reference
    part: TablePart | None = None
    pseudo: frozenset[str] = frozenset()
    names: tuple[Mapping[str, Any], ...] = ()

    def stores(self, column: str) -> bool:
        """Return whether a column of the event is one of the table."""
        return self.part != "metadata" and column.lower() not in self.pseudo


def stored_table(
    dataset: Document, ref: Reference, query: str = "", *, of_spark: bool = False
) -> StoredTable:
    """Return the table behind a dataset of an event; `query` is the SQL of the event."""
    facets: Mapping[str, Any] = dataset.get("facets") or {}
    fields = (facets.get("schema") or {}).get("fields") or ()
    columns = [str(field["name"]) for field in fields]
    identifiers = tuple((facets.get("symlinks") or {}).get("identifiers") or ())
    pseudo = _of_files(fields) if of_spark else frozenset()
    if str((facets.get("storage") or {}).get("storageLayer") or "").lower() != ICEBERG:
        if "table_changes" in query.lower() and set(columns).issuperset(pseudo_columns.DELTA_CHANGE):
            pseudo = pseudo.union(pseudo_columns.DELTA_CHANGE)
        return StoredTable(ref, None, pseudo, identifiers)
    pseudo |= pseudo_columns.ICEBERG
    parts = {identifier["name"]: _part(identifier["name"], columns, ref.name) for identifier in identifiers}
    part = next((each for each in parts.values() if each), None)
    # A read by path has no other name.
    if not identifiers and has_metadata_columns(columns):
        part = "metadata"
    names = tuple(
        {**identifier, "name": _above(identifier["name"])} if parts[identifier["name"]] else identifier
        for identifier in identifiers
    )
    if part == "changes":
        # Its location is made up from its name: only the name leads to the table.
        named = next(iter(names))
        return StoredTable(
            Reference(named["namespace"], named["name"]), part, pseudo.union(pseudo_columns.ICEBERG_CHANGE)
        )
    return StoredTable(ref, part, pseudo, names)


def stored(elements: Iterator[Element], tables: Mapping[Reference, StoredTable]) -> Iterator[Element]:
    """Yield the edges between columns that the tables store."""
    for element in elements:
        if not isinstance(element, FeedsColumn | Influences):
            yield element
            continue
        source, target = tables.get(element.source), tables.get(element.target)
        if source and not source.stores(element.source_column):
            continue
        if target and isinstance(element, FeedsColumn) and not target.stores(element.target_column):
            continue
        yield replace(element, source=source.ref) if source else element


def _part(name: str, columns: list[str], location: str) -> TablePart | None:
    """Return what a table's name without its catalog refers to."""
    levels = name.removeprefix("table/").replace("/", ".").split(".")
    if len(levels) > 2:  # the changelog's location is its name as a path
        location = location.removesuffix(_CHANGES)
    return part_of_name(["", *levels], columns, location)


def _above(name: str) -> str:
    return name[: max(name.rfind("."), name.rfind("/"))]


def _of_files(fields: Any) -> frozenset[str]:
    """Return the name of Spark's structure of a row's file, which an event may use without declaring it."""
    declared = {str(field["name"]) for field in fields}
    if fields and pseudo_columns.FILE_METADATA not in declared:
        return frozenset({pseudo_columns.FILE_METADATA})
    # A stored copy looks the same.
    return frozenset(
        str(field["name"])
        for field in fields[-1:]
        if pseudo_columns.is_file_metadata(
            field["name"], (str(of["name"]) for of in field.get("fields") or ())
        )
    )
