"""Column references in expressions, as printed by Hive 1.2 to 4."""

import pytest

from lineage_merge.model.elements import dot_path
from lineage_merge.sources.hive.expressions import influences, is_rename, transformations
from lineage_merge.sources.hive.query import Edge, Field
from lineage_merge.sources.hive.statement import Table
from lineage_merge.sources.hive.syntax_tree import readable

RANK = (
    "(tok_function row_number (tok_windowspec (tok_partitioningspec (tok_distributeby"
    " (. (tok_table_or_col $hdt$_0) city)) (tok_orderby (tok_tabsortcolnamedesc"
    " (tok_nulls_last (. (tok_table_or_col $hdt$_0) $f2)))))"
    " (tok_windowrange (preceding 2147483647) (following 2147483647))))"
)
SUM_OVER = (
    "(tok_function sum (. (tok_table_or_col t) amount) (tok_windowspec"
    " (tok_partitioningspec (tok_distributeby (. (tok_table_or_col t) city)))))"
)
ROWS = (
    "(tok_functiondi count (tok_table_or_col a) (tok_windowspec (tok_partitioningspec (tok_orderby"
    " (tok_tabsortcolnameasc (tok_nulls_first (tok_table_or_col b)))))"
    " (tok_windowrange (preceding 1) current)))"
)
CASE_IN_TREE = "(tok_function when (> (tok_table_or_col a) 1) (tok_table_or_col b) (tok_table_or_col c))"


def field(name: str) -> Field:
    database, table, column = name.split(".", 2)
    return Field(Table(database, table), column)


def edge(kind: str, expression: str, *sources: str) -> Edge:
    assert kind in ("PROJECTION", "PREDICATE")
    return Edge(kind, tuple(map(field, sources)), (field("dw.x.y"),), expression)  # type: ignore[arg-type]


def steps(expression: str, *sources: str) -> dict[str, str]:
    found = transformations(edge("PROJECTION", expression, *sources))
    return {
        f"{key.table.name}.{dot_path(key.column)}": ",".join(s.name for s in value)
        for key, value in found.items()
    }


def kinds(expression: str, *sources: str) -> dict[str, str]:
    found = influences(edge("PREDICATE", expression, *sources))
    return {f"{key.table.name}.{dot_path(key.column)}": ",".join(value) for key, value in found.items()}


@pytest.mark.parametrize(
    ("expression", "how"),
    [
        ("", "IDENTITY"),
        ("o.a", "IDENTITY"),
        ("ods.o.a", "IDENTITY"),
        ("_col5", "IDENTITY"),
        ("`a`", "IDENTITY"),
        ("upper(o.a)", "TRANSFORMATION"),
        ("(o.a + 1)", "TRANSFORMATION"),
        ("CAST( o.a AS varchar(128))", "TRANSFORMATION"),
        ("UDFToLong(_col1)", "TRANSFORMATION"),
        ("sum(ods.o.a)", "AGGREGATION"),
        ("count(DISTINCT ods.o.a)", "AGGREGATION"),
        ("collect_set(ods.o.a)", "AGGREGATION"),
        ("round(sum(min(ods.o.a)), 2)", "AGGREGATION"),
        ("sum(_col1)", "AGGREGATION"),
        ("max(length(o.b))", "AGGREGATION"),
        ("CASE WHEN ((o.a > 10.0)) THEN (o.a) ELSE (0) END", "TRANSFORMATION,CONDITIONAL"),
        ("CASE WHEN ((o.a > 10.0)) THEN ('when') ELSE (0) END", "CONDITIONAL"),
        ("CASE (o.a) WHEN (1) THEN ('x') END", "CONDITIONAL"),
        ("if((o.a > 1), 'it's', 0)", "CONDITIONAL"),
        ("nullif('x', o.a)", "CONDITIONAL"),
        ("max_by('x', o.a)", "CONDITIONAL"),
        ("sum(if((o.b > 1), o.a, 0))", "AGGREGATION"),
        ("concat(CASE WHEN (true) THEN (o.a) END, 'THEN')", "TRANSFORMATION"),
        ("_wcol0", "TRANSFORMATION,WINDOW"),
        ("(o.b + UDFToDouble(_wcol0))", "TRANSFORMATION,WINDOW"),
        (RANK, "WINDOW"),
        (SUM_OVER.replace("amount", "a"), "AGGREGATION"),
        (SUM_OVER.replace("city", "a"), "WINDOW"),
        (f"round({SUM_OVER.replace('amount', 'a')}, 2)", "AGGREGATION"),
        (CASE_IN_TREE, "CONDITIONAL"),
        (CASE_IN_TREE.replace(" a)", " x)").replace(" b)", " a)"), "TRANSFORMATION"),
        ("lag((tok_table_or_col", "TRANSFORMATION"),
        ("((((", "TRANSFORMATION"),
        ("'", "TRANSFORMATION"),
    ],
)
def test_transformations_of_a_column(expression: str, how: str) -> None:
    assert steps(expression, "ods.o.A") == {"o.A": how}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("o.a.f", {"o.a.f": "IDENTITY"}),
        ("a.f.g", {"o.a.f.g": "IDENTITY"}),
        ("_col0.f", {"o.a": "IDENTITY"}),
        ("upper(ods.o.a.f)", {"o.a.f": "TRANSFORMATION"}),
        ("(o.a.f + o.a.g)", {"o.a.f": "TRANSFORMATION", "o.a.g": "TRANSFORMATION"}),
        ("sum(o.a[0].f.g)", {"o.a.f.g": "AGGREGATION"}),
        ("o.a['k']", {"o.a": "TRANSFORMATION"}),
        ("concat(o.a[1].f, o.a)", {"o.a.f": "TRANSFORMATION", "o.a": "TRANSFORMATION"}),
        ("a.a", {"o.a": "IDENTITY"}),
    ],
)
def test_fields_of_a_column(expression: str, found: dict[str, str]) -> None:
    assert steps(expression, "ods.o.a") == found


