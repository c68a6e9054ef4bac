"""Characters that a terminal or a renderer obeys, in diagrams and JSON."""

import json

import pytest

from lineage_merge.questions.formats.conversions import json_text
from lineage_merge.questions.formats.diagrams import escape, quote

OBEYED = [0x80, 0x85, 0x9B, 0x9F, 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@pytest.mark.parametrize("code", OBEYED)
def test_controls_and_changes_of_direction_are_in_no_output(code: int) -> None:
    name = f"or{chr(code)}ders"

    for output in (escape(name), quote(name), json_text({"name": name})):
        assert chr(code) not in output
    assert json.loads(json_text({"name": name})) == {"name": name}


def test_other_scripts_stay_as_they_are() -> None:
    name = "\u0639\u0631\u0628\u064a \u05e2\u05d1 \u4e2d\u6587 \u00e9"
    assert name in escape(name)
    assert name in quote(name)
    assert name in json_text({"name": name})
