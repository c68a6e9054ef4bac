"""Filter of catalog entries: only those about datasets that another source references.

A catalog lists all tables of a company; those that this DAG never uses are not part of its graph.
"""

from collections.abc import Iterator

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.records import AliasRecord, CatalogEntry, DatasetRecord, Record

# By the id of a dataset: the entry that it is a name of, or None for a reference to it.
_Name = tuple[str, str | None]
# Of one id: the entries, and whether it is referenced.
_Names = tuple[set[str], bool]
# By the entry: a record about it, or None if the entry is referenced.
_OfEntry = tuple[str, Record | None]


def filter_referenced(catalog: Rows[CatalogEntry], records: Rows[Record]) -> Rows[Record]:
    """Return the records of the catalog entries whose datasets `records` reference.

    Both are computed several times: cache them. An entry is referenced if one of its names is; then all
    of its records count, since the referenced name may be an alias of another.
    """
    # A dataset that is referenced in any form leaves a record of its name.
    referenced = records.flat_map(_referenced)
    entries = catalog.flat_map(_names).union(referenced).combine(_first, _add, _merge).flat_map(_wanted)
    of_entries = catalog.flat_map(_of_entry).union(entries).group(_key, _if_wanted)
    return of_entries.union(catalog.flat_map(_of_whole_catalog))


def _names(entry: CatalogEntry) -> Iterator[_Name]:
    if entry.key is not None:
        for record in entry.records:
            if isinstance(record, DatasetRecord):
                yield record.dataset, entry.key


def _referenced(record: Record) -> Iterator[_Name]:
    if isinstance(record, DatasetRecord):
        yield record.dataset, None


def _first(key: str | None) -> _Names:
    return (set(), True) if key is None else ({key}, False)


def _add(names: _Names, key: str | None) -> _Names:
    return _merge(names, _first(key))


def _merge(names: _Names, others: _Names) -> _Names:
    entries, is_referenced = names
    entries |= others[0]
    return entries, is_referenced or others[1]


def _wanted(names: tuple[str, _Names]) -> Iterator[_OfEntry]:
    entries, is_referenced = names[1]
    if is_referenced:
        for key in entries:
            yield key, None


def _of_entry(entry: CatalogEntry) -> Iterator[_OfEntry]:
    if entry.key is not None:
        aliases = {record.alias for record in entry.records if isinstance(record, AliasRecord)}
        for record in entry.records:
            # Records about an alias add nothing: a source that uses the alias yields them too.
            if not isinstance(record, DatasetRecord) or record.dataset not in aliases:
                yield entry.key, record


def _key(of_entry: _OfEntry) -> str:
    return of_entry[0]


def _if_wanted(_entry: str, rows: list[_OfEntry]) -> Iterator[Record]:
    records = [record for _, record in rows if record is not None]
    if len(records) < len(rows):
        yield from records


def _of_whole_catalog(entry: CatalogEntry) -> tuple[Record, ...]:
    return entry.records if entry.key is None else ()
