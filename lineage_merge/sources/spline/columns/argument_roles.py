"""The expressions of Spark's plans, by Catalyst's class as in `extra.simpleClassName` (Spark 2.4 to 4.0).

What they do with their arguments is in `column_lineage.roles`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lineage_merge.column_lineage.roles import AGGREGATED, VALUE, Role, roles
from lineage_merge.column_lineage.transformations import Transformation

IDENTITY = Transformation.IDENTITY
TRANSFORMATION = Transformation.TRANSFORMATION
CONDITIONAL = Transformation.CONDITIONAL

CASTS = ("Cast", "AnsiCast", "UpCast", "TryCast")
# A scalar subquery, or that of an IN, with operations instead of text: the value of its columns.
SELECTED = "SelectedValue"
# An expression of an event log, of which only the text is known: `params` has what its columns do.
TEXT_EXPRESSION = "TextExpression"
# Spline's own function for a column of a union; it has no Catalyst class.
UNION = "union"
# Their plan is text: see `text_columns`. Their arguments are columns of the outer query, which decide on the
# subquery's rows.
SUBQUERIES = frozenset({"ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"})

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

# Classes that are distinguished, besides transparent ones.
_KNOWN = SUBQUERIES | {
    *"""
    Rank DenseRank PercentRank CaseWhen If WindowExpression WindowSpecDefinition SortOrder PythonUDF
    PythonUDAF Cast Stack ShiftRight aggregate.AggregateExpression
    aggregate.MaxBy aggregate.MinBy aggregate.PivotFirst
    """.split()
}
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
    called = str(expression.get("name") or "").lower()
    return hinted or _CLASSES.get(called) or (called if is_transparent(called) else "")


def class_of_hint(hint: str, symbol: str) -> str:
    """Return the Catalyst class of a producer API 1 expression without a class name; "" if unknown."""
    return _HINTS.get(hint) or _BINARY.get(symbol, "")


@lru_cache(4096)
def argument_roles(class_name: str, count: int) -> tuple[Role, ...]:
    """Return the roles of `count` arguments of an expression."""
    default = AGGREGATED if class_name.startswith("aggregate.") else VALUE
    return roles(class_name, "catalyst", default).list_roles(count)


@lru_cache(4096)
def is_transparent(class_name: str) -> bool:
    """Return whether an expression is its argument, or what the analyzer replaced a function with."""
    return class_name not in (UNION, SELECTED) and roles(class_name, "catalyst").get_role(0).step is IDENTITY
