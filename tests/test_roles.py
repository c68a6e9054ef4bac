"""Roles of arguments, as all front ends read them from one table."""

import pytest

from lineage_merge.column_lineage.roles import Platform, is_comparing, lambda_roles, roles


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
    found = roles(function, platform).of(count)

    assert " ".join(f"{role.step.name}{'*' if role.passes else ''}" for role in found) == expected


def test_properties_of_functions() -> None:
    assert is_comparing("ArrayMax")
    assert not is_comparing("aggregate.MaxBy")
    assert lambda_roles("ArrayTransform") == lambda_roles("list_transform")
    assert lambda_roles("upper") is None
