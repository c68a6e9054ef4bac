"""Fields of structures in the column lineage of clients."""

from typing import Any

import pytest

from lineage_merge.model.elements import Reference, field_path
from lineage_merge.sources.openlineage.field_paths import path_of_name, with_field_paths

SCHEMA: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "Address", "type": "struct", "fields": [{"name": "geo.x", "type": "double"}, {"name": "City"}]},
    {"name": "address.zip", "type": "string"},
    {
        "name": "items",
        "type": "array",
        "fields": [{"name": "_element", "type": "struct", "fields": [{"name": "sku"}, {"name": "price"}]}],
    },
    {
        "name": "attrs",
        "type": "map",
        "fields": [{"name": "key"}, {"name": "value", "type": "struct", "fields": [{"name": "v"}]}],
    },
]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("id", ["id"]),
        ("address.city", ["Address", "City"]),
        ("address.geo.x", ["Address", "geo.x"]),
        ("address.zip", ["address.zip"]),
        ("address.street", ["address.street"]),
        ("items.sku", ["items", "sku"]),
        ("items._element.sku", ["items", "sku"]),
        ("attrs.v", ["attrs", "v"]),
        ("attrs.key", ["attrs.key"]),
        ("id.x", ["id.x"]),
    ],
)
def test_a_dotted_name_is_a_path_where_the_schema_has_the_field(name: str, path: list[str]) -> None:
    assert path_of_name(name, SCHEMA) == field_path(*path)


def test_both_ends_of_column_lineage_are_paths() -> None:
    source = {"namespace": "pg://h", "name": "db.s.t"}
    facet = {
        "fields": {"address.city": {"inputFields": [{**source, "field": "items.sku"}]}, "id": {}},
        "dataset": [{**source, "field": "address.city"}],
    }
    found = with_field_paths(facet, SCHEMA, {Reference("pg://h", "db.s.t"): SCHEMA}, "")
    assert found["fields"].keys() == {field_path("Address", "City"), "id"}
    assert found["fields"][field_path("Address", "City")]["inputFields"][0]["field"] == field_path(
        "items", "sku"
    )
    assert found["dataset"][0]["field"] == field_path("Address", "City")
    assert with_field_paths(facet, SCHEMA[:1], {}, "") is facet
