"""Fields in the text of data types of different platforms."""

import pytest

from lineage_merge.column_lineage.data_types import fields_of, is_structure, type_of_json


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        ("struct<city:string,geo:struct<lat:double>>", "city string; geo struct<lat:double>"),
        ("STRUCT<city STRING, zip STRING NOT NULL>", "city STRING; zip STRING NOT NULL"),
        ("struct<city: string COMMENT 'a, (b: c', zip:int>", "city string COMMENT 'a, (b: c'; zip int"),
        ("STRUCT(city VARCHAR, price DECIMAL(8, 2))[3][]", "city VARCHAR; price DECIMAL(8, 2)"),
        ('ROW("a b" varchar, `c:d` int)', "a b varchar; c:d int"),
        ("array(row(a varchar, integer))", "a varchar;  integer"),
        ("struct<a b:int>", "a b int"),
        ("map<string,array<struct<`sku`:null>>>", "sku null"),
        ("Array(Tuple(a String))", "a String"),
        ("decimal(8,2)", None),
        ("varchar(10)[]", None),
        ("struct<a:int", None),
        ("", None),
    ],
)
def test_fields(data_type: str, expected: str | None) -> None:
    fields = fields_of(data_type)

    assert (None if fields is None else "; ".join(" ".join(field) for field in fields)) == expected


def test_fields_of_a_maps_values_may_be_left_out() -> None:
    assert fields_of("map<string,struct<a:int>>", of_maps=False) is None


def test_an_array_of_structures_is_none() -> None:
    assert is_structure("struct<a:array<int>>")
    assert not is_structure("STRUCT(a INT)[]")
    assert not is_structure("array<struct<a:int>>")


def test_the_type_of_a_schema_in_json() -> None:
    fields = [{"name": "a", "type": "integer"}, {"name": "b", "type": {"type": "map", "keyType": "string"}}]

    assert type_of_json({"type": "array", "elementType": {"type": "struct", "fields": fields}}) == (
        "array<struct<a:int,b:map<string,>>>"
    )
    assert type_of_json({"type": "udt", "sqlType": "long"}) == "bigint"
    assert type_of_json(None) == ""
