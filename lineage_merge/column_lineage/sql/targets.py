"""Mapping of a query's columns to its target's. Pure."""

from collections.abc import Iterable, Sequence

from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.scope import NamedColumn, Relation
from lineage_merge.column_lineage.sql.sql_values import Columns
from lineage_merge.column_lineage.sql.tables import fold, only
from lineage_merge.column_lineage.value_graph import has_origin


def match_by_position(relation: Relation, names: Sequence[str], *, may_be_fewer: bool) -> tuple[Columns, str]:
    """Return the columns `names` as INSERT fills them, and a problem ("": none).

    After a `*` of unknown columns, the last ones are matched from the end, because a valid statement has as
    many.
    """
    items = relation.items
    count = next((at for at, item in enumerate(items) if not isinstance(item, NamedColumn)), len(items))
    if relation.closed:
        if count > len(names) or (count < len(names) and not may_be_fewer):
            return [], f"{notes.WRONG_COLUMN_COUNT}{count} columns into a table of {len(names)}"
        return list(zip(names, (item.value for item in relation.named), strict=False)), ""
    first = [item for item in items[:count] if isinstance(item, NamedColumn)]
    last: list[NamedColumn] = []
    for item in reversed(items[count:]):
        if not isinstance(item, NamedColumn):
            break
        last.append(item)
    matched = list(zip(names, (item.value for item in first), strict=False))
    matched += zip(reversed(names), (item.value for item in last), strict=False)
    return matched, notes.UNKNOWN_STAR


def name_partition_columns(relation: Relation, names: Sequence[str]) -> tuple[Relation, Columns]:
    """Name the last columns of a query like the dynamic partition columns that they fill.

    Returns the query's columns, and those of partitions: none if the last columns are not listed.
    """
    count = len(relation.items) - len(names)
    last = [item for item in relation.items[max(count, 0) :] if isinstance(item, NamedColumn)]
    if not names or len(last) < len(names):
        return relation, []
    columns = [(name, item.value) for name, item in zip(names, last, strict=True)]
    items = [*relation.items[:count], *(NamedColumn(*column) for column in columns)]
    return Relation(items, relation.rows, relation.base, relation.rest), columns


def match_by_name(relation: Relation, names: Iterable[str]) -> tuple[Columns, str]:
    """Return the columns under the query's own names; `names` are those that the target certainly has."""
    columns = [(item.name, item.value) for item in relation.list_known() if item.name]
    known = {fold(name) for name, _ in columns}
    for name in names:
        if fold(name) not in known:
            star, _ = only(relation.stars, name)
            value = star.find(name) if star is not None else None
            if value is not None and has_origin(value):
                columns.append((name, value))
    return columns, "" if relation.closed else notes.UNKNOWN_STAR
