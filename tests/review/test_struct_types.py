"""Dropped, added and retyped fields of structures."""

import pytest

from lineage_merge.questions.traversal.effects import Change
from lineage_merge.review.findings import Subject
from lineage_merge.review.struct_types import field_differences


@pytest.mark.parametrize(
    ("before", "after", "differences"),
    [
        (
            "struct<city:string,zip:int,geo:struct<lat:decimal(8,2)>>",
            "struct<City:string,zip:bigint,geo:struct<lat:decimal(8,2),lon:double>>",
            [("a.zip", "int", "bigint"), ("a.geo.lon", "", "double")],
        ),
        ("array<struct<sku:int,price:int>>", "array<struct<sku:int>>", [("a.price", "int", "")]),
        ("STRUCT<`x y` STRING, b INT64>", "STRUCT<b INT64>", [("a.x y", "STRING", "")]),
        ("STRUCT(x INTEGER, y VARCHAR)[]", "STRUCT(x INTEGER)[]", [("a.y", "VARCHAR", "")]),
        ("struct<b:struct<c:int>>", "struct<b:string>", [("a.b", "struct<c:int>", "string")]),
        ("struct<b:int>", "struct<b: int>", []),
        ("struct<b:int>", "string", None),
        ("int", "bigint", None),
        ("map<string,struct<b:int>>", "map<string,struct<c:int>>", None),
    ],
)
def test_differences(before: str, after: str, differences: list[tuple[str, str, str]] | None) -> None:
    assert field_differences(before, after, "a") == differences


def test_a_dropped_field_is_a_finding_of_its_own() -> None:
    subject = Subject("db.t", "dev|wh|db.t", "dev|wh|db.t")
    found = subject.report_retyped("address", "struct<city:string,zip:int>", "struct<zip:string>")
    assert [(each.kind, each.column, each.change) for each in found] == [
        ("column dropped", "address.city", Change.DROP),
        ("type changed", "address.zip", Change.RETYPE),
    ]
    (whole,) = subject.report_retyped("address", "struct<city:string>", "string")
    assert (whole.kind, whole.column) == ("type changed", "address")
