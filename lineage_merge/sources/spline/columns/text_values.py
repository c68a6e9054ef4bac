"""Columns in an expression's text, and how the expression uses each."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lineage_merge.column_lineage.transformations import Transformation, compose

# A name may be an expression, `max(coalesce(a#1, 0))#2`.
_NAME = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
_TOKEN = re.compile(
    rf"outer\((?P<outer>{_NAME}#(?P<outer_id>\d+)L?)\)"
    r"|(?P<subquery>scalar-subquery|list|exists|lateral-subquery)#\d+ \[[^\]]*\]"
    r"|(?P<function>[A-Za-z_]\w*)\("
    r"|(?P<word>\b(?:CASE|WHEN|THEN|ELSE|END|if|else|FILTER)\b)(?![#\w])"
    r"|(?P<column>[A-Za-z_`][^\s(),\[\]]*)?#(?P<id>\d+)L?"
    r"|(?P<open>\()|(?P<close>\))|(?P<separator>, )"
)
_AGGREGATES = frozenset(
    {
        "any_value", "approx_count_distinct", "approx_percentile", "array_agg", "avg", "bit_and", "bit_or",
        "bit_xor", "bool_and", "bool_or", "collect_list", "collect_set", "corr", "count", "count_if",
        "covar_pop", "covar_samp", "every", "first", "first_value", "kurtosis", "last", "last_value", "max",
        "max_by", "mean", "median", "min", "min_by", "mode", "percentile", "percentile_approx", "pivotfirst",
        "regr_avgx", "regr_avgy", "regr_count", "skewness", "some", "std", "stddev", "stddev_pop",
        "stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "var_samp", "variance",
    }
)  # fmt: skip
# Aggregates whose second argument only selects.
_CHOOSING = frozenset({"max_by", "min_by"})
_STEERING = {
    "windowspecdefinition": Transformation.WINDOW,
    "rank": Transformation.WINDOW,
    "dense_rank": Transformation.WINDOW,
    "percent_rank": Transformation.WINDOW,
}


class ColumnReference(NamedTuple):
    """A column in an expression's text; `outer`: a column of the outer query.

    `subquery`: not a column but a subquery, and `name` is its kind.
    """

    id: int
    name: str
    step: Transformation
    outer: bool = False
    subquery: bool = False


def column_references(expression: str) -> Iterator[ColumnReference]:
    """Yield every column and subquery in an expression, in the order of the text."""
    whole = Transformation.IDENTITY if _is_plain(expression) else Transformation.TRANSFORMATION
    # The context of each open bracket and CASE, and the levels whose next argument only selects.
    levels: list[Transformation] = [whole]
    choosing: set[int] = set()
    condition_of_if = False
    for token in _TOKEN.finditer(expression):
        here = levels[-1]
        if token["outer"]:
            yield ColumnReference(int(token["outer_id"]), token["outer"].rpartition("#")[0], here, outer=True)
        elif token["subquery"]:
            yield ColumnReference(0, token["subquery"], here, subquery=True)
        elif token["function"]:
            name = token["function"].lower()
            step = Transformation.AGGREGATION if name in _AGGREGATES else Transformation.TRANSFORMATION
            if name == "exists":
                step = Transformation.CONDITIONAL
            if name == "if":
                step = Transformation.CONDITIONAL
            levels.append(compose(here, _STEERING.get(name, step)))
            if name in _CHOOSING:
                choosing.add(len(levels))
        elif token["open"]:
            levels.append(compose(here, Transformation.CONDITIONAL) if condition_of_if else here)
            condition_of_if = False
        elif token["close"]:
            choosing.discard(len(levels))
            if len(levels) > 1:
                levels.pop()
        elif token["separator"]:
            if len(levels) in choosing:
                levels[-1] = compose(levels[-2], Transformation.CONDITIONAL)
        elif token["word"]:
            word = token["word"]
            if word == "CASE":
                levels.append(here)
            elif word == "WHEN" and len(levels) > 1:
                levels[-1] = compose(levels[-2], Transformation.CONDITIONAL)
            elif word in ("THEN", "ELSE") and len(levels) > 1:
                levels[-1] = compose(levels[-2], Transformation.TRANSFORMATION)
            elif word == "END" and len(levels) > 1:
                levels.pop()
            condition_of_if = word in ("if", "FILTER")
        elif token["id"]:
            yield ColumnReference(int(token["id"]), (token["column"] or "").strip("`"), here)


def _is_plain(expression: str) -> bool:
    """Return whether an expression is just a column or a subquery."""
    token = _TOKEN.fullmatch(expression.strip())
    return bool(token and (token["id"] or token["outer"] or token["subquery"]))


def readable(text: str) -> str:
    """Return an expression's text without Spark's ids."""
    return re.sub(r"#\d+L?", "", text)
