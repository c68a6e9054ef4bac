"""Options, JSON, Python methods and tools of all questions are those that were recorded, or more."""

import json
from pathlib import Path

from tests.questions.recorded_interface import RECORDED, interface, missing


def test_no_recorded_part_of_an_interface_is_missing(tmp_path: Path) -> None:
    assert missing(json.loads(RECORDED.read_text(encoding="utf-8")), interface(tmp_path)) == []


def test_a_missing_part_is_found() -> None:
    recorded = {"a": {"b": "int", "c": ["x"]}}
    assert missing(recorded, {"a": {"b": "int", "c": ["x", "y"], "d": "str"}}) == []
    assert missing(recorded, {"a": {"b": "str", "c": []}}) == ["/a/b: int is str", "/a/c: x is missing"]
    assert missing(recorded, {}) == ["/a: missing"]
