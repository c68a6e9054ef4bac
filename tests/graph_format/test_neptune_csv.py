"""Neptune's CSV, read back by an independent reader."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.graph_format.neptune_csv import (
    EDGE_FIELDS,
    EDGE_HEADER,
    VERTEX_FIELDS,
    VERTEX_HEADER,
    edge_line,
    is_unambiguous,
    vertex_lines,
)
from lineage_merge.model.errors import IntermediateError
from tests.hostile_rows import TEXTS
from tests.neptune_reading import Record, records

KEYS = {"id": "i", "label": "table", "environment": "dev", "dag_name": "d"}
ENDS = {"from": "a", "to": "b"}
# Surrogates are no text that UTF-8 can hold.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def vertex(**values: Any) -> tuple[Any, ...]:
    row = {**KEYS, **values}
    return tuple(row.get(name) for name in VERTEX_FIELDS)


def edge(**values: Any) -> tuple[Any, ...]:
    row = {**KEYS, **ENDS, **values}
    return tuple(row.get(name) for name in EDGE_FIELDS)


def read_vertices(*rows: tuple[Any, ...]) -> list[Record]:
    lines = [line for row in rows for line in vertex_lines(row)]
    return list(records("\n".join([VERTEX_HEADER, *lines, ""]).encode()))


def read_edges(*rows: tuple[Any, ...]) -> list[Record]:
    return list(records("\n".join([EDGE_HEADER, *map(edge_line, rows), ""]).encode()))


def test_headers_say_type_and_on_vertices_cardinality() -> None:
    vertices, edges = VERTEX_HEADER.split(","), EDGE_HEADER.split(",")
    assert vertices[:5] == [
        "~id",
        "~label",
        "environment:String(single)",
        "dag_name:String(set)",
        "name:String(single)",
    ]
    assert {"tags:String(set)", "aliases:String(set)", "position:Long(single)"} <= set(vertices)
    assert edges[:6] == ["~id", "~label", "~from", "~to", "environment:String", "dag_name:String"]
    assert {"sequence:Long", "expression:String"} <= set(edges)


def test_a_vertex_with_few_properties() -> None:
    lines = list(vertex_lines(vertex(name="a", position=7)))
    assert len(lines) == 1
    fields = [field for field in lines[0].split(",") if field]
    assert fields == ['"i"', '"table"', '"dev"', '"d"', '"a"', "7"]


def test_each_further_member_of_a_set_is_a_row_with_nothing_else_but_the_label() -> None:
    found = read_vertices(vertex(name="n", tags=["a;b", "c\\", "c\\;"], aliases=["x"]))
    everything: dict[str, str | int | float | bool] = {"environment": "dev", "name": "n"}
    assert found == [
        Record("i", "table", None, everything, {"dag_name": ["d"], "tags": ["a;b"], "aliases": ["x"]}),
        Record("i", "table", None, {}, {"tags": ["c\\"]}),
        Record("i", "table", None, {}, {"tags": ["c\\;"]}),
    ]


def test_an_unknown_value_is_an_empty_field() -> None:
    assert read_vertices(vertex(tags=[], aliases=[None]))[0].single == {"environment": "dev"}
    assert read_edges(edge(sequence=0)) == [
        Record("i", "table", ("a", "b"), {"environment": "dev", "dag_name": "d", "sequence": 0})
    ]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_text_comes_back_as_it_was(text: str) -> None:
    found = read_vertices(vertex(id=text, name=text, tags=[text]), vertex(id="next"))
    assert (found[0].id, found[0].single["name"], found[0].sets["tags"]) == (text, text, [text])
    assert found[1].id == "next"
    assert read_edges(edge(id=text, **{"from": text, "expression": text}), edge())[0].ends == (text, "b")


@given(TEXT, st.lists(TEXT, max_size=4), st.integers(-(2**63), 2**63 - 1))
def test_any_text_comes_back_as_it_was(name: str, tags: list[str], number: int) -> None:
    first, *further = read_vertices(vertex(name=name, tags=tags, position=number))
    assert (first.single["name"], first.single["position"]) == (name, number)
    assert [tag for record in (first, *further) for tag in record.sets.get("tags", [])] == tags


def test_an_empty_text_is_quoted_and_no_empty_field() -> None:
    data = "\n".join([VERTEX_HEADER, *vertex_lines(vertex(name="", description=None))]).encode()
    assert "name" not in next(records(data)).single
    fields = next(records(data, empty_strings=True)).single
    assert fields == {"environment": "dev", "name": ""}


@pytest.mark.parametrize(
    ("row", "unambiguous"),
    [
        (vertex(name="a", tags=["b"], position=0), True),
        (vertex(name=""), False),
        (vertex(tags=["a", ""]), False),
        (vertex(description="a\0b"), False),
        (vertex(aliases=["\0"]), False),
        (edge(expression=" "), True),
        (edge(expression=""), False),
    ],
)
def test_empty_texts_and_nul_are_ambiguous(row: tuple[Any, ...], unambiguous: bool) -> None:
    assert is_unambiguous(row) is unambiguous


def test_a_row_without_a_key_is_named() -> None:
    with pytest.raises(IntermediateError, match="node i: label is missing"):
        list(vertex_lines(vertex(label=None)))
    with pytest.raises(IntermediateError, match="edge i: to is missing"):
        edge_line(edge(to=""))
