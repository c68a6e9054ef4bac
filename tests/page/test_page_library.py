"""The page is built from this folder alone: no library, no generated files, within its size."""

import json
from pathlib import Path

from lineage_merge.exporters.page import Options, document, render
from lineage_merge.graph_format.elements import Subgraph

FOLDER = Path(str(document.__file__)).parent
MAX_BYTES = 255_000
MAX_LINES = 350


def _scripts() -> set[str]:
    return {name for more in document.MORE_SCRIPTS for name in document.script_names(more)}


def test_every_script_of_the_folder_is_part_of_the_page() -> None:
    assert sorted(_scripts()) == sorted(each.name for each in FOLDER.glob("*.js"))


def test_the_page_without_data_is_small() -> None:
    assert len(render(Subgraph(), Options()).encode()) < MAX_BYTES


def test_scripts_are_short() -> None:
    lines = {each.name: len(each.read_text(encoding="utf-8").splitlines()) for each in FOLDER.glob("*.js")}
    assert {name: number for name, number in lines.items() if number > MAX_LINES} == {}


def test_scripts_have_no_text_over_several_lines() -> None:
    """Rendering removes indentation, which a template literal over several lines would lose."""
    found = []
    for name in _scripts():
        for number, line in enumerate(document.text(name).splitlines(), 1):
            if line.count("`") % 2:
                found.append(f"{name}:{number}")
    assert json.dumps(found) == "[]"
