"""What a catalog says counts only for datasets that another source references.

A catalog lists everything that a company has: ten thousand tables that this DAG never touches
are no part of its graph.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.records import Record, with_kind


class Described(NamedTuple):
    """A record of a catalog, and the thing that it is about (a table, under whichever name; None: the whole).

    A record of kind "name" says only that its `target` is one of the thing's other names.
    """

    about: str | None
    record: Record


def described(about: str | None, rows: Iterable[Record]) -> Iterator[Described]:
    """All the records about one thing.

    What records say of another name is nothing new: a source that uses the name says it too.
    """
    found = list(rows)
    others = {record.source for record in found if record.kind == "alias"}
    for record in found:
        is_name = record.kind == "dataset" and record.target in others
        yield Described(about, with_kind(record, "name") if is_name else record)


def of_mentioned(catalog: Rows[Described], records: Rows[Record]) -> Rows[Record]:
    """The records of a catalog about what `records` reference.

    Both are computed here too: keep them. A thing is referenced when one of its names is; then all
    that is said of it counts, since the referenced name may be an alias of another one.
    """
    # A dataset that is referenced in any form leaves a record of kind "dataset".
    referenced = records.flat_map(_referenced)
    things = catalog.flat_map(_names).union(referenced).combine(_first, _add, _merge).flat_map(_wanted)
    of_things = catalog.flat_map(_of_thing).union(things).group(_about, _if_wanted)
    return of_things.union(catalog.flat_map(_of_the_whole))


# By the id of a dataset: the thing that has it as a name, or None for a reference to it.
_Name = tuple[str, str | None]
# All of one id: the things, and whether there is a reference.
_Names = tuple[set[str], bool]
# By the thing: a record about it, or None where the thing is referenced.
_OfThing = tuple[str, Record | None]


def _names(each: Described) -> Iterator[_Name]:
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
    things, is_referenced = names
    things |= others[0]
    return things, is_referenced or others[1]


def _wanted(names: tuple[str, _Names]) -> Iterator[_OfThing]:
    things, is_referenced = names[1]
    if is_referenced:
        for about in things:
            yield about, None


def _of_thing(each: Described) -> Iterator[_OfThing]:
    if each.about is not None and each.record.kind != "name":
        yield each.about, each.record


def _about(each: _OfThing) -> str:
    return each[0]


def _if_wanted(_thing: str, rows: list[_OfThing]) -> Iterator[Record]:
    found = [record for _, record in rows if record is not None]
    if len(found) < len(rows):
        yield from found


def _of_the_whole(each: Described) -> Iterator[Record]:
    if each.about is None:
        yield each.record