def test_a_name_before_a_source_is_its_table() -> None:
    assert steps("upper(a.b)", "ods.o.a", "ods.u.b") == {"o.a": "TRANSFORMATION", "u.b": "TRANSFORMATION"}


def test_each_source_takes_its_own_part_of_the_expression() -> None:
    expression = "CASE WHEN ((u.kind = 'x')) THEN (sum(ods.o.amount)) ELSE (o.fallback) END"

    assert steps(expression, "ods.u.kind", "ods.o.amount", "ods.o.fallback") == {
        "u.kind": "CONDITIONAL",
        "o.amount": "AGGREGATION",
        "o.fallback": "TRANSFORMATION",
    }


def test_columns_of_one_name_are_distinguished_by_a_named_table() -> None:
    assert steps("if((u.id > 0), sum(ods.o.id), 0)", "ods.u.id", "ods.o.id") == {
        "u.id": "CONDITIONAL",
        "o.id": "AGGREGATION",
    }


def test_a_source_that_a_ranking_does_not_name_is_indirect_too() -> None:
    assert steps(RANK, "ods.users.city", "ods.orders.user_id", "ods.orders.amount") == {
        "users.city": "WINDOW",
        "orders.user_id": "WINDOW",
        "orders.amount": "WINDOW",
    }


def test_a_union_passes_on_and_what_makes_rows_of_all_its_input_does_not() -> None:
    assert steps("", "ods.a.x", "ods.b.y") == {"a.x": "IDENTITY", "b.y": "IDENTITY"}
    assert steps("u1.key", "ods.a.x", "ods.b.y") == {"a.x": "IDENTITY", "b.y": "IDENTITY"}
    assert steps("", "ods.a.x", "ods.a.y") == {"a.x": "TRANSFORMATION", "a.y": "TRANSFORMATION"}


@pytest.mark.parametrize(
    ("expression", "rename"),
    [("", True), ("u1.key", True), ("_col1", True), ("_wcol0", False), ("x.f", True), ("upper(a)", False)],
)
def test_an_expression_that_is_only_a_name_is_empty(expression: str, rename: bool) -> None:
    assert is_rename(edge("PROJECTION", expression, "ods.a.x")) is rename


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("(o.x = u.y)", {"o.x": "JOIN", "u.y": "JOIN"}),
        ("(UDFToDouble(o.x) = (UDFToDouble(u.y) + 18))", {"o.x": "JOIN", "u.y": "JOIN"}),
        ("((o.x >= '2024-01-01') and u.y is not null)", {"o.x": "FILTER", "u.y": "FILTER"}),
        ("((o.x = u.y) and (o.x > 5))", {"o.x": "FILTER,JOIN", "u.y": "JOIN"}),
        ("o.x BETWEEN u.y AND 9", {"o.x": "JOIN", "u.y": "JOIN"}),
        ("(o.x BETWEEN 1 AND 9 or (u.y) IN (1, 2))", {"o.x": "FILTER", "u.y": "FILTER"}),
        ("(_col0 = _col3)", {"o.x": "JOIN", "u.y": "JOIN"}),
        ("((o.x.f.g = u.y) and (o.x.f > 5))", {"o.x.f.g": "JOIN", "o.x.f": "FILTER", "u.y": "JOIN"}),
        ("(_col0 < 100)", {"o.x": "FILTER", "u.y": "FILTER"}),
        ("(sum(ods.o.x) > 10)", {"o.x": "FILTER", "u.y": "FILTER"}),
        ("", {"o.x": "FILTER", "u.y": "FILTER"}),
    ],
)
def test_what_a_predicates_columns_decide(expression: str, found: dict[str, str]) -> None:
    assert kinds(expression, "ods.o.x", "ods.u.y") == found


def test_a_table_that_is_joined_with_itself_is_seen_where_hive_keeps_its_names() -> None:
    assert kinds("(a.id = b.parent)", "ods.t.id", "ods.t.parent") == {"t.id": "JOIN", "t.parent": "JOIN"}
    assert kinds("(t.id = t.id)", "ods.t.id") == {"t.id": "JOIN"}
    assert kinds("(t.id = t.parent)", "ods.t.id", "ods.t.parent") == {"t.id": "FILTER", "t.parent": "FILTER"}


def test_a_deeply_nested_expression_is_read() -> None:
    depth = 20_000

    assert steps("(" * depth + "o.a" + ")" * depth, "ods.o.a") == {"o.a": "TRANSFORMATION"}
    tree = "(tok_function f " * depth + "(tok_table_or_col a)" + ")" * depth
    assert steps(tree, "ods.o.a") == {"o.a": "TRANSFORMATION"}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("upper(o.a)", "upper(o.a)"),
        (RANK, "row_number() over (partition by city order by $f2 desc)"),
        (f"round({SUM_OVER}, 2)", "round(sum(t.amount) over (partition by t.city), 2)"),
        (ROWS, "count(distinct a) over (order by b rows between 1 preceding and current row)"),
        ("(tok_function sum (+ (tok_table_or_col a) 1) (tok_windowspec))", "sum((a + 1)) over ()"),
        ("(tok_functionstar count (tok_windowspec))", "count(*) over ()"),
        ("(tok_function lag", "(tok_function lag"),
        ("'it's (tok_ '", "'it's (tok_ '"),
    ],
)
def test_a_syntax_tree_is_converted_to_readable_text(expression: str, text: str) -> None:
    assert readable(expression) == text
