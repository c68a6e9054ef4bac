"""What relational operations do with the rows of a target, for every front end. Pure.

Names are those of SQL's clauses, of the parser's nodes and of Spark's operations, in any case.
"""

from lineage_merge.column_lineage.transformations import InfluenceKind

# How the columns of their condition, keys or order decide on rows.
_DECIDING = {
    "filter": InfluenceKind.FILTER,
    "join": InfluenceKind.JOIN,
    "lateraljoin": InfluenceKind.JOIN,
    "asofjoin": InfluenceKind.JOIN,
    "aggregate": InfluenceKind.GROUP_BY,
    "deduplicate": InfluenceKind.GROUP_BY,
    "distinct": InfluenceKind.GROUP_BY,
    "union": InfluenceKind.GROUP_BY,
    "sort": InfluenceKind.SORT,
}
# Their values come from the left side; rows are compared by all columns of both. With ALL, Spark names them
# `Intersect All` and `Except All`.
_COMPARING = frozenset({"intersect", "except", "minus"})
# Joins that add no columns: of SQL by kind, of Spark as `LEFT SEMI` or ``LeftAnti`` at the start of a text.
_FILTERING = ("semi", "anti", "leftsemi", "leftanti")


def influence_of(operation: str, join_type: str = "") -> InfluenceKind:
    """Return how columns of an operation decide on rows."""
    return InfluenceKind.FILTER if only_filters(join_type) else _DECIDING[operation.lower()]


def compares_both_sides(operation: str) -> bool:
    """Return whether an operation of that name compares its inputs by all columns: INTERSECT, EXCEPT."""
    return operation.lower().removesuffix("all").rstrip() in _COMPARING


def only_filters(join_type: str) -> bool:
    """Return whether a join of that type adds no columns."""
    return join_type.replace(" ", "").lower().startswith(_FILTERING)
