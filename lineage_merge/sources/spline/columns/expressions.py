"""Expressions as readable SQL, rebuilt from their tree in Spline's documents."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lineage_merge.sources.spline.columns.argument_roles import SELECTED, SUBQUERIES, TRANSPARENT
from lineage_merge.sources.spline.columns.data_types import type_texts
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.literals import literal

LIMIT = 1_000  # characters of a text

# How tightly a text holds together: parentheses are needed only around a looser one.
_OR, _AND, _NOT, _COMPARISON, _BIT_OR, _BIT_XOR, _BIT_AND, _SUM, _PRODUCT, _SIGN, _ATOM = range(11)

_OPERATORS = {
    "Or": ("OR", _OR),
    "And": ("AND", _AND),
    "EqualTo": ("=", _COMPARISON),
    "EqualNullSafe": ("<=>", _COMPARISON),
    "LessThan": ("<", _COMPARISON),
    "LessThanOrEqual": ("<=", _COMPARISON),
    "GreaterThan": (">", _COMPARISON),
    "GreaterThanOrEqual": (">=", _COMPARISON),
    "Like": ("LIKE", _COMPARISON),
    "RLike": ("RLIKE", _COMPARISON),
    "BitwiseOr": ("|", _BIT_OR),
    "BitwiseXor": ("^", _BIT_XOR),
    "BitwiseAnd": ("&", _BIT_AND),
    "Add": ("+", _SUM),
    "Subtract": ("-", _SUM),
    "Multiply": ("*", _PRODUCT),
    "Divide": ("/", _PRODUCT),
    "IntegralDivide": ("div", _PRODUCT),
    "Remainder": ("%", _PRODUCT),
    # Intervals: Spark's analyzer writes plain + and - so.
    "DateAddYMInterval": ("+", _SUM),
    "TimestampAddYMInterval": ("+", _SUM),
    "TimeAdd": ("+", _SUM),
    "DateAddInterval": ("+", _SUM),
    "SubtractTimestamps": ("-", _SUM),
    "SubtractDates": ("-", _SUM),
}
_ASSOCIATIVE = frozenset({"And", "Or"})
_CASTS = {"Cast": "cast", "AnsiCast": "cast", "UpCast": "cast", "TryCast": "try_cast"}
# The name that the function is known by, where SQL has several for one class.
_NAMES = {"Substring": "substring"}
_FUNCTIONS = frozenset({"PythonUDF", "PythonUDAF"})
# Columns that Spark's analyzer makes up to compute an argument beforehand.
_MADE_UP = re.compile(
    r"(_we?\d+|_groupingexpression|_gen_input_\d+|aggOrder|havingCondition|__pivot_.*|.* AS .*)"
)


class _Text(NamedTuple):
    text: str
    holds: int = _ATOM

    def inside(self, holds: int) -> str:
        """The text as part of another that holds so tightly."""
        return self.text if self.holds >= holds else f"({self.text})"


class ExpressionTexts:
    """Writes the expressions of one plan."""

    def __init__(self, plan: PlanColumns, subqueries: Mapping[str, str] | None = None) -> None:
        """`subqueries` gives the text of an expression that is a subquery."""
        self._plan = plan
        self._subqueries = subqueries or {}
        self._types = type_texts(plan.data_types)

    def text(self, node: str) -> str:
        """The text of an expression or an attribute, at most 1,000 characters.

        A column is written by its name; one that Spark made up, and the result of a Python function,
        by what it is computed by.
        """
        done: dict[str, _Text] = {}
        waiting = [node]
        entered: set[str] = set()
        while waiting:
            current = waiting[-1]
            if current in done:
                waiting.pop()
                continue
            parts = self._parts(current)
            if current not in entered:
                entered.add(current)
                missing = [each for each in reversed(parts) if each not in done and each not in entered]
                if missing:
                    waiting.extend(missing)
                    continue
            texts = [done.get(each, _Text("...")) for each in parts]
            whole = self._write(current, texts)
            done[current] = whole._replace(text=whole.text[:LIMIT])
            waiting.pop()
        return done[node].text

    def _parts(self, node: str) -> tuple[str, ...]:
        if node in self._plan.expressions:
            if self._plan.class_name(node) in SUBQUERIES:
                return ()
            return self._plan.arguments.get(node, ())
        name = str((self._plan.attributes.get(node) or {}).get("name") or "")
        computed = self._plan.computed_by.get(node, ())
        return computed if _MADE_UP.fullmatch(name) or self._is_function_result(computed) else ()

    def _is_function_result(self, computed: tuple[str, ...]) -> bool:
        """Whether a column is a Python function's result as it is: its name says nothing about it."""
        if len(computed) == 1 and self._plan.class_name(computed[0]) == "Alias":
            computed = self._plan.arguments.get(computed[0], ())
        return len(computed) == 1 and self._plan.class_name(computed[0]) in _FUNCTIONS

    def _write(self, node: str, parts: list[_Text]) -> _Text:
        document = self._plan.expressions.get(node)
        if document is None:
            if parts:
                return parts[0]
            return _Text(str((self._plan.attributes.get(node) or {}).get("name") or "?"))
        if document.get("type") == "Lit":
            return _Text(literal(document.get("value"), self._types.get(str(document.get("dataType")), "")))
        class_name = self._plan.class_name(node)
        if class_name in SUBQUERIES:
            selected = self._subqueries.get(node) or "SELECT ..."
            return _Text(f"EXISTS ({selected})" if class_name == "Exists" else f"({selected})")
        if class_name == SELECTED and parts:
            return _Text(f"(SELECT {parts[0].text})")
        if class_name in TRANSPARENT and parts:
            return parts[0]
        if class_name in _OPERATORS and len(parts) == 2:
            return _operator(class_name, parts)
        if class_name in _CASTS and parts:
            wanted = self._types.get(str(document.get("dataType")), "") or "?"
            return _Text(f"{_CASTS[class_name]}({parts[0].text} as {wanted})")
        special = _SPECIAL.get(class_name)
        if special:
            classes = [
                self._plan.class_name(each) if each in self._plan.expressions else ""
                for each in self._plan.arguments.get(node, ())
            ]
            written = special(parts, self._plan.params(node), classes)
            if written:
                return written
        name = _NAMES.get(class_name) or str(document.get("name") or class_name or "?")
        if class_name in _FUNCTIONS or class_name == "NamedLambdaVariable":
            name = str(self._plan.params(node).get("name") or name)
        if class_name == "NamedLambdaVariable":
            return _Text(name)
        return _Text(f"{name}({_list(parts)})")


