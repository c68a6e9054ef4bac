"""Filter of catalog entries: only those about datasets that another source references.

A catalog lists all tables of a company; those that this DAG never uses are not part of its graph.
"""

from collections.abc import Iterator
from operator import itemgetter

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Alias, Dataset
from lineage_merge.model.records import CatalogEntry, Record

# Of a dataset's id: the keys of the entries that it is a name of, and whether it is referenced.
_Names = tuple[frozenset[str], bool]
# By the key of an entry: a record about it, or None if the entry is referenced.
_OfEntry = tuple[str, Record | None]
_REFERENCED: _Names = (frozenset(), True)


def filter_referenced(catalog: Rows[CatalogEntry], records: Rows[Record]) -> Rows[Record]:
    """Return the records of the catalog entries whose datasets `records` reference.

    Both are computed several times: cache them. An entry is referenced if one of its names is; then all
    of its records count, since the referenced name may be an alias of another.
    """
    # A dataset that is referenced in any form leaves a record of its name.
    names = catalog.flat_map(_names).union(records.flat_map(_list_referenced)).reduce_by_key(_either)
    of_entries = (
        catalog.flat_map(_key_by_entry).union(names.flat_map(_list_wanted)).group(itemgetter(0), _if_wanted)
    )
    return of_entries.union(catalog.flat_map(lambda entry: entry.records if entry.key is None else ()))


def _names(entry: CatalogEntry) -> Iterator[tuple[str, _Names]]:
    if entry.key is not None:
        for record in entry.records:
            if isinstance(record, Dataset):
                yield record.ref, (frozenset((entry.key,)), False)


def _list_referenced(record: Record) -> Iterator[tuple[str, _Names]]:
    if isinstance(record, Dataset):
        yield record.ref, _REFERENCED


def _either(one: _Names, other: _Names) -> _Names:
    return one[0] | other[0], one[1] or other[1]


def _list_wanted(names: tuple[str, _Names]) -> Iterator[_OfEntry]:
    entries, is_referenced = names[1]
    if is_referenced:
        for key in entries:
            yield key, None


def _key_by_entry(entry: CatalogEntry) -> Iterator[_OfEntry]:
    if entry.key is not None:
        aliases = {record.ref for record in entry.records if isinstance(record, Alias)}
        for record in entry.records:
            # Records about an alias add nothing: a source that uses the alias yields them too.
            if not isinstance(record, Dataset) or record.ref not in aliases:
                yield entry.key, record


def _if_wanted(_entry: str, rows: list[_OfEntry]) -> Iterator[Record]:
    records = [record for _, record in rows if record is not None]
    if len(records) < len(rows):
        yield from records
