"""Expressions of QuickSight: what their values are made of, their text, and hostile ones."""

import pytest

from lineage_merge.column_lineage.derive import derive_flows
from lineage_merge.column_lineage.value_graph import SourceColumn, Value
from lineage_merge.sources.quicksight.expressions import (
    MAX_DEPTH,
    MAX_LENGTH,
    ExpressionError,
    Names,
    parse_expression,
)

KNOWN = frozenset({"a", "b", "c", "day", "Sales Amount", "id-1.region", "Region", "x[y]"})


def find(name: str, in_any_case: bool) -> Value[str] | None:
    matching = [each for each in KNOWN if each == name or (in_any_case and each.lower() == name.lower())]
    return Value(columns=(SourceColumn("t", matching[0]),)) if matching else None


def marked(source: str) -> Names:
    return Names(find, lambda name: Value(columns=(SourceColumn("lost", name),)), lambda name: Value())


def inputs(text: str) -> dict[str, str]:
    """The columns that an expression is made of, with their transformations."""
    flows = derive_flows([("v", parse_expression(text, marked("t")))])
    return {
        f"{'' if flow.source == 't' else 'lost '}{flow.column}": ",".join(
            step.name for step in flow.transformations
        )
        for flow in flows
    }


def text_of(text: str) -> str:
    (flow, *_) = derive_flows([("v", parse_expression(text, marked("t")))])
    return flow.expression


VALUE, AGGREGATED, CONDITION, WINDOW = "TRANSFORMATION", "AGGREGATION", "CONDITIONAL", "WINDOW"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a}", {"a": "IDENTITY"}),
        ("((a))", {"a": "IDENTITY"}),
        ("a + {b}", {"a": VALUE, "b": VALUE}),
        ("{Sales Amount} / 2", {"Sales Amount": VALUE}),
        ("ifelse(a > 1, b, c)", {"a": CONDITION, "b": VALUE, "c": VALUE}),
        ("ifelse(a = 1, b, a = 2, c, {day})", {"a": CONDITION, "b": VALUE, "c": VALUE, "day": VALUE}),
        ("switch(a, 1, b, 2, c, {day})", {"a": CONDITION, "b": VALUE, "c": VALUE, "day": VALUE}),
        ("nullIf(a, b)", {"a": VALUE, "b": CONDITION}),
        ("coalesce(a, b)", {"a": VALUE, "b": VALUE}),
        ("sum(a)", {"a": AGGREGATED}),
        ("sumIf(a, b > 1 AND c = 2)", {"a": AGGREGATED, "b": CONDITION, "c": CONDITION}),
        ("distinct_countIf(a, b = 'x')", {"a": AGGREGATED, "b": CONDITION}),
        ("sum(ifelse(a = 1, b, 0)) / count(c)", {"a": CONDITION, "b": AGGREGATED, "c": AGGREGATED}),
        ("sum(a, [b, c])", {"a": AGGREGATED, "b": WINDOW, "c": WINDOW}),
        ("maxOver(sum(a), [b], PRE_AGG)", {"a": AGGREGATED, "b": WINDOW}),
        (
            "runningSum(sum(a), [{day} ASC, b DESC], [c])",
            {"a": AGGREGATED, "day": WINDOW, "b": WINDOW, "c": WINDOW},
        ),
        ("rank([sum(a) DESC], [b])", {"a": WINDOW, "b": WINDOW}),
        ("percentOfTotal(sum(a), [b])", {"a": AGGREGATED, "b": WINDOW}),
        ("periodOverPeriodDifference(sum(a), {day}, MONTH, 1)", {"a": AGGREGATED, "day": WINDOW}),
        ("firstValue(a, [{day} ASC], [b])", {"a": VALUE, "day": WINDOW, "b": WINDOW}),
        ("lag(sum(a), [{day} ASC], 1, [b])", {"a": AGGREGATED, "day": WINDOW, "b": WINDOW}),
        ("in(a, ['x', 'y'])", {"a": VALUE}),
        ("a in ['x']", {"a": VALUE}),
        ("NOT (a = 1) AND (b = 2)", {"a": VALUE, "b": VALUE}),
        ("{id-1.region}", {"id-1.region": "IDENTITY"}),
        ("{x[y]} = {a}", {"x[y]": VALUE, "a": VALUE}),
        ("region", {"Region": "IDENTITY"}),
        ("truncDate('DD', day)", {"day": VALUE}),
        ('dateDiff(a, now(), "MM")', {"a": VALUE}),
        ("ifelse(${limit} > a, 'over', NULL)", {"a": CONDITION}),
        ("a * 1.5e-3", {"a": VALUE}),
        ("'text'", {}),
        ("", {}),
        ("f()", {}),
        ("{gone} + a", {"lost gone": VALUE, "a": VALUE}),
    ],
)
def test_an_expression_is_made_of_its_columns(text: str, expected: dict[str, str]) -> None:
    assert inputs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("concat('http://x', a) // b", {"a": VALUE}),
        ("/* {b} */ upper(a) /* c */", {"a": VALUE}),
        ('concat("it\'s {b}", a)', {"a": VALUE}),
        (r"replace(a, '\'', '{b}')", {"a": VALUE}),
        (r"split(a, '\', 1)", {"a": VALUE}),
    ],
)
def test_names_in_texts_and_comments_are_no_references(text: str, expected: dict[str, str]) -> None:
    assert inputs(text) == expected


def test_a_constant_that_is_also_a_column_is_the_column_only_as_it_is_spelt() -> None:
    assert inputs("periodToDateSum(sum(a), b, DAY)") == {"a": AGGREGATED, "b": WINDOW}
    assert inputs("concat(day, a)") == {"day": VALUE, "a": VALUE}


def test_text_is_on_one_line_without_comments_and_with_plain_names() -> None:
    assert text_of("sum(\n  {a}, // all\n  [{Sales Amount}])") == "sum( a, [{Sales Amount}])"


def test_text_is_cut_at_the_limit_of_an_edge() -> None:
    assert len(text_of("+".join(["a"] * 2_000))) == 1_000


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sum(a", "unbalanced brackets"),
        ("a)", "unbalanced brackets"),
        ("(a]", "unbalanced brackets"),
        ("[a", "unbalanced brackets"),
        ("{a", "unbalanced braces"),
        ("${a", "unbalanced braces"),
        ("'a", "a text without its end"),
        ('"a', "a text without its end"),
        ("/* a", "a comment without its end"),
        ("a; b", "an unexpected character"),
        ("a, b", "a comma outside of brackets"),
        ("(" * (MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH} levels"),
        ("f(" * 1_000 + "a" + ")" * 1_000, f"nested deeper than {MAX_DEPTH} levels"),
        ("a" * 1_000_000, f"longer than {MAX_LENGTH:,} characters"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError, match=f"^{problem}$"):
        parse_expression(text, marked("t"))


def test_400_levels_are_read() -> None:
    assert inputs("abs(" * 400 + "a" + ")" * 400) == {"a": VALUE}
