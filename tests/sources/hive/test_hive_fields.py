"""Structures that Hive's expressions build, and fields that they read."""

import pytest

from lineage_merge.model.elements import FeedsColumn, JobKey, dot_path
from lineage_merge.sources.hive.translator import Tables, translate
from tests.sources.hive.hive_lines import document, query


def flows(expression: str, *sources: str) -> set[str]:
    made = document("insert into dw.a select 1", [("PROJECTION", expression, sources, ["dw.a.s"])])
    found = query(made)
    elements = translate(found, found.targets, JobKey("hive", "j"), Tables("hive://h"))
    return {
        f"{dot_path(each.source_column)} > {dot_path(each.target_column)} {','.join(each.transformations)}"
        f" {each.expression}".rstrip()
        for each in elements
        if isinstance(each, FeedsColumn)
    }


@pytest.mark.parametrize(
    ("expression", "edges"),
    [
        (
            "named_struct('City',upper(b.c),'zip',b.d.zip)",
            {"c > s.City TRANSFORMATION upper(b.c)", "d.zip > s.zip IDENTITY"},
        ),
        (
            "named_struct('x',named_struct('y',c),'z',(b.d + 1))",
            {"c > s.x.y IDENTITY", "d > s.z TRANSFORMATION (b.d + 1)"},
        ),
        ("struct(b.c,concat(d,','))", {"c > s.col1 IDENTITY", "d > s.col2 TRANSFORMATION concat(d,',')"}),
        # A column that has another name in the expression, and a structure in another function.
        (
            "named_struct('x',c,'z',_col7)",
            {"c > s.x IDENTITY", "d > s TRANSFORMATION named_struct('x',c,'z',_col7)"},
        ),
        (
            "max(struct(c,d))",
            {"c > s AGGREGATION max(struct(c,d))", "d > s AGGREGATION max(struct(c,d))"},
        ),
    ],
)
def test_values_of_a_structure_go_to_its_fields(expression: str, edges: set[str]) -> None:
    assert flows(expression, "ods.b.c", "ods.b.d") == edges


def test_a_field_is_read_by_its_path() -> None:
    assert flows("b.address.geo.lat", "ods.b.address") == {"address.geo.lat > s IDENTITY"}
