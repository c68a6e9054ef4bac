"""Filter of catalog records: only those about datasets that another source references.

A catalog lists all tables of a company; those that this DAG never uses are not part of its graph.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.records import Record, with_kind


class CatalogRecord(NamedTuple):
    """A record of a catalog, and the entry that it describes (a table; None: the whole catalog).

    A record of kind "name" only states that its `target` is another name of the entry.
    """

    about: str | None
    record: Record


def catalog_records(about: str | None, rows: Iterable[Record]) -> Iterator[CatalogRecord]:
    """Yield the records about one catalog entry.

    Records about an alias add nothing: a source that uses the alias yields them too.
    """
    found = list(rows)
    others = {record.source for record in found if record.kind == "alias"}
    for record in found:
        is_name = record.kind == "dataset" and record.target in others
        yield CatalogRecord(about, with_kind(record, "name") if is_name else record)


def filter_referenced(catalog: Rows[CatalogRecord], records: Rows[Record]) -> Rows[Record]:
    """Return the catalog records about datasets that `records` reference.

    Both are computed several times: cache them. An entry is referenced if one of its names is; then all
    of its records count, since the referenced name may be an alias of another.
    """
    # A dataset that is referenced in any form leaves a record of kind "dataset".
    referenced = records.flat_map(_referenced)
    entries = catalog.flat_map(_names).union(referenced).combine(_first, _add, _merge).flat_map(_wanted)
    of_entries = catalog.flat_map(_of_entry).union(entries).group(_about, _if_wanted)
    return of_entries.union(catalog.flat_map(_of_whole_catalog))


# By the id of a dataset: the entry that it is a name of, or None for a reference to it.
_Name = tuple[str, str | None]
# Of one id: the entries, and whether it is referenced.
_Names = tuple[set[str], bool]
# By the entry: a record about it, or None if the entry is referenced.
_OfEntry = tuple[str, Record | None]


def _names(each: CatalogRecord) -> Iterator[_Name]:
    if each.about is not None and each.record.kind in ("dataset", "name") and each.record.target is not None:
        yield each.record.target, each.about


def _referenced(record: Record) -> Iterator[_Name]:
    if record.kind == "dataset" and record.target is not None:
        yield record.target, None


def _first(about: str | None) -> _Names:
    return (set(), True) if about is None else ({about}, False)


def _add(names: _Names, about: str | None) -> _Names:
    return _merge(names, _first(about))


def _merge(names: _Names, others: _Names) -> _Names:
    entries, is_referenced = names
    entries |= others[0]
    return entries, is_referenced or others[1]


def _wanted(names: tuple[str, _Names]) -> Iterator[_OfEntry]:
    entries, is_referenced = names[1]
    if is_referenced:
        for about in entries:
            yield about, None


def _of_entry(each: CatalogRecord) -> Iterator[_OfEntry]:
    if each.about is not None and each.record.kind != "name":
        yield each.about, each.record


def _about(each: _OfEntry) -> str:
    return each[0]


def _if_wanted(_entry: str, rows: list[_OfEntry]) -> Iterator[Record]:
    found = [record for _, record in rows if record is not None]
    if len(found) < len(rows):
        yield from found


def _of_whole_catalog(each: CatalogRecord) -> Iterator[Record]:
    if each.about is None:
        yield each.record
