"""Arguments of functions whose structure, or that of their elements, the result has. Pure."""

from sqlglot import exp

_THIS = frozenset({"this"})
_ALL = frozenset({"this", "expressions"})
_BOTH = frozenset({"this", "expression"})
# The arguments by their names in the parser's tree.
_ARGUMENTS: dict[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys(
        (
            exp.Alias,
            exp.AnyValue,
            exp.ArgMax,
            exp.ArgMin,
            exp.ArrayAgg,
            exp.ArrayCompact,
            exp.ArrayConcatAgg,
            exp.ArrayDistinct,
            exp.ArrayFirst,
            exp.ArrayLast,
            exp.ArrayRemove,
            exp.ArrayReverse,
            exp.ArraySlice,
            exp.ArraySort,
            exp.ArrayUnionAgg,
            exp.ArrayUniqueAgg,
            exp.Cast,
            exp.Explode,
            exp.ExplodeOuter,
            exp.Filter,
            exp.First,
            exp.FirstValue,
            exp.Flatten,
            exp.HavingMax,
            exp.IgnoreNulls,
            exp.Inline,
            exp.Lag,
            exp.Last,
            exp.LastValue,
            exp.Lead,
            exp.Limit,
            exp.Max,
            exp.Min,
            exp.NthValue,
            exp.Nullif,
            exp.Order,
            exp.Paren,
            exp.Posexplode,
            exp.PosexplodeOuter,
            exp.RespectNulls,
            exp.Reverse,
            exp.ToArray,
            exp.ToVariant,
            exp.TryCast,
            exp.Window,
        ),
        _THIS,
    ),
    **dict.fromkeys((exp.ArrayConcat, exp.Coalesce, exp.Greatest, exp.Least), _ALL),
    **dict.fromkeys((exp.ArrayAppend, exp.ArrayExcept, exp.ArrayPrepend), _BOTH),
    **dict.fromkeys((exp.Array, exp.ArrayIntersect, exp.Distinct, exp.List, exp.Unnest), _ALL),
    **dict.fromkeys((exp.If, exp.Nvl2), frozenset({"true", "false"})),
    exp.Case: frozenset({"ifs", "default"}),
    exp.Kwarg: frozenset({"expression"}),
    exp.Concat: _ALL,
}
# Functions that the parser does not know, by name: the first argument passes.
_BY_NAME = frozenset(
    """
    array_except array_insert array_intersect array_remove array_union element_at get inline_outer
    list_distinct list_element list_extract list_reverse list_slice mode object_delete object_pick
    shuffle slice to_variant try_element_at
    """.split()
)


def passes(node: exp.Expr, part: exp.Expr) -> bool:
    """Return whether a value has the structure of a part of its expression."""
    if type(node) is exp.Anonymous:
        return part.index == 0 and node.name.lower() in _BY_NAME
    return part.arg_key in _ARGUMENTS.get(type(node), ())
