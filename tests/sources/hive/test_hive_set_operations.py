"""INTERSECT, EXCEPT and MINUS: the right side decides on rows, and gives no values."""

import pytest

from lineage_merge.model.elements import FeedsColumn, Influences, JobKey
from lineage_merge.sources.hive.set_operations import right_only
from lineage_merge.sources.hive.translator import Tables, translate
from tests.sources.hive.hive_lines import MadeEdge, document, query


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("select c from ods.b union all select d from ods.e", ""),
        ("insert into dw.a select c from ods.b intersect select d from ods.e", "ods.e"),
        (
            "insert into dw.a select c from ods.b EXCEPT ALL select d from ods.e join x on x.i = e.i",
            "ods.e default.x",
        ),
        (
            "create table dw.a as select c from ods.b minus select d from ods.e, ods.f where g > 1",
            "ods.e ods.f",
        ),
        ("select c from b intersect (select d from e union all select f from g)", "default.e default.g"),
        ("select c from b intersect select d from e union select f from g", "default.e"),
        ("select c from b union select d from e except select f from g", "default.g"),
        ("(select c from b minus select d from e) union all select f from g", "default.e"),
        # Read on both sides: then it gives values as well.
        ("select c from b intersect select c from b where d > 1", ""),
        (
            "select c from (select x.c from b x intersect select y.c from e y) z join f on f.c = z.c",
            "default.e",
        ),
        pytest.param(
            "with l as (select c from b), r as (select c from e where c in (select i from f)) "
            "insert overwrite table dw.a select c from l intersect select c from r",
            "default.e default.f",
        ),
        (
            "with r as (select c from e) select c from r minus select c from b join r on r.c = b.c",
            "default.b",
        ),
        ("select c - 1 as minus, `except` from b where d = 'intersect select x from e' -- minus select", ""),
        ("select (c) minus from b", ""),
    ],
)
def test_tables_of_the_right_side_alone_are_found(text: str, tables: str) -> None:
    assert {str(each) for each in right_only(text, "default")} == set(tables.split())


@pytest.mark.parametrize("operation", ["intersect", "except", "minus"])
def test_columns_of_the_right_side_influence_rows_and_give_no_value(operation: str) -> None:
    """Hive rewrites the operation to a union: its lineage names both sides as values."""
    edges: list[MadeEdge] = [
        ("PROJECTION", "", ["ods.b.c", "ods.e.d"], ["dw.a.c"]),
        ("PREDICATE", "(e.f > 1)", ["ods.e.f"], ["dw.a.c"]),
    ]
    text = f"insert overwrite table dw.a select c from ods.b {operation} select d from ods.e where f > 1"
    found = query(document(text, edges))

    elements = list(translate(found, found.targets, JobKey("hive", "j"), Tables("hive://meta:9083")))

    flows = [
        (each.source.name, each.source_column, each.target_column, each.transformations)
        for each in elements
        if isinstance(each, FeedsColumn)
    ]
    assert flows == [("ods.b", "c", "c", ("IDENTITY",))]
    influences = {
        (each.source.name, each.source_column, each.transformations)
        for each in elements
        if isinstance(each, Influences)
    }
    assert influences == {("ods.e", "d", ("FILTER",)), ("ods.e", "f", ("FILTER",))}
