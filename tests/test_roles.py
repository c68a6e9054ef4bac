"""Roles of arguments, as all front ends read them from one table."""

import pytest

from lineage_merge.column_lineage.roles import Platform, is_comparing, lambda_roles, roles
from lineage_merge.column_lineage.row_rules import compares_both_sides, influence_of
from lineage_merge.column_lineage.transformations import InfluenceKind


@pytest.mark.parametrize(
    ("function", "platform", "count", "expected"),
    [
        ("max_by", "", 2, "AGGREGATION* CONDITIONAL"),
        ("aggregate.MaxBy", "catalyst", 2, "AGGREGATION* CONDITIONAL"),
        ("argmax", "sqlglot", 3, "AGGREGATION* CONDITIONAL AGGREGATION"),
        ("case", "", 4, "CONDITIONAL CONDITIONAL TRANSFORMATION* TRANSFORMATION*"),
        ("when", "", 3, "CONDITIONAL TRANSFORMATION* TRANSFORMATION*"),
        ("CaseWhen", "catalyst", 4, "CONDITIONAL TRANSFORMATION* CONDITIONAL TRANSFORMATION*"),
        ("decodecase", "sqlglot", 3, "CONDITIONAL CONDITIONAL TRANSFORMATION*"),
        ("nvl2", "", 3, "CONDITIONAL TRANSFORMATION* TRANSFORMATION*"),
        ("Nvl2", "catalyst", 1, "IDENTITY*"),
        ("window", "sqlglot", 3, "IDENTITY* WINDOW WINDOW"),
        ("sum", "", 1, "AGGREGATION"),
        ("an unknown function", "", 2, "TRANSFORMATION TRANSFORMATION"),
    ],
)
def test_roles(function: str, platform: Platform, count: int, expected: str) -> None:
    found = roles(function, platform).list_roles(count)

    assert " ".join(f"{role.step.name}{'*' if role.passes else ''}" for role in found) == expected


def test_properties_of_functions() -> None:
    assert is_comparing("ArrayMax")
    assert not is_comparing("aggregate.MaxBy")
    assert lambda_roles("ArrayTransform") == lambda_roles("list_transform")
    assert lambda_roles("upper") is None


@pytest.mark.parametrize(
    ("operation", "join_type", "kind"),
    [
        ("join", "", InfluenceKind.JOIN),
        ("Join", "LEFT SEMI", InfluenceKind.FILTER),
        ("Join", "LeftAnti, (a#1 = b#2)", InfluenceKind.FILTER),
        ("join", "ANTI", InfluenceKind.FILTER),
        ("Deduplicate", "", InfluenceKind.GROUP_BY),
        ("Sort", "", InfluenceKind.SORT),
    ],
)
def test_how_columns_decide_on_rows(operation: str, join_type: str, kind: InfluenceKind) -> None:
    assert influence_of(operation, join_type) is kind


def test_set_operations_that_compare_both_sides() -> None:
    assert all(map(compares_both_sides, ("Intersect All", "except", "minus", "Except")))
    assert not compares_both_sides("union")
