"""Changes of one value in a YAML text: everything else stays, also in unusual layouts, or it is refused."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.infra import yaml_editing, yaml_text
from lineage_merge.model.errors import ConfigError

ITEM = {"written": "s3://a/b", "read": "x|y", "reason": "it's: # no"}
PATH = ("merge", "list")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "a: 1",
        "a: 1\n\n# end\n",
        "merge:\n",
        "merge: # c\n# d\nb: 1\n",
        "merge: ~\nb: 2\n",
        "merge: {}\n",
        "merge: {x: 1}",
        "merge: {x: 1, # c\n  y: 2,\n}\n",
        "merge:\n  expect:\n    joined_at_least: 1 # c\n\n# end\nb: 1\n",
        "merge:\n  list:\n    - {a: 1}\n    # c\n  x: 1\n",
        "merge:\n  list:\n  - a: 1\n    b: |\n      text\n\n  - c: 1\n",
        "merge:\n  x: >-\n    two\n    lines\n",
        "merge:\n    list:\n",
        "merge:\n    list: ~ # none\n",
        "merge: {list: [\n   {a: 1}, # c\n ]}\n",
        "base: &b {x: 1}\nmerge:\n  <<: *b\n",
        "base: &b [1]\nmerge:\n  x: *b\n# c\n",
        "merge: &m\n  x: 1\n",
        "---\nmerge:\n  x: 1\n...\n",
        "{merge: {list: [1]}, b: 2}\n",
        "'merge':\n  \"list\":\n  - - 1\n    - 2\n",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_item_is_added_and_the_rest_stays(text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    before = yaml_text.parse(text, "") or {}

    edited = yaml_editing.append(text, PATH, ITEM)

    merge = before.get("merge") or {}
    assert yaml_text.parse(edited, "") == {
        **before,
        "merge": {**merge, "list": [*(merge.get("list") or ()), ITEM]},
    }
    # Only added: what was there is still there, in its order. An empty value may be replaced.
    remaining = iter(edited)
    assert all(character in remaining for character in text.replace("~", ""))
    if text.endswith(newline):
        assert edited.count("\n") == edited.count(newline)


@pytest.mark.parametrize(
    "text",
    [
        "merge:\n\tlist: []\n",
        "merge: &m\n  x: 1\nother: *m\n",
        "merge:\n  list: &l\n  - 1\n  copy: *l\n",
        "base: &b {x: 1}\nmerge: *b\n",
        "merge: [1]\n",
        "merge: text\n",
        "merge:\n  list: text\n",
        "a: 1\na: 2\n",
        "a: *unknown\n",
        "- 1\n",
    ],
)
def test_what_cannot_be_changed_alone_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"merge\.list: cannot be changed alone"):
        yaml_editing.append(text, PATH, ITEM)


TEXT = """\
dbt:
  - manifest: a.json # c
    namespace: 'x' # d
  - {manifest: b.json, namespace: y}
merge: {default_schemas: {old: a.b}}
"""


def test_values_and_names_of_keys_are_replaced() -> None:
    first = yaml_editing.assign(TEXT, ("dbt", 0, "namespace"), "s3://b")
    assert first == TEXT.replace("'x'", "s3://b")
    second = yaml_editing.assign(TEXT, ("dbt", 1, "namespace"), "a: b")
    assert second == TEXT.replace("namespace: y", "namespace: 'a: b'")
    renamed = yaml_editing.rename(TEXT, ("merge", "default_schemas", "old"), "new")
    assert renamed == TEXT.replace("old", "new")
    with pytest.raises(ConfigError, match=r"dbt\[2\].namespace: cannot be changed alone"):
        yaml_editing.assign(TEXT, ("dbt", 2, "namespace"), "z")
    shared = "a: &x 1\nb: {c: *x}\n"
    with pytest.raises(ConfigError):
        yaml_editing.assign(shared, ("a",), 2)


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
sections = st.dictionaries(st.sampled_from(["a", "b", "c", "d e", "#"]), values, max_size=4)
documents = st.fixed_dictionaries(
    {}, optional={"first": values, "merge": st.one_of(st.none(), sections), "last": values}
)


@given(
    document=documents,
    items=st.one_of(st.none(), st.lists(values, max_size=3)),
    flow=st.sampled_from([True, False, None]),
    indent=st.integers(2, 6),
    newline=st.sampled_from(["\n", "\r\n"]),
    comments=st.lists(st.integers(0, 30), max_size=5),
    item=st.fixed_dictionaries({"written": st.text(min_size=1, max_size=10), "score": st.integers(0, 100)}),
)
def test_any_layout_gets_exactly_the_item(
    document: dict[str, Any],
    items: list[Any] | None,
    flow: bool | None,
    indent: int,
    newline: str,
    comments: list[int],
    item: dict[str, Any],
) -> None:
    if isinstance(document.get("merge"), dict) and items is not None:
        document["merge"]["list"] = items
    lines = yaml.safe_dump(
        document, default_flow_style=flow, indent=indent, allow_unicode=True, width=10_000
    ).split("\n")
    for at in comments:
        if at < len(lines):
            lines.insert(at, "# comment")
    text = newline.join(lines)
    try:
        before = yaml_text.parse(text, "") or {}
    except ConfigError:
        return
    edited = yaml_editing.append(text, PATH, item)
    merge = dict(before.get("merge") or {})
    merge["list"] = [*(merge.get("list") or ()), item]
    assert yaml_text.parse(edited, "") == {**before, "merge": merge}
    assert edited.count("# comment") >= text.count("# comment")
