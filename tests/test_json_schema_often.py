"""A schema made code of says the same as the schema itself: of whole documents, and of damaged ones."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_merge.infra.json_schema import Checker
from lineage_merge.sources.spline.documents import COLLECTIONS

CAPTURES = Path(__file__).parent / "data" / "spline"
SCHEMA = json.loads(files("lineage_merge.sources.spline").joinpath("spline.schema.json").read_text("utf-8"))
# What else a keyword would need is not looked at by the code that is made of a schema.
KNOWN = {
    "$defs", "$ref", "$schema", "title", "type", "required", "properties", "items", "enum", "const",
    "minLength", "minimum", "maximum", "allOf", "if", "then",
}  # fmt: skip

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.just("Read")
    | st.just("Write"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


def checkers(collection: str) -> tuple[Checker, Checker]:
    schema = SCHEMA | {"$ref": f"#/$defs/{collection}"}
    return Checker(schema), Checker(schema, often=True)


def documents(collection: str) -> list[dict[str, Any]]:
    lines = [
        line
        for file in sorted(CAPTURES.glob(f"*/{collection}.jsonl"))
        for line in file.read_text("utf-8").splitlines()[:3]
    ]
    return [json.loads(line) for line in lines] or [{"_key": "tx", "curVal": 1}]


def keywords(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(keywords, schema))
    if not isinstance(schema, dict):
        return set()
    names = set(schema)
    inner = [value for name, value in schema.items() if name not in ("properties", "$defs", "const", "enum")]
    inner += [each for name in ("properties", "$defs") for each in schema.get(name, {}).values()]
    return names.union(*map(keywords, inner))


def test_the_schema_of_splines_documents_uses_only_keywords_that_both_know() -> None:
    assert keywords(SCHEMA) <= KNOWN


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_whole_documents_fit_and_empty_ones_do_not(collection: str) -> None:
    slow, quick = checkers(collection)
    assert [quick.error(each) for each in documents(collection)] == [None] * len(documents(collection))
    wrong: object
    for wrong in ({}, [], None, "", 1):
        assert quick.error(wrong) == slow.error(wrong)
        assert quick.error(wrong) is not None


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_damaged_documents_are_refused_for_the_same_reason(collection: str) -> None:
    slow, quick = checkers(collection)

    @settings(max_examples=60, deadline=None, database=None)
    @given(st.sampled_from(documents(collection)), st.data())
    def check(document: dict[str, Any], data: st.DataObject) -> None:
        damaged = json.loads(json.dumps(document))
        place = damaged
        while True:
            name = data.draw(st.sampled_from(sorted(place)))
            inner = place[name]
            if not isinstance(inner, dict) or not inner or data.draw(st.booleans()):
                break
            place = inner
        if data.draw(st.booleans()):
            del place[name]
        else:
            place[name] = data.draw(values)
        assert quick.error(damaged) == slow.error(damaged)

    check()
