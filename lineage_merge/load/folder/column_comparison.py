"""Compares the columns of a merge with those of an embedded graph: which rows are new, differ or are missing.

Pure. Rows are compared as a whole: one that is equal here is unchanged by `load.diff`, too, which compares
the others value by value.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

from lineage_merge.infra.arrow_tables import all_positions, get_column, has_member, is_one_of
from lineage_merge.infra.embedded.graph_tables import arrow
from lineage_merge.load.element_rows import EDGE_NAMES, VERTEX_NAMES
from lineage_merge.load.folder.state import FolderState
from lineage_merge.load.graph_state import LOADER_LABELS

_SEPARATOR = "\0"
# A change of only this property causes no write.
_UNCOMPARED = frozenset({"sequence"})


class ComparedRows(NamedTuple):
    """Positions of rows: of the merge `new`, `changed` and `unchanged` ones; of the graph `replaced` ones,
    which differ, and `missing` ones, which the merge does not have.
    """

    new: Any
    changed: Any
    unchanged: Any
    replaced: Any
    missing: Any


def compare_vertices(incoming: Any, state: FolderState) -> ComparedRows | None:
    """Compare the vertices of a merge; None if two have the same id, or one has none.

    A vertex without the tag of the DAG differs.
    """
    stored = state.tables.vertices
    of_loader = is_one_of(get_column(stored, "label"), LOADER_LABELS)
    owned = arrow().compute.and_(state.has_tag, arrow().compute.invert(of_loader))
    return _compare(incoming, stored, ("label", *VERTEX_NAMES), owned, state.has_tag)


def compare_edges(incoming: Any, state: FolderState) -> ComparedRows | None:
    """Compare the edges of a merge; None if two have the same id, or one has none."""
    owned = state.is_edge_of_dag
    return _compare(incoming, state.tables.edges, EDGE_NAMES - _UNCOMPARED, owned, owned)


def _compare(
    incoming: Any, stored: Any, names: Iterable[str], owned: Any, may_be_equal: Any
) -> ComparedRows | None:
    pa = arrow()
    compute = pa.compute
    ids = get_column(incoming, "id")
    places = _find_places(ids, get_column(stored, "id"), owned)
    known = compute.indices_nonzero(places.is_valid()).cast(pa.int32())
    found, new = places.take(known), compute.indices_nonzero(places.is_null())
    if ids.null_count or not (_are_distinct(found) and _are_distinct(ids.take(new))):
        return None
    masks = [
        _are_equal(incoming, stored, name, known, found) for name in names if _has(name, incoming, stored)
    ]
    equal = reduce(compute.and_, masks, may_be_equal.take(found))
    different = compute.invert(equal)
    is_found = pa.repeat(True, len(stored))
    if len(found) < len(stored):
        is_found = compute.is_in(all_positions(len(stored)), value_set=found)
    is_missing = compute.and_(owned, compute.invert(is_found))
    return ComparedRows(
        new=new,
        changed=known.filter(different),
        unchanged=known.filter(equal),
        replaced=found.filter(different),
        missing=compute.indices_nonzero(is_missing),
    )


def _find_places(ids: Any, stored: Any, owned: Any) -> Any:
    """Return for each id its position among the stored ones, of which some are owned; unknown if missing."""
    compute = arrow().compute
    if len(ids) and ids.equals(stored.filter(owned)):  # nothing is new or missing, and the order is the same
        return compute.indices_nonzero(owned).cast(arrow().int32())
    return compute.index_in(ids, value_set=stored)


def _are_distinct(values: Any) -> bool:
    return bool(arrow().compute.count_distinct(values).as_py() == len(values))


def _has(name: str, *tables: Any) -> bool:
    return any(name in table.column_names for table in tables)


def _are_equal(incoming: Any, stored: Any, name: str, known: Any, found: Any) -> Any:
    """Return for each pair of rows whether they have the same value of a column, or none."""
    pa = arrow()
    compute = pa.compute
    new, old = get_column(incoming, name).take(known), get_column(stored, name).take(found)
    unknown = compute.and_(_is_unknown(new), _is_unknown(old))
    if not (_has(name, incoming) and _has(name, stored)):
        return unknown
    if pa.types.is_list(new.type):
        same = reduce(
            compute.and_,
            [
                compute.equal(compute.binary_join(new, _SEPARATOR), compute.binary_join(old, _SEPARATOR)),
                compute.equal(compute.list_value_length(new), compute.list_value_length(old)),
                compute.invert(_has_separator(new)),
            ],
        )
    elif pa.types.is_dictionary(new.type):
        codes = compute.index_in(new.dictionary, value_set=old.dictionary)
        same = compute.equal(codes.take(new.indices), old.indices)
    else:
        same = compute.equal(new, old)
    return compute.or_(compute.fill_null(same, False), unknown)


def _has_separator(column: Any) -> Any:
    """Return for each set whether one of its texts has the separator, so that joined texts say too little."""
    compute = arrow().compute
    return has_member(column, compute.match_substring(compute.list_flatten(column), _SEPARATOR))


def _is_unknown(column: Any) -> Any:
    pa = arrow()
    if pa.types.is_list(column.type):
        return pa.compute.equal(pa.compute.fill_null(pa.compute.list_value_length(column), 0), 0)
    return column.is_null()