def _list(parts: list[_Text]) -> str:
    return ", ".join(each.text for each in parts)


def _operator(class_name: str, parts: list[_Text]) -> _Text:
    symbol, holds = _OPERATORS[class_name]
    # a - (b - c), and no chain of comparisons; but a AND b AND c.
    left = parts[0].inside(holds + 1 if holds == _COMPARISON else holds)
    right = parts[1].inside(holds if class_name in _ASSOCIATIVE else holds + 1)
    return _Text(f"{left} {symbol} {right}", holds)


_Special = Callable[[list[_Text], Mapping[str, Any], list[str]], _Text | None]


def _case(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    pairs = zip(parts[0::2], parts[1::2], strict=False)
    whens = "".join(f" WHEN {condition.text} THEN {value.text}" for condition, value in pairs)
    otherwise = f" ELSE {parts[-1].text}" if len(parts) % 2 else ""
    return _Text(f"CASE{whens}{otherwise} END")


def _not(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    return _Text(f"NOT {parts[0].inside(_NOT)}", _NOT)


def _minus(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    return _Text(f"-{parts[0].inside(_ATOM)}", _SIGN)


def _is_null(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    return _Text(f"{parts[0].inside(_COMPARISON + 1)} IS NULL", _COMPARISON)


def _is_not_null(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    return _Text(f"{parts[0].inside(_COMPARISON + 1)} IS NOT NULL", _COMPARISON)


def _in(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    return _Text(f"{parts[0].inside(_COMPARISON + 1)} IN ({_list(parts[1:])})", _COMPARISON)


def _in_subquery(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text | None:
    if len(parts) < 2:
        return None
    values = parts[0].inside(_COMPARISON + 1) if len(parts) == 2 else f"({_list(parts[:-1])})"
    return _Text(f"{values} IN {parts[-1].text}", _COMPARISON)


def _aggregate(parts: list[_Text], params: Mapping[str, Any], _classes: list[str]) -> _Text:
    text = parts[0].text
    if params.get("isDistinct") is True:
        name, bracket, rest = text.partition("(")
        text = f"{name}{bracket}DISTINCT {rest}"
    if len(parts) > 1:
        text = f"{text} FILTER (WHERE {parts[1].text})"
    return _Text(text)


def _window(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text | None:
    return _Text(f"{parts[0].text} OVER ({parts[1].text})") if len(parts) == 2 else None


def _window_spec(parts: list[_Text], _params: Mapping[str, Any], classes: list[str]) -> _Text:
    frames = ("SpecifiedWindowFrame", "UnspecifiedFrame$")
    partition = [
        each for each, name in zip(parts, classes, strict=True) if name != "SortOrder" and name not in frames
    ]
    order = [each for each, name in zip(parts, classes, strict=True) if name == "SortOrder"]
    clauses = [f"PARTITION BY {_list(partition)}"] if partition else []
    if order:
        clauses.append(f"ORDER BY {_list(order)}")
    return _Text(" ".join(clauses))


def _sort_order(parts: list[_Text], params: Mapping[str, Any], _classes: list[str]) -> _Text:
    descending = "desc" in str(params.get("direction") or "").lower()
    return _Text(f"{parts[0].text} DESC" if descending else parts[0].text)


def _rank(_parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    """The order columns that Spark hands to a rank stand in its window already."""
    return _Text("rank()")


def _dense_rank(_parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    return _Text("dense_rank()")


def _percent_rank(_parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    return _Text("percent_rank()")


def _lag(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    """Spark turns the offset's sign and adds a default of null."""
    texts = [each.text for each in parts[:3]]
    if len(texts) > 1:
        texts[1] = texts[1].removeprefix("-")
    if len(texts) == 3 and texts[2] == "null":
        texts.pop()
    return _Text(f"lag({', '.join(texts)})")


def _field(parts: list[_Text], params: Mapping[str, Any], _classes: list[str]) -> _Text | None:
    name = params.get("name")
    return _Text(f"{parts[0].inside(_ATOM)}.{name}") if isinstance(name, str) else None


def _item(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text | None:
    return _Text(f"{parts[0].inside(_ATOM)}[{parts[1].text}]") if len(parts) == 2 else None


def _lambda(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    names = _list(parts[1:])
    return _Text(f"{names if len(parts) == 2 else f'({names})'} -> {parts[0].text}")


def _if(parts: list[_Text], _params: Mapping[str, Any], _classes: list[str]) -> _Text:
    return _Text(f"if({_list(parts)})")


_SPECIAL: Mapping[str, _Special] = {
    "CaseWhen": _case,
    "If": _if,
    "Not": _not,
    "UnaryMinus": _minus,
    "IsNull": _is_null,
    "IsNotNull": _is_not_null,
    "In": _in,
    "InSubquery": _in_subquery,
    "aggregate.AggregateExpression": _aggregate,
    "WindowExpression": _window,
    "WindowSpecDefinition": _window_spec,
    "SortOrder": _sort_order,
    "GetStructField": _field,
    "GetArrayItem": _item,
    "GetMapValue": _item,
    "LambdaFunction": _lambda,
    "Rank": _rank,
    "DenseRank": _dense_rank,
    "PercentRank": _percent_rank,
    "Lag": _lag,
}
