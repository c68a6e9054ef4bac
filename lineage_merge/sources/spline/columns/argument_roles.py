"""The role of each argument of an expression: a direct or an indirect input of its value.

By Catalyst's class, as in `extra.simpleClassName` (Spark 2.4 to 4.0).
"""

from collections.abc import Mapping
from typing import Any

from lineage_merge.column_lineage.transformations import Transformation

IDENTITY = Transformation.IDENTITY
TRANSFORMATION = Transformation.TRANSFORMATION
AGGREGATION = Transformation.AGGREGATION
CONDITIONAL = Transformation.CONDITIONAL
WINDOW = Transformation.WINDOW

# The argument itself, or what Spark's analyzer replaced the function with: the step is that of the argument.
TRANSPARENT = frozenset(
    {
        "Alias",
        "AssertNotNull",
        "objects.AssertNotNull",
        "CheckOverflow",
        "DatetimeSub",
        "Decode",
        "EqualNull",
        "Extract",
        "Get",
        "KnownNotNull",
        "KnownNullable",
        "KnownFloatingPointNormalized",
        "NormalizeNaNAndZero",
        "NullIf",
        "Nvl",
        "Nvl2",
        "PromotePrecision",
        "StringTrimBoth",
        "TempResolvedColumn",
        "TryAdd",
        "TryDivide",
        "TryElementAt",
        "TryEval",
        "TryMultiply",
        "TrySubtract",
    }
)
CASTS = ("Cast", "AnsiCast", "UpCast", "TryCast")
# A scalar subquery, or that of an IN, with operations instead of text: the value of its columns.
SELECTED = "SelectedValue"
# Spline's own function for a column of a union; it has no Catalyst class.
UNION = "union"
# Their plan is text: see `text_columns`. Their arguments are columns of the outer query, which decide on the
# subquery's rows.
SUBQUERIES = frozenset({"ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"})

# Their arguments are the window's order columns.
_RANKS = frozenset({"Rank", "DenseRank", "PercentRank"})
# Aggregates whose second argument only selects.
_CHOOSING = frozenset({"aggregate.MaxBy", "aggregate.MinBy"})
# They return the argument that is greater or smaller than others.
COMPARING = frozenset({"aggregate.Max", "aggregate.Min", "Greatest", "Least"})
# They return one of their direct arguments, unchanged.
RETURNING = (
    COMPARING
    | _CHOOSING
    | {"aggregate.AggregateExpression", "aggregate.AnyValue", "aggregate.First", "aggregate.Last"}
    | {"CaseWhen", "Coalesce", "If", "Lag", "Lead", "NthValue", "WindowExpression"}
)

# Catalyst's class of producer API 1's `expr.Binary`, which has only the operator's symbol.
_BINARY = {
    "+": "Add",
    "-": "Subtract",
    "*": "Multiply",
    "/": "Divide",
    "div": "IntegralDivide",
    "%": "Remainder",
    "pmod": "Pmod",
    "=": "EqualTo",
    "<=>": "EqualNullSafe",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
    "&&": "And",
    "||": "Or",
    "&": "BitwiseAnd",
    "|": "BitwiseOr",
    "^": "BitwiseXor",
}
# The same for its other kinds of expressions.
_HINTS = {"expr.Alias": "Alias", "expr.UDF": "ScalaUDF", "expr.Literal": "Literal"}

# With ALL, Spark names them `Intersect All` and `Except All`.
_SETS = frozenset({"Intersect", "Except"})

_KNOWN = (
    TRANSPARENT
    | SUBQUERIES
    | _RANKS
    | _CHOOSING
    | {"CaseWhen", "If", "WindowExpression", "WindowSpecDefinition", "SortOrder", "PythonUDF", "PythonUDAF"}
    | {"Cast", "Stack", "ShiftRight", "aggregate.AggregateExpression", "aggregate.PivotFirst"}
)
_CLASSES = {name.rpartition(".")[2].lower(): name for name in sorted(_KNOWN)}


def class_name(expression: Mapping[str, Any]) -> str:
    """Return the Catalyst class of an expression's document, such as ``aggregate.Sum``.

    The oldest agents report only the function's name; "" if that is no known class.
    """
    extra = expression.get("extra") or {}
    name = str(extra.get("simpleClassName") or "")
    if name.startswith("org."):
        # Spark has moved classes: `org.apache.spark.sql.execution.python.PythonUDF`.
        return name.rpartition(".")[2]
    if name:
        return name
    hinted = class_of_hint(str(extra.get("_typeHint") or ""), str(extra.get("symbol") or ""))
    return hinted or _CLASSES.get(str(expression.get("name") or "").lower(), "")


def class_of_hint(hint: str, symbol: str) -> str:
    """Return the Catalyst class of a producer API 1 expression without a class name; "" if unknown."""
    return _HINTS.get(hint) or _BINARY.get(symbol, "")


def steps(class_name: str, count: int) -> tuple[Transformation, ...]:
    """Return the step from each of `count` arguments to the value of an expression."""
    if class_name in TRANSPARENT or class_name in (UNION, SELECTED):
        return (IDENTITY,) * count
    if class_name == "CaseWhen":
        # Condition, value, condition, value, and an optional ELSE.
        pairs = (CONDITIONAL, TRANSFORMATION) * (count // 2)
        return pairs if count % 2 == 0 else (*pairs, TRANSFORMATION)
    if class_name == "If" and count:
        return (CONDITIONAL, *(TRANSFORMATION,) * (count - 1))
    if class_name == "WindowExpression" and count:
        return (TRANSFORMATION, *(WINDOW,) * (count - 1))
    if class_name in _RANKS:
        return (WINDOW,) * count
    if class_name == "aggregate.AggregateExpression" and count:
        # The second one is its FILTER (WHERE ...).
        return (AGGREGATION, *(CONDITIONAL,) * (count - 1))
    if class_name == "aggregate.PivotFirst" and count == 2:
        return (CONDITIONAL, AGGREGATION)
    if class_name in _CHOOSING and count == 2:
        return (AGGREGATION, CONDITIONAL)
    if class_name.startswith("aggregate.") or class_name == "PythonUDAF":
        return (AGGREGATION,) * count
    return (TRANSFORMATION,) * count


def compares_both_sides(operation: str) -> bool:
    """Return whether an operation of that name compares its inputs by all columns: INTERSECT, EXCEPT."""
    return operation.removesuffix("All").rstrip() in _SETS


def only_filters(join_type: str) -> bool:
    """Return whether a join adds no columns: ``LEFT SEMI``, or ``LeftAnti`` at the start of its text."""
    return join_type.upper().replace(" ", "").startswith(("LEFTSEMI", "LEFTANTI"))
